#!/bin/sh
# A stand-in for podman: records its arguments, and runs a server of two tests instead of a container.
here=$(dirname "$0")
echo "$*" >> "$here/asked"
for last; do :; done
case "$1 $2" in
    "image inspect")
        [ -f "$here/images/$last" ] && echo "sha256:0123456789abcdef"
        ;;
    "build "*)
        tag=$5
        echo "STEP 1/2: FROM scratch"
        if grep -q broken "$3"; then
            echo "Error: no such base" >&2
            exit 125
        fi
        mkdir -p "$here/images" && touch "$here/images/$tag"
        ;;
    "run "*)
        echo $$ > "$here/pid"
        exec python3 "$here/server.py" "$last"
        ;;
    "container inspect")
        cat "$here/pid"
        ;;
    "kill "*)
        kill -9 "$(cat "$here/pid")"
        ;;
esac
