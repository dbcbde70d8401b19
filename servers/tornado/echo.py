"""A TCP echo server on Tornado's bare IOLoop, without its streams: echo.py HOST PORT WORKERS."""

import asyncio
import os
import socket
import sys
from functools import partial

from tornado.ioloop import IOLoop
from tornado.netutil import add_accept_handler, bind_sockets
from tornado.process import fork_processes


class Connection:
    """Sends back what arrives; while the client does not take it, nothing more is read."""

    def __init__(self, client: socket.socket, address: tuple[str, int]) -> None:
        client.setblocking(False)
        self.client = client
        self.unsent = b""
        self.loop = IOLoop.current()
        self.loop.add_handler(client.fileno(), self.handle, IOLoop.READ)

    def handle(self, fd: int, events: int) -> None:
        try:
            if events & IOLoop.WRITE:
                self.send(self.unsent)
                if not self.unsent:
                    self.loop.update_handler(fd, IOLoop.READ)
            elif data := self.client.recv(64 * 1024):
                self.send(data)
                if self.unsent:
                    self.loop.update_handler(fd, IOLoop.WRITE)
            else:
                self.close()
        except ConnectionError:  # the client has broken it off
            self.close()

    def send(self, data: bytes) -> None:
        try:
            sent = self.client.send(data)
        except BlockingIOError:
            sent = 0
        self.unsent = data[sent:]

    def close(self) -> None:
        self.loop.remove_handler(self.client.fileno())
        self.client.close()


def listen(host: str, port: int, workers: int) -> list[socket.socket]:
    """One listener for each worker, between which the kernel spreads the connections."""
    bind = partial(bind_sockets, port, host, backlog=4096)
    # SO_REUSEPORT would let us join a port that another server of ours holds, so a bind
    # without it comes first.
    listeners = bind()
    if workers > 1:
        listeners.pop().close()
        listeners = [bind(reuse_port=True).pop() for _ in range(workers)]
    for listener in listeners:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    return listeners


async def serve(listener: socket.socket) -> None:
    add_accept_handler(listener, Connection)
    await asyncio.Event().wait()


async def serve_in_worker(listener: socket.socket, parent_alive: int) -> None:
    IOLoop.current().add_handler(parent_alive, lambda *_: sys.exit(), IOLoop.READ)
    await serve(listener)


def main() -> None:
    host, (port, workers) = sys.argv[1], map(int, sys.argv[2:])
    listeners = listen(host, port, workers)
    if workers == 1:
        asyncio.run(serve(listeners[0]))
    # Tornado does not pass a signal on to its workers: a pipe tells them when the parent ends.
    parent_alive, parent_end = os.pipe()
    worker = fork_processes(workers)  # does not return in the parent
    os.close(parent_end)
    asyncio.run(serve_in_worker(listeners[worker], parent_alive))


if __name__ == "__main__":
    main()
