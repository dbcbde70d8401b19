"""A table of parcels for datasette: `data.py FILE`. The same on every machine."""

import sqlite3
import sys

CITIES = ["Delft", "Gent", "Lyon", "Porto", "Turku", "Graz", "Brno"]

with sqlite3.connect(sys.argv[1]) as db:
    db.execute("drop table if exists parcels")
    db.execute("create table parcels (id integer primary key, city text, grams integer, sent text)")
    rows = ((n, CITIES[n % 7], 50 + n * 7919 % 5000, f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}") for n in range(2000))
    db.executemany("insert into parcels values (?, ?, ?, ?)", rows)
    db.execute("create index by_city on parcels (city)")
