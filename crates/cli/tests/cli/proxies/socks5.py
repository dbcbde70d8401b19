"""A SOCKS5 proxy (RFC 1928, RFC 1929): socks5.py [USER:PASSWORD]"""

import select
import socket
import socketserver
import struct
import sys

WANTED = sys.argv[1].encode().split(b":", 1) if len(sys.argv) > 1 else None


def said(*words):
    # In one piece: threads write at the same time.
    sys.stderr.write(" ".join(map(str, words)) + "\n")


class Socks(socketserver.StreamRequestHandler):
    def handle(self):
        read = self.rfile.read
        _, n = read(2)
        methods = read(n)
        if WANTED is None:
            self.wfile.write(b"\x05\x00")
        elif 2 in methods:
            self.wfile.write(b"\x05\x02")
            read(1)
            user = read(read(1)[0])
            password = read(read(1)[0])
            good = [user, password] == WANTED
            self.wfile.write(b"\x01\x00" if good else b"\x01\x01")
            if not good:
                return
        else:
            self.wfile.write(b"\x05\xff")
            return
        _, _, _, kind = read(4)
        host = {
            1: lambda: socket.inet_ntoa(read(4)),
            3: lambda: read(read(1)[0]).decode(),
            4: lambda: socket.inet_ntop(socket.AF_INET6, read(16)),
        }[kind]()
        (port,) = struct.unpack("!H", read(2))
        said("kind", kind, host, port)
        try:
            server = socket.create_connection((host, port))
        except OSError:
            self.wfile.write(b"\x05\x05\x00\x01" + bytes(6))
            return
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
        ends = {self.connection: server, server: self.connection}
        while True:
            for one in select.select(list(ends), [], [])[0]:
                data = one.recv(65536)
                if not data:
                    server.close()
                    return
                ends[one].sendall(data)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Socks)
said("port", server.server_address[1])
server.serve_forever()
