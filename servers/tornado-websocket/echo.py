"""A WebSocket echo server on Tornado: echo.py HOST PORT."""

import asyncio
import logging
import sys

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application
from tornado.websocket import WebSocketHandler


class Echo(WebSocketHandler):
    def check_origin(self, origin: str) -> bool:
        return True

    def open(self, *args: str, **kwargs: str) -> None:
        self.set_nodelay(True)

    async def on_message(self, message: str | bytes) -> None:
        await self.write_message(message, binary=isinstance(message, bytes))


async def main() -> None:
    # A line for each request, and one for each client that breaks off.
    for name in ("access", "application", "general"):
        logging.getLogger(f"tornado.{name}").setLevel(logging.CRITICAL)
    application = Application([("/", Echo)], websocket_max_message_size=64 << 20)
    server = HTTPServer(application)
    server.add_sockets(bind_sockets(int(sys.argv[2]), sys.argv[1], backlog=4096))
    await asyncio.Event().wait()


asyncio.run(main())
