"""A TCP echo server of callbacks on gevent's own event loop, without greenlets: echo.py HOST PORT."""

import socket
import sys

import gevent

READ, WRITE = 1, 2  # as the loop calls them
loop = gevent.get_hub().loop


class Connection:
    """Sends back what arrives. One of its watchers is active at a time: while the client does
    not take its answers, nothing more is read."""

    def __init__(self, client: socket.socket) -> None:
        client.setblocking(False)
        self.client = client
        self.unsent = b""
        self.readable = loop.io(client.fileno(), READ)
        self.writable = loop.io(client.fileno(), WRITE)
        self.readable.start(self.read)

    def read(self) -> None:
        try:
            if not (data := self.client.recv(64 * 1024)):
                return self.close()
            self.send(data)
        except ConnectionError:  # the client has broken it off
            return self.close()
        if self.unsent:
            self.readable.stop()
            self.writable.start(self.write)

    def write(self) -> None:
        try:
            self.send(self.unsent)
        except ConnectionError:
            return self.close()
        if not self.unsent:
            self.writable.stop()
            self.readable.start(self.read)

    def send(self, data: bytes) -> None:
        try:
            sent = self.client.send(data)
        except BlockingIOError:
            sent = 0
        self.unsent = data[sent:]

    def close(self) -> None:
        # Before the descriptor, which the loop would otherwise still know.
        for watcher in self.readable, self.writable:
            watcher.stop()
            watcher.close()
        self.client.close()


def accept(listener: socket.socket) -> None:
    try:
        while True:
            Connection(listener.accept()[0])
    except OSError:
        pass  # whatever the reason: if any are waiting, the loop comes back


def main() -> None:
    host, port = sys.argv[1], int(sys.argv[2])
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=4096)
    listener.setblocking(False)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    acceptable = loop.io(listener.fileno(), READ)
    acceptable.start(accept, listener)
    gevent.wait()


if __name__ == "__main__":
    main()
