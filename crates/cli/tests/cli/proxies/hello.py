"""A server that answers every request with `hello`: hello.py ADDRESS PORT"""

import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hello(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
    daemon_threads = True


server = Server((sys.argv[1], int(sys.argv[2])), Hello)
sys.stderr.write(f"port {server.server_port}\n")
server.serve_forever()
