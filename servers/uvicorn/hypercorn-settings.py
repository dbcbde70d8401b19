"""How Hypercorn serves the application, where it does instead of Uvicorn."""

import os

certfile = os.environ["CERT"] or None
keyfile = os.environ["KEY"] or None
worker_class = "uvloop"
backlog = 4096
loglevel = "ERROR"
# Idle connections stay open: at a low rate, a time-out would look like a failure.
keep_alive_timeout = 3600
keep_alive_max_requests = 1_000_000_000
# A client that has gone has nothing to wait for.
graceful_timeout = 0.1
