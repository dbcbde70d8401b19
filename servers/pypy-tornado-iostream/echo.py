"""A TCP echo server on Tornado's streams: echo.py HOST PORT."""

import asyncio
import sys

from tornado.iostream import IOStream, StreamClosedError
from tornado.tcpserver import TCPServer


class Echo(TCPServer):
    """A stream closes itself when it reads the client's end, even while a write waits: what the
    kernel has not taken by then (megabytes, that is, for a client that does not read) is lost."""

    async def handle_stream(self, stream: IOStream, address: tuple[str, int]) -> None:
        stream.set_nodelay(True)
        try:
            while True:
                # Waits while the client does not take its answers; nothing is read meanwhile.
                await stream.write(await stream.read_bytes(64 * 1024, partial=True))
        except StreamClosedError:  # by the client
            pass


async def main(host: str, port: int) -> None:
    Echo().listen(port, host, backlog=4096)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
