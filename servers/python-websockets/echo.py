"""A WebSocket echo server on websockets and uvloop: echo.py HOST PORT WORKERS."""

import asyncio
import logging
import multiprocessing
import multiprocessing.connection
import signal
import socket
import sys

import uvloop
from websockets.asyncio.server import ServerConnection, serve


async def echo(connection: ServerConnection) -> None:
    async for message in connection:  # str for text, bytes for binary
        await connection.send(message)


def listen(host: str, port: int, shared: bool) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    listener.bind((host, port))
    return listener


async def work(listener: socket.socket) -> None:
    # Neither compression, nor pings of its own, nor a limit on messages.
    async with serve(
        echo, sock=listener, backlog=4096, compression=None, ping_interval=None, max_size=None
    ):
        await asyncio.Event().wait()


def worker(host: str, port: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    uvloop.run(work(listen(host, port, shared=True)))


def main() -> None:
    host, (port, workers) = sys.argv[1], map(int, sys.argv[2:])
    # Clients that break off are no news.
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    # SO_REUSEPORT would let us join a port that another server of ours holds, so a bind without it comes first.
    only = listen(host, port, shared=False)
    if workers == 1:
        uvloop.run(work(only))
    only.close()
    # They are daemons: they end with this process.
    children = [
        multiprocessing.Process(target=worker, args=(host, port), daemon=True)
        for _ in range(workers)
    ]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    for child in children:
        child.start()
    multiprocessing.connection.wait([child.sentinel for child in children])
    sys.exit(1)


if __name__ == "__main__":
    main()
