#!/bin/sh
# Runs php-fpm behind nginx, with configurations of their own: php-fpm.sh SRC HOST PORT WORKERS
set -eu
src=$1 host=$2 port=$3 workers=$4

# Debian's program has the version in its name: the last one found is the newest.
for fpm in /usr/sbin/php-fpm[0-9]*; do :; done

# nginx wants an IPv6 address in brackets.
case $host in *:*) host="[$host]" ;; esac

# The workers of root's nginx and php-fpm run as another user, who may not be allowed to read
# the files.
user='' fpm_user='' as_root=''
if [ "$(id -u)" -eq 0 ]; then
    user='user root;' fpm_user='user = root' as_root=-R
fi

# Several workers have a listener each, so that the kernel spreads the connections evenly.
reuseport=
[ "$workers" -eq 1 ] || reuseport=reuseport

prefix=$(mktemp -d)
trap 'rm -r "$prefix"' EXIT

# Each process of PHP keeps one connection to the database.
cat >"$prefix/fpm.conf" <<CONF
[global]
error_log = /proc/self/fd/2
log_level = warning
daemonize = no

[www]
$fpm_user
listen = $prefix/fpm.sock
listen.backlog = 4096
pm = static
pm.max_children = $DATABASE_MAX_CONN
clear_env = no
php_admin_value[opcache.validate_timestamps] = 0
php_admin_value[expose_php] = 0
CONF

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
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;

    # Connections to php-fpm are not kept: each would hold a process.
    server {
        listen $host:$port backlog=4096 $reuseport;

        location / {
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME "$src/index.php";
            fastcgi_pass unix:$prefix/fpm.sock;
        }
    }
}
CONF

"$fpm" $as_root --nodaemonize --fpm-config "$prefix/fpm.conf" &
php=$!
# nginx must not listen before php-fpm does.
until [ -S "$prefix/fpm.sock" ]; do
    kill -0 $php
    sleep 0.02
done
nginx -p "$prefix" -c nginx.conf &
trap 'kill $! $php; wait' INT TERM
wait $!
