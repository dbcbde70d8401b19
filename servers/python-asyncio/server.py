"""Runs a contract's protocol in one or more processes: server.py CONTRACT HOST PORT [WORKERS]."""

import asyncio
import os
import resource
import socket
import sys

from http_echo import HttpEcho
from tcp_echo import TcpEcho

PROTOCOLS = {"tcp-echo": TcpEcho, "http-echo": HttpEcho}
BACKLOG = 4096


def bind(host, port, share_port=False):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if share_port:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        sys.exit(f"cannot listen on {host}, port {port}: {error.strerror}")
    return listener


def fork_workers(host, port, workers):
    """Returns this process's listener, and in children a pipe that closes with the parent."""
    # SO_REUSEPORT would let us join a port that another server of ours holds, so a bind
    # without it comes first.
    listeners = [bind(host, port)]
    if workers > 1:
        listeners.pop().close()
        listeners = [bind(host, port, share_port=True) for _ in range(workers)]
    # All listen before the first worker runs: none is missing from the spread.
    for listener in listeners:
        listener.listen(BACKLOG)
    parent_alive, parent_end = os.pipe()
    mine = 0  # the parent is worker 0
    for worker in range(1, workers):
        if os.fork() == 0:
            os.close(parent_end)
            mine = worker
            break
    listener = listeners.pop(mine)
    for other in listeners:
        other.close()
    return listener, parent_alive if mine else None


async def serve(protocol, listener, parent_alive):
    if parent_alive is not None:
        asyncio.get_running_loop().add_reader(parent_alive, sys.exit)
    server = await asyncio.get_running_loop().create_server(protocol, sock=listener, backlog=BACKLOG)
    await server.serve_forever()


def main():
    if not 4 <= len(sys.argv) <= 5 or sys.argv[1] not in PROTOCOLS:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(PROTOCOLS)} HOST PORT [WORKERS]")
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    workers = int(sys.argv[4]) if len(sys.argv) == 5 else 1
    listener, parent_alive = fork_workers(sys.argv[2], int(sys.argv[3]), workers)
    asyncio.run(serve(PROTOCOLS[sys.argv[1]], listener, parent_alive))


if __name__ == "__main__":
    main()
