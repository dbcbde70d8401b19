#!/bin/sh
# Runs h2o with a configuration of its own: h2o.sh HOST PORT DOCROOT WORKERS [CERT KEY]

# Root's h2o would become another user, who may not be allowed to read the files.
user=
[ "$(id -u)" -ne 0 ] || user='user: root'

# What a client offers by ALPN, or begins with, decides between HTTP/1.1 and HTTP/2.
tls=
[ -z "${5:-}" ] || tls="ssl: {certificate-file: \"$5\", key-file: \"$6\", ocsp-update-interval: 0}"

# The crash handler runs beside the server all the time; h2o's own one is in Perl.
h2o -c /dev/stdin <<CONF &
$user
num-threads: $4
max-connections: 8192
http1-request-timeout: 3600
http2-idle-timeout: 3600
crash-handler: /bin/cat
listen:
  host: "$1"
  port: $2
  $tls
hosts:
  default:
    paths:
      /:
        file.dir: "$3"
CONF

# h2o itself would wait for idle connections.
trap 'kill -KILL $!' INT TERM
wait $!
