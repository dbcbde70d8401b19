"""The contract grpc-echo with grpcio: server.py BUILD HOST PORT, or `server.py BUILD HOST PORT aio`."""

import asyncio
import signal
import sys
from concurrent import futures

if len(sys.argv) not in (4, 5):
    sys.exit("usage: server.py BUILD HOST PORT [aio]")
# What the build has generated from echo.proto.
sys.path.insert(0, sys.argv[1])

import grpc
import echo_pb2
import echo_pb2_grpc

# The pool is for calls that block; under the interpreter's lock more threads only take turns.
THREADS = 8
CODES = {code.value[0]: code for code in grpc.StatusCode}
# One process, one listener: a second server on the port is an error.
OPTIONS = [("grpc.so_reuseport", 0), ("grpc.max_concurrent_streams", 1024)]


def repeated(request):
    """The payloads of a stream."""
    payload = request.payload
    for _ in range(request.times):
        yield payload
        payload.number += 1


class Threads(echo_pb2_grpc.EchoServiceServicer):
    def Echo(self, request, context):
        return request

    def Fail(self, request, context):
        context.abort(CODES[request.code], request.text)

    def Stream(self, request, context):
        yield from repeated(request)


class Aio(echo_pb2_grpc.EchoServiceServicer):
    async def Echo(self, request, context):
        return request

    async def Fail(self, request, context):
        await context.abort(CODES[request.code], request.text)

    async def Stream(self, request, context):
        for payload in repeated(request):
            yield payload


def listen(server, host, port):
    at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    server.add_insecure_port(at)


def serve_threads(host, port):
    server = grpc.server(futures.ThreadPoolExecutor(THREADS), options=OPTIONS)
    echo_pb2_grpc.add_EchoServiceServicer_to_server(Threads(), server)
    listen(server, host, port)
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop(None))
    server.wait_for_termination()


async def serve_aio(host, port):
    server = grpc.aio.server(options=OPTIONS)
    echo_pb2_grpc.add_EchoServiceServicer_to_server(Aio(), server)
    listen(server, host, port)
    await server.start()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: loop.create_task(server.stop(None)))
    await server.wait_for_termination()


_, _, host, port, *model = sys.argv
if model == ["aio"]:
    asyncio.run(serve_aio(host, int(port)))
else:
    serve_threads(host, int(port))
