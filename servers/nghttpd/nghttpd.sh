#!/bin/sh
# Runs nghttpd: nghttpd.sh HOST PORT DOCROOT WORKERS [CERT KEY]
set -eu
host=$1 port=$2 docroot=$3 workers=$4 cert=${5:-} key=${6:-}

# Types of files are read from a file, which not every system has.
types=$(mktemp)
trap 'rm "$types"' EXIT
echo 'text/html html' >"$types"

set -- --address="$host" --workers="$workers" --htdocs="$docroot" --mime-types-file="$types"
if [ -n "$cert" ]; then
    set -- "$@" "$port" "$key" "$cert"
else
    set -- "$@" --no-tls "$port"
fi
nghttpd "$@" &
trap 'kill $!; wait $!' INT TERM
wait $!
