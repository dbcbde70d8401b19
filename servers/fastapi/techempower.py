"""The techempower contract on FastAPI, asyncpg and Jinja."""

import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import asyncpg
from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel, BeforeValidator

WORLDS = 10_000
SELECT = 'SELECT id, randomnumber AS "randomNumber" FROM'
SELECT_WORLD = f"{SELECT} world WHERE id = $1"
# The planner keeps the order of the arrays, so that rows are locked by ascending id.
UPDATE = """UPDATE world SET randomnumber = new.number
    FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id"""


class World(BaseModel):
    id: int
    randomNumber: int


def clamp(text: Any) -> int:
    """The parameter within 1 and 500; 1 when it is not a number."""
    try:
        return min(max(int(text), 1), 500)
    except ValueError:
        return 1


Count = Annotated[int, BeforeValidator(clamp)]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Its share of the connections; with a minimum of 0 it connects when one is first needed.
    share = max(int(os.environ["DATABASE_MAX_CONN"]) // int(os.environ["WORKERS"]), 1)
    url = os.environ["DATABASE_URL"]
    async with asyncpg.create_pool(url, min_size=0, max_size=share) as pool:
        app.state.pool = pool
        app.state.cached = []
        yield


async def connection(request: Request) -> AsyncIterator[asyncpg.Connection]:
    async with request.app.state.pool.acquire() as connection:
        yield connection


# Handed back before the response is sent.
Database = Annotated[asyncpg.Connection, Depends(connection, scope="function")]

app = FastAPI(lifespan=lifespan)
templates = Jinja2Templates(os.path.join(os.path.dirname(__file__), "templates"))


async def worlds(database: asyncpg.Connection, ids: list[int]) -> list[World]:
    """Rows, each selected by a statement of its own."""
    select = await database.prepare(SELECT_WORLD)
    return [World(**await select.fetchrow(id)) for id in ids]


@app.get("/json")
async def json() -> dict[str, str]:
    return {"message": "Hello, World!"}


@app.get("/plaintext", response_class=PlainTextResponse)
async def plaintext() -> str:
    return "Hello, World!"


@app.get("/db")
async def db(database: Database) -> World:
    return World(**await database.fetchrow(SELECT_WORLD, random.randint(1, WORLDS)))


@app.get("/queries")
async def queries(database: Database, queries: Count = 1) -> list[World]:
    return await worlds(database, random.sample(range(1, WORLDS + 1), queries))


@app.get("/fortunes", response_class=HTMLResponse)
async def fortunes(request: Request, database: Database) -> HTMLResponse:
    rows = [tuple(row) for row in await database.fetch("SELECT id, message FROM fortune")]
    rows.append((0, "Additional fortune added at request time."))
    rows.sort(key=lambda row: row[1])
    return templates.TemplateResponse(request, "fortunes.html", {"fortunes": rows})


@app.get("/updates")
async def updates(database: Database, queries: Count = 1) -> list[World]:
    ids = sorted(random.sample(range(1, WORLDS + 1), queries))
    rows = await worlds(database, ids)
    for row in rows:
        row.randomNumber = random.randint(1, WORLDS)
    await database.execute(UPDATE, ids, [row.randomNumber for row in rows])
    return rows


@app.get("/cached-queries")
async def cached_queries(request: Request, count: Count = 1) -> list[World]:
    state = request.app.state
    if not state.cached:
        rows = await state.pool.fetch(f"{SELECT} cachedworld")
        state.cached = [World(**row) for row in rows]
    return random.choices(state.cached, k=count)
