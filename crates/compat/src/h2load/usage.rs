//! The help text, and the names of options.

/// Text that `--help` prints.
pub(super) const USAGE: &str = "\
Usage: h2load [OPTIONS]... [URI]...
benchmarking tool for HTTP/2 server, as spoken by prony

  <URI>  One or more, requested in turns; the first names the server. http:// is HTTP/2
         without TLS (or --h1), https:// is what the server agrees to by ALPN.
Options:
  -n, --requests=<N>                 requests over all clients (1)
  -c, --clients=<N>                  concurrent clients (1)
  -t, --threads=<N>                  threads (1)
  -i, --input-file=<PATH>            a file with a URI on each line; - is standard input
  -m, --max-concurrent-streams=<N>   requests in flight of each client (1); over HTTP/1.1
                                     they are pipelined
  -w, --window-bits=<N>              window of a stream: 2^N - 1 bytes (30)
  -W, --connection-window-bits=<N>   window of a connection: 2^N - 1 bytes (30)
  -H, --header=<HEADER>              a header field; may be repeated
  -d, --data=<PATH>                  POST this file
  -p, --no-tls-proto=<PROTOID>       what http:// means: h2c or http/1.1 (h2c)
  -r, --rate=<N>                     open N connections in every period, up to -c
      --rate-period=<DURATION>       the period (1s)
  -D, --duration=<DURATION>          measure for so long, instead of -n
      --warm-up-time=<DURATION>      with -D: before that, a load that is not measured
  -T, --connection-active-timeout=<DURATION>
                                     end the clients after so long
  -N, --connection-inactivity-timeout=<DURATION>
                                     give a request up after so long (30s)
  -B, --base-uri=(<URI>|unix:<PATH>) the server, whatever the URIs say
      --npn-list=<LIST>, --alpn-list=<LIST>
                                     protocols to offer by ALPN (h2,http/1.1)
      --h1                           HTTP/1.1, with and without TLS
      --h3                           HTTP/3, as --alpn-list=h3
      --ciphers=<SUITE>              cipher suites of TLS 1.2
      --tls13-ciphers=<SUITE>        cipher suites of TLS 1.3
      --sni=<DNSNAME>                the name that the server is asked for in TLS
      --connect-to=<HOST>[:<PORT>]   connect there instead
      --rps=<N>                      requests per second of each client, evenly spaced
      --log-file=<PATH>              write start, status and time of each request
      --version                      show the version
  -h, --help                         show this
      --quiet                        prony's own: no remarks on standard error

Accepted without effect: -f --max-frame-size, --header-table-size,
--encoder-header-table-size, --ktls, -v --verbose. Not supported: --timing-script-file,
--groups; with HTTP/3 --max-udp-payload-size, --no-udp-gso, --qlog-file-base, and -W
other than -w.

  A <SIZE> is a whole number and an optional unit K, M or G (powers of 1024); a <DURATION>
  is one with h, m, s or ms (seconds without a unit).
";

/// The long names of all options, which may be abbreviated.
pub(super) const NAMES: [&str; 39] = [
    "alpn-list",
    "base-uri",
    "ciphers",
    "clients",
    "connect-to",
    "connection-active-timeout",
    "connection-inactivity-timeout",
    "connection-window-bits",
    "data",
    "duration",
    "encoder-header-table-size",
    "groups",
    "h1",
    "h3",
    "header",
    "header-table-size",
    "help",
    "input-file",
    "ktls",
    "log-file",
    "max-concurrent-streams",
    "max-frame-size",
    "max-udp-payload-size",
    "no-tls-proto",
    "no-udp-gso",
    "npn-list",
    "qlog-file-base",
    "rate",
    "rate-period",
    "requests",
    "rps",
    "sni",
    "threads",
    "timing-script-file",
    "tls13-ciphers",
    "verbose",
    "version",
    "warm-up-time",
    "window-bits",
];

/// The long name of a short one.
pub(super) fn long(short: char) -> Option<&'static str> {
    Some(match short {
        'n' => "requests",
        'c' => "clients",
        't' => "threads",
        'i' => "input-file",
        'm' => "max-concurrent-streams",
        'f' => "max-frame-size",
        'w' => "window-bits",
        'W' => "connection-window-bits",
        'H' => "header",
        'd' => "data",
        'p' => "no-tls-proto",
        'r' => "rate",
        'D' => "duration",
        'T' => "connection-active-timeout",
        'N' => "connection-inactivity-timeout",
        'B' => "base-uri",
        'v' => "verbose",
        'h' => "help",
        _ => return None,
    })
}
