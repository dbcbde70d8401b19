"""Orders of a customer from SQLite through SQLAlchemy: `orders:planted` for uvicorn."""

import os
import sys

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict
from sqlalchemy import ForeignKey, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

sys.path.append(os.environ["PLANT"])
import plant

# A connection for each of the 40 threads that serve requests: with the usual 15, all threads may come to wait for one, and
# none is left to give one back.
engine = create_engine("sqlite:///orders.db", pool_size=40, connect_args={"check_same_thread": False})


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    orders: Mapped[list["Order"]] = relationship()


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[int] = mapped_column(ForeignKey("customers.id"), index=True)
    article: Mapped[str]
    pieces: Mapped[int]


class OrderOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: int
    article: str
    pieces: int


class CustomerOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: int
    name: str
    orders: list[OrderOut]


def fill():
    """The tables and their rows, the same on every machine."""
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        if session.scalar(select(Customer).limit(1)):
            return
        for n in range(1, 101):
            orders = [Order(article=f"article-{n * k % 53}", pieces=k) for k in range(1, 9)]
            session.add(Customer(id=n, name=f"Customer {n}", orders=orders))


def session():
    with Session(engine) as session:
        yield session


app = FastAPI()


@app.get("/customers/{number}", response_model=CustomerOut)
def customer(number: int, session: Session = Depends(session)):
    found = session.get(Customer, number, options=[selectinload(Customer.orders)])
    if found is None:
        raise HTTPException(404)
    return found


planted = plant.asgi(app)
