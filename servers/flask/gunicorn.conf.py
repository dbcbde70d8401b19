import os

worker_class = "gthread"
workers = int(os.environ["WORKERS"])
# Each thread uses at most one connection to the database.
threads = max(int(os.environ["DATABASE_MAX_CONN"]) // workers, 1)
raw_env = [f"THREADS={threads}"]
worker_connections = 4096
backlog = 4096
# Idle connections stay open: at a low rate, a time-out would look like a failure.
keepalive = 3600
# Told to end, Gunicorn would wait for idle connections too.
graceful_timeout = 0
loglevel = "warning"
