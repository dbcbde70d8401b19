"""The techempower contract on Flask, Psycopg and Jinja."""

import os
import random
from typing import Any

from flask import Flask, Response, jsonify, render_template, request
from psycopg import Connection
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

WORLDS = 10_000
SELECT = 'SELECT id, randomnumber AS "randomNumber" FROM'
# The planner keeps the order of the arrays, so that rows are locked by ascending id.
UPDATE = """UPDATE world SET randomnumber = new.number
    FROM unnest(%s::int[], %s::int[]) AS new (id, number) WHERE world.id = new.id"""

app = Flask(__name__)
app.json.sort_keys = False
# As many connections as threads. With a minimum of 0 it connects when one is first needed.
pool = ConnectionPool(
    os.environ["DATABASE_URL"],
    min_size=0,
    max_size=int(os.environ["THREADS"]),
    timeout=5,
    # Each statement is a transaction of its own.
    kwargs={"autocommit": True, "row_factory": dict_row},
    open=True,
)
cached: list[dict[str, Any]] = []


def number(name: str) -> int:
    """The parameter within 1 and 500; 1 when it is not a number."""
    return min(max(request.args.get(name, 1, type=int), 1), 500)


def random_ids(count: int) -> list[int]:
    return random.sample(range(1, WORLDS + 1), count)


def worlds(connection: Connection, ids: list[int]) -> list[dict[str, Any]]:
    """Rows, each selected by a statement of its own."""
    select = f"{SELECT} world WHERE id = %s"
    # Psycopg would prepare it only when it has been used several times.
    return [connection.execute(select, (id,), prepare=True).fetchone() for id in ids]


@app.get("/json")
def json() -> Response:
    return jsonify(message="Hello, World!")


@app.get("/plaintext")
def plaintext() -> Response:
    return Response("Hello, World!", mimetype="text/plain")


@app.get("/db")
def db() -> Response:
    with pool.connection() as connection:
        return jsonify(worlds(connection, random_ids(1))[0])


@app.get("/queries")
def queries() -> Response:
    with pool.connection() as connection:
        return jsonify(worlds(connection, random_ids(number("queries"))))


@app.get("/fortunes")
def fortunes() -> str:
    with pool.connection() as connection:
        rows = connection.execute("SELECT id, message FROM fortune", prepare=True).fetchall()
    rows.append({"id": 0, "message": "Additional fortune added at request time."})
    rows.sort(key=lambda row: row["message"])
    return render_template("fortunes.html", fortunes=rows)


@app.get("/updates")
def updates() -> Response:
    ids = sorted(random_ids(number("queries")))
    with pool.connection() as connection:
        rows = worlds(connection, ids)
        for row in rows:
            row["randomNumber"] = random.randint(1, WORLDS)
        connection.execute(UPDATE, (ids, [row["randomNumber"] for row in rows]), prepare=True)
    return jsonify(rows)


@app.get("/cached-queries")
def cached_queries() -> Response:
    if not cached:
        with pool.connection() as connection:
            cached[:] = connection.execute(f"{SELECT} cachedworld").fetchall()
    return jsonify(random.choices(cached, k=number("count")))
