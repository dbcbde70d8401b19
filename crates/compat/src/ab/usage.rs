//! Help.

/// Text that is printed for `-h`, and when a command line cannot be understood.
pub(super) const USAGE: &str = "\
Usage: ab [options] [http[s]://]hostname[:port]/path
Options are:
    -n requests     Requests to make in all (1)
    -c concurrency  Requests under way at the same time (1)
    -t timelimit    At most this many seconds; sets -n to 50000
    -s timeout      Seconds to wait for an answer (30)
    -p postfile     POST the content of this file
    -u putfile      PUT the content of this file
    -T content-type Type of what is sent with -p or -u (text/plain)
    -v verbosity    2: show the request and each response, 3: also each status
    -w              Print HTML tables
    -x attributes   Attributes of the table, with -w
    -y attributes   Attributes of each row, with -w
    -z attributes   Attributes of each cell, with -w
    -i              HEAD instead of GET
    -m method       Another method
    -C attribute    Send a cookie, such as a=b; the last one counts
    -H attribute    Send a header field, such as 'Accept-Encoding: gzip'; may be repeated
    -A attribute    Name and password for the server, name:password
    -P attribute    Name and password for the proxy, name:password
    -X proxy:port   Send all requests to this proxy
    -k              Keep connections open
    -l              Answers may differ in length
    -r              Go on after socket errors
    -d              No table of percentiles
    -S              No medians and deviations
    -q              No lines of progress
    -e filename     Write the percentiles to a CSV file
    -g filename     Write the times of all requests to a file for gnuplot
    -b windowsize   Accepted, without effect
    -I              Send no server name over TLS (SNI)
    -Z ciphersuite  Offer these cipher suites only, with colons between them
    -f protocol     TLS1.2, TLS1.3 or ALL
    -E certfile     The client's certificate chain and its key, as PEM
    -V              Print the version
    -h              Print this
    --quiet         No remarks about the measurement on standard error
";
