"""http-echo over HTTP/3 on aioquic: one event loop per process, each with a UDP socket of its own."""

import asyncio
import os
import socket
import sys
from email.utils import formatdate

import uvloop
from aioquic.asyncio import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent, StopSendingReceived, StreamReset


class Echo(QuicConnectionProtocol):
    """A connection: GET /any/path -> "/any/path at <date>"."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._http: H3Connection | None = None
        # Requests that have not come whole, by their streams.
        self._requests: dict[int, dict[bytes, bytes]] = {}

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self._quic)
        elif isinstance(event, (StreamReset, StopSendingReceived)):
            self._requests.pop(event.stream_id, None)
        if self._http is not None:
            for http_event in self._http.handle_event(event):
                self._received(http_event)

    def _received(self, event: H3Event) -> None:
        if not isinstance(event, (HeadersReceived, DataReceived)):
            return
        if isinstance(event, HeadersReceived):
            # Trailers come in such an event, too.
            self._requests.setdefault(event.stream_id, dict(event.headers))
        if event.stream_ended and (request := self._requests.pop(event.stream_id, None)):
            self._answer(event.stream_id, request)

    def _answer(self, stream: int, request: dict[bytes, bytes]) -> None:
        body = request[b":path"] + b" at " + formatdate(usegmt=True).encode()
        headers = [
            (b":status", b"200"),
            (b"content-type", b"text/plain"),
            (b"content-length", b"%d" % len(body)),
        ]
        has_body = request[b":method"] != b"HEAD"
        self._http.send_headers(stream, headers, end_stream=not has_body)
        if has_body:
            self._http.send_data(stream, body, end_stream=True)


def bind(host: str, port: int, share_port: bool = False) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    mine = socket.socket(family, socket.SOCK_DGRAM)
    if share_port:
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    # As far as the machine allows: all connections have but this one.
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    try:
        mine.bind((host, port))
    except OSError as error:
        sys.exit(f"cannot listen on {host}, port {port}: {error.strerror}")
    return mine


def fork_workers(host: str, port: int, workers: int) -> tuple[socket.socket, int | None]:
    """Returns this process's socket, and in children a pipe that closes with the parent."""
    # SO_REUSEPORT would let us join a port that another server of ours holds, so a bind
    # without it comes first.
    sockets = [bind(host, port)]
    if workers > 1:
        sockets.pop().close()
        sockets = [bind(host, port, share_port=True) for _ in range(workers)]
    parent_alive, parent_end = os.pipe()
    mine = 0  # the parent is worker 0
    for worker in range(1, workers):
        if os.fork() == 0:
            os.close(parent_end)
            mine = worker
            break
    chosen = sockets.pop(mine)
    for other in sockets:
        other.close()
    return chosen, parent_alive if mine else None


async def serve(
    datagrams: socket.socket, parent_alive: int | None, configuration: QuicConfiguration
) -> None:
    loop = asyncio.get_running_loop()
    if parent_alive is not None:
        loop.add_reader(parent_alive, sys.exit)
    await loop.create_datagram_endpoint(
        lambda: QuicServer(configuration=configuration, create_protocol=Echo), sock=datagrams
    )
    await asyncio.Event().wait()


def main() -> None:
    if len(sys.argv) != 6:
        sys.exit(f"usage: {sys.argv[0]} HOST PORT WORKERS CERT KEY")
    host, port, workers, cert, key = sys.argv[1:]
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=H3_ALPN,
        # Idle connections stay open: at a low rate, a time-out would look like a failure.
        idle_timeout=3600,
    )
    configuration.load_cert_chain(cert, key)
    datagrams, parent_alive = fork_workers(host, int(port), int(workers))
    uvloop.run(serve(datagrams, parent_alive, configuration))


if __name__ == "__main__":
    main()
