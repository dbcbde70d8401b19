#!/bin/sh
# Runs Caddy with a configuration of its own: caddy.sh HOST PORT DOCROOT OVER [CERT KEY]
set -eu
over=$4

case $over in
    h2c) protocols='"h1", "h2c"' ;;
    h2) protocols='"h1", "h2"' ;;
    h3) protocols='"h3"' ;;
    *) protocols='"h1"' ;;
esac

# A policy says that connections begin with TLS; the certificate is the only one there is.
policies= certificates=
case $over in
    tls | h2 | h3)
        policies='"tls_connection_policies": [{}],'
        certificates=", \"tls\": {\"certificates\": {\"load_files\": [{\"certificate\": \"$5\", \"key\": \"$6\"}]}}"
        ;;
esac

exec caddy run --config - <<JSON
{
  "admin": {"disabled": true, "config": {"persist": false}},
  "logging": {"logs": {"default": {"level": "ERROR"}}},
  "apps": {
    "http": {
      "servers": {
        "static": {
          "listen": ["[$1]:$2"],
          "protocols": [$protocols],
          $policies
          "automatic_https": {"disable": true},
          "idle_timeout": "1h",
          "routes": [{"handle": [{"handler": "file_server", "root": "$3"}]}]
        }
      }
    }$certificates
  }
}
JSON
