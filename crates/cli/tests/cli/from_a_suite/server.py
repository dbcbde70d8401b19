import http.server
import json
import sys

BODIES = {
    "/json": ("application/json", lambda: json.dumps({"message": "Hello, World!"})),
    "/text?of=it": ("text/plain", lambda: "Hello, World!"),
}


class Entry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        media, body = BODIES.get(self.path, ("text/plain", lambda: "no"))
        body = body().encode()
        self.send_response(200 if self.path in BODIES else 404)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 4096


Server(("127.0.0.1", int(sys.argv[1])), Entry).serve_forever()
