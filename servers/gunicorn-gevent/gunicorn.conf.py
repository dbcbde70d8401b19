worker_class = "gevent"
worker_connections = 4096
backlog = 4096
# Idle connections stay open: at a low rate, a time-out would look like a failure.
keepalive = 3600
# Told to end, Gunicorn would wait for idle connections too.
graceful_timeout = 0
loglevel = "warning"
