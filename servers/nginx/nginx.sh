#!/bin/sh
# Runs nginx with a configuration of its own: nginx.sh CONTRACT HOST PORT DOCROOT WORKERS [OVER CERT KEY]
set -eu
contract=$1 host=$2 port=$3 docroot=$4 workers=$5 over=${6:-plain} cert=${7:-} key=${8:-}

case $contract in
    static-file) cache='open_file_cache max=1024;' ;;
    # A changed file is to be seen by the very next request.
    weather-upstream) cache= ;;
esac

# nginx wants an IPv6 address in brackets.
case $host in *:*) host="[$host]" ;; esac

# The workers of root's nginx run as another user, who may not be allowed to read the files.
user=
[ "$(id -u)" -ne 0 ] || user='user root;'

# Several workers have a listener each, so that the kernel spreads the connections evenly.
reuseport=
[ "$workers" -eq 1 ] || reuseport=reuseport

# Without TLS, a listener speaks either HTTP/1.1 or HTTP/2.
case $over in
    plain) speaks= tls= ;;
    h2c) speaks=http2 tls= ;;
    tls) speaks=ssl ;;
    h2) speaks='ssl http2' ;;
esac
[ -z "$cert" ] || tls="ssl_certificate \"$cert\"; ssl_certificate_key \"$key\"; ssl_protocols TLSv1.2 TLSv1.3;"

prefix=$(mktemp -d)
trap 'rm -r "$prefix"' EXIT

# sendfile is off: a small file is sent with its head in one system call, and in one packet.
cat >"$prefix/nginx.conf" <<CONF
daemon off;
$user
worker_processes $workers;
error_log stderr;
pid nginx.pid;

events {
    worker_connections 8192;
}

http {
    access_log off;
    log_not_found off;
    sendfile off;
    $cache
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    types {
        text/html html;
        application/json json;
    }
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;

    server {
        listen $host:$port backlog=4096 $reuseport $speaks;
        $tls
        root "$docroot";
    }
}
CONF

nginx -p "$prefix" -c nginx.conf &
trap 'kill $!; wait $!' INT TERM
wait $!
