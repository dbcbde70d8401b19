"""A bookshop's list, rendered by Jinja: `shop.py PORT`, under waitress, since Flask's own server is for development."""

import logging
import os
import sys

from flask import Flask, render_template, request
from waitress import serve

sys.path.append(os.environ["PLANT"])
import plant

BOOKS = [
    {"title": f"Volume {n}", "author": f"Author {n % 17}", "cents": 900 + n * 137 % 4000}
    for n in range(200)
]

app = Flask("shop", root_path=os.path.dirname(os.path.abspath(__file__)))


@app.template_filter()
def euros(cents):
    return f"{cents / 100:.2f} €"


@app.get("/books")
def books():
    page = request.args.get("page", 0, type=int)
    return render_template("books.html", books=BOOKS[20 * page : 20 * page + 20], page=page)


# It warns of every request that waits for a thread.
logging.getLogger("waitress.queue").setLevel(logging.ERROR)
app.wsgi_app = plant.wsgi(app.wsgi_app)
serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=4)
