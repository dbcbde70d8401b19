"""The plant, and no access log: datasette has no option against a line for each request."""

import logging
import os
import sys

from datasette import hookimpl

sys.path.append(os.environ["PLANT"])
import plant


def quiet(app):
    async def served(scope, receive, send):
        # uvicorn sets its logs up after datasette has started, and calls this once before the first request.
        if scope["type"] == "lifespan":
            logging.getLogger("uvicorn.access").disabled = True
        await app(scope, receive, send)

    return served


@hookimpl
def asgi_wrapper(datasette):
    return lambda app: quiet(plant.asgi(app))
