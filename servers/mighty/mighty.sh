#!/bin/bash
# Runs mighty processes with a configuration of their own, until one of them ends:
# mighty.sh PORT DOCROOT PROCESSES [RUNTIME OPTION...]
port=$1 docroot=$2 processes=$3
shift 3

folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -r "$folder"' EXIT
trap exit INT TERM

# In debug mode it stays in the foreground.
cat >"$folder/conf" <<CONF
Port: $port
Host: 127.0.0.1
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
