"""An ASGI application that answers "<path> at <date>"."""

from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Any


async def application(
    scope: dict[str, Any], receive: object, send: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    target = scope["raw_path"]
    if query := scope["query_string"]:
        target += b"?" + query
    body = target + b" at " + formatdate(usegmt=True).encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
