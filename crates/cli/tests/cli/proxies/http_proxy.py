"""A proxy that forwards requests (absolute form) and makes tunnels (CONNECT): http_proxy.py [USER:PASSWORD]"""

import base64
import select
import socket
import sys
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

WANTED = None
if len(sys.argv) > 1:
    WANTED = "Basic " + base64.b64encode(sys.argv[1].encode()).decode()


def relay(client, server):
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ends = {client: server, server: client}
    while True:
        for one in select.select(list(ends), [], [])[0]:
            data = one.recv(65536)
            if not data:
                return server.close()
            ends[one].sendall(data)


def said(*words):
    # In one piece: threads write at the same time.
    sys.stderr.write(" ".join(map(str, words)) + "\n")


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def allowed(self):
        if WANTED in (None, self.headers.get("Proxy-Authorization")):
            return True
        self.send_response(407)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def do_CONNECT(self):
        if not self.allowed():
            return
        host, port = self.path.rsplit(":", 1)
        server = socket.create_connection((host.strip("[]"), int(port)))
        self.send_response(200, "Connection established")
        self.end_headers()
        self.wfile.flush()
        said("CONNECT", self.path)
        self.close_connection = True
        relay(self.connection, server)

    def do_GET(self):
        if not self.allowed():
            return
        url = urlsplit(self.path)
        if not url.netloc:
            return self.send_error(400, "no absolute form")
        said("GET", self.path)
        server = HTTPConnection(url.hostname, url.port)
        server.request("GET", url.path, headers={"Host": self.headers["Host"]})
        answer = server.getresponse()
        body = answer.read()
        server.close()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
server.daemon_threads = True
said("port", server.server_port)
server.serve_forever()
