"""A WSGI application in Tornado's WSGIContainer, answering "<path> at <date>": server.py HOST PORT."""

import asyncio
import sys
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from tornado.httputil import HTTPServerRequest
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.wsgi import WSGIContainer


class Container(WSGIContainer):
    """Adds the target as it was sent: PATH_INFO is decoded."""

    def environ(self, request: HTTPServerRequest) -> dict[str, Any]:
        return {**super().environ(request), "REQUEST_URI": request.uri}


def echo(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    body = f"{environ['REQUEST_URI']} at {formatdate(usegmt=True)}".encode("latin-1")
    start_response(
        "200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    )
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


async def main() -> None:
    server = HTTPServer(Container(echo))
    server.add_sockets(bind_sockets(int(sys.argv[2]), sys.argv[1], backlog=4096))
    await asyncio.Event().wait()


asyncio.run(main())
