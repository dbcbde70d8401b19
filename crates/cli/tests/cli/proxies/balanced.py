"""A server behind a balancer: every connection begins with the PROXY protocol, whose addresses must be its real ones."""

import socket
import socketserver
import struct
import sys

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


def said(*words):
    # In one piece: threads write at the same time.
    sys.stderr.write(" ".join(map(str, words)) + "\n")


class Balanced(socketserver.StreamRequestHandler):
    def named(self):
        first = self.rfile.read(12)
        if first == SIGNATURE:
            command, family, length = struct.unpack("!BBH", self.rfile.read(4))
            rest = self.rfile.read(length)
            if (command, family, length) != (0x21, 0x11, 12):
                return None
            source, destination, source_port, destination_port = struct.unpack("!4s4sHH", rest)
            return [(socket.inet_ntoa(source), source_port), (socket.inet_ntoa(destination), destination_port)], "v2"
        words = (first + self.rfile.readline()).decode().split()
        if words[:2] != ["PROXY", "TCP4"]:
            return None
        return [(words[2], int(words[4])), (words[3], int(words[5]))], "v1"

    def handle(self):
        named = self.named()
        if named is None or named[0] != [self.client_address, self.connection.getsockname()]:
            said("refused", named)
            return
        said("header", named[1])
        while line := self.rfile.readline():
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Balanced)
said("port", server.server_address[1])
server.serve_forever()
