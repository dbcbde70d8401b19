"""An ASGI application that answers /events/{n}/{gap}/{word} with n events, gap milliseconds apart, and [DONE]."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

ASKED = re.compile(r"/events/(\d+)/(\d+)/([^/]+)")


async def application(
    scope: dict[str, Any], receive: object, send: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    asked = ASKED.fullmatch(scope["path"])
    if not asked or scope["method"] != "GET":
        await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})
        return
    n, gap, word = int(asked[1]), int(asked[2]) / 1000, asked[3]
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for i in range(1, n + 1):
        if i > 1 and gap:
            await asyncio.sleep(gap)
        await send({"type": "http.response.body", "body": f"data: {word} {i}\n\n".encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
