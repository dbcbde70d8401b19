"""A TCP echo server on gevent, with a greenlet per connection: echo.py HOST PORT."""

import sys

from gevent.server import StreamServer
from gevent.socket import IPPROTO_TCP, TCP_NODELAY, socket


def echo(client: socket, address: tuple[str, int]) -> None:
    """The server closes the connection when this returns."""
    client.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    try:
        # Waits while the client does not take its answers; nothing is read meanwhile.
        while data := client.recv(64 * 1024):
            client.sendall(data)
    except ConnectionError:  # the client has broken it off
        pass


StreamServer((sys.argv[1], int(sys.argv[2])), echo, backlog=4096).serve_forever()
