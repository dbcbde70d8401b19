#!/bin/bash
# Runs mighty processes with a configuration of their own, until one of them ends:
# mighty.sh HOST PORT DOCROOT PROCESSES [RUNTIME OPTION...]
host=$1 port=$2 docroot=$3 processes=$4
shift 4

folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -r "$folder"' EXIT
trap exit INT TERM

# In debug mode it stays in the foreground.
cat >"$folder/conf" <<CONF
Port: $port
Host: $host
Debug_Mode: Yes
Logging: No
Report_File: $folder/report
Index_File: index.html
Connection_Timeout: 3600
Fd_Cache_Duration: 10
Service: 0
CONF

# A route cannot name a folder with a space in it.
ln -s "$docroot" "$folder/docroot"
cat >"$folder/route" <<ROUTE
[*]
/ -> $folder/docroot/
ROUTE

for ((i = 0; i < processes; i++)); do
    LD_PRELOAD=$REUSEPORT mighty "$folder/conf" "$folder/route" "$@" &
done
wait -n
exit 1
