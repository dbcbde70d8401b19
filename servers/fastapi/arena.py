"""The arena contract on FastAPI and asyncpg."""

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import asyncpg
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import PlainTextResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, BeforeValidator

COLUMNS = "id, name, category, price, quantity, active, tags, rating_score, rating_count"
BY_PRICE = f"SELECT {COLUMNS} FROM items WHERE price BETWEEN $1 AND $2 ORDER BY id LIMIT $3"
BY_ID = f"SELECT {COLUMNS} FROM items WHERE id = $1"
BY_CATEGORY = f"SELECT {COLUMNS} FROM items WHERE category = $1 ORDER BY id LIMIT $2 OFFSET $3"
UPDATE = f"""UPDATE items SET name = $2, price = $3, quantity = $4 WHERE id = $1
    RETURNING {COLUMNS}"""
UPSERT = f"""INSERT INTO items (id, name, category, price, quantity) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, category = EXCLUDED.category,
    price = EXCLUDED.price, quantity = EXCLUDED.quantity RETURNING {COLUMNS}"""
KEPT = 0.2


class Rating(BaseModel):
    score: int
    count: int


class Item(BaseModel):
    id: int
    name: str
    category: str
    price: int
    quantity: int
    active: bool
    tags: list[str]
    rating: Rating


class ItemWithTotal(Item):
    total: int


class Items(BaseModel):
    items: list[Item]
    count: int


class ItemsWithTotals(BaseModel):
    items: list[ItemWithTotal]
    count: int


class Change(BaseModel):
    name: str
    price: int
    quantity: int


class Creation(Change):
    id: int
    category: str


def number(otherwise: int) -> BeforeValidator:
    """The parameter, or the default when it is not a number."""

    def read(text: Any) -> int:
        try:
            return int(text)
        except ValueError:
            return otherwise

    return BeforeValidator(read)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # Its share of the connections; with a minimum of 0 it connects when one is first needed.
    share = max(int(os.environ["DATABASE_MAX_CONN"]) // int(os.environ["WORKERS"]), 1)
    url = os.environ["DATABASE_URL"]
    async with asyncpg.create_pool(url, min_size=0, max_size=share) as pool:
        app.state.pool = pool
        yield


docroot = os.environ["DOCROOT"]
with open(os.path.join(docroot, "dataset.json"), encoding="utf-8") as file:
    dataset: list[dict[str, Any]] = json.load(file)
# Items by id, and when they were read.
cache: dict[int, tuple[float, Item]] = {}

app = FastAPI(lifespan=lifespan)
app.add_middleware(GZipMiddleware, compresslevel=6)
app.mount("/static", StaticFiles(directory=os.path.join(docroot, "static")))


def item(row: asyncpg.Record) -> Item:
    rating = Rating(score=row["rating_score"], count=row["rating_count"])
    return Item(**row, rating=rating)


def listed(rows: list[asyncpg.Record]) -> Items:
    return Items(items=[item(row) for row in rows], count=len(rows))


@app.get("/baseline11", response_class=PlainTextResponse)
async def baseline(a: int, b: int) -> str:
    return str(a + b)


@app.post("/baseline11", response_class=PlainTextResponse)
async def baseline_with_body(request: Request, a: int, b: int) -> str:
    return str(a + b + int(await request.body()))


@app.get("/pipeline", response_class=PlainTextResponse)
async def pipeline() -> str:
    return "ok"


@app.get("/json/{count}")
async def items_with_totals(count: int, m: int = 1) -> ItemsWithTotals:
    items = [
        ItemWithTotal(**each, total=each["price"] * each["quantity"] * m)
        for each in dataset[:count]
    ]
    return ItemsWithTotals(items=items, count=len(items))


@app.post("/upload", response_class=PlainTextResponse)
async def upload(request: Request) -> str:
    size = 0
    async for piece in request.stream():
        size += len(piece)
    return str(size)


@app.get("/async-db")
async def async_db(
    request: Request,
    min: Annotated[int, number(10)] = 10,
    max: Annotated[int, number(50)] = 50,
    limit: Annotated[int, number(50)] = 50,
) -> Items:
    limit = sorted((1, limit, 50))[1]
    return listed(await request.app.state.pool.fetch(BY_PRICE, min, max, limit))


@app.get("/crud/items")
async def list_items(
    request: Request,
    category: str,
    page: Annotated[int, number(1)] = 1,
    limit: Annotated[int, number(10)] = 10,
) -> Items:
    limit = sorted((1, limit, 50))[1]
    offset = (max(page, 1) - 1) * limit
    return listed(await request.app.state.pool.fetch(BY_CATEGORY, category, limit, offset))


@app.get("/crud/items/{id}")
async def read_item(request: Request, response: Response, id: int) -> Item:
    now = time.monotonic()
    kept = cache.get(id)
    if kept and now - kept[0] < KEPT:
        response.headers["X-Cache"] = "HIT"
        return kept[1]
    row = await request.app.state.pool.fetchrow(BY_ID, id)
    if row is None:
        raise HTTPException(404)
    found = item(row)
    cache[id] = (now, found)
    response.headers["X-Cache"] = "MISS"
    return found


@app.put("/crud/items/{id}")
async def update_item(request: Request, id: int, new: Change) -> Item:
    row = await request.app.state.pool.fetchrow(UPDATE, id, new.name, new.price, new.quantity)
    cache.pop(id, None)
    if row is None:
        raise HTTPException(404)
    return item(row)


@app.post("/crud/items", status_code=201)
async def create_item(request: Request, new: Creation) -> Item:
    values = (new.id, new.name, new.category, new.price, new.quantity)
    row = await request.app.state.pool.fetchrow(UPSERT, *values)
    cache.pop(new.id, None)
    return item(row)
