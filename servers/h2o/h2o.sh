#!/bin/sh
# Runs h2o with a configuration of its own: h2o.sh PORT DOCROOT WORKERS

# Root's h2o would become somebody who may not be allowed to read the files.
user=
[ "$(id -u)" -ne 0 ] || user='user: root'

# The crash handler runs beside the server all the time; h2o's own one is in Perl.
h2o -c /dev/stdin <<CONF &
$user
num-threads: $3
max-connections: 8192
http1-request-timeout: 3600
crash-handler: /bin/cat
listen:
  host: 127.0.0.1
  port: $1
hosts:
  default:
    paths:
      /:
        file.dir: "$2"
CONF

# h2o itself would wait for idle connections.
trap 'kill -KILL $!' INT TERM
wait $!
