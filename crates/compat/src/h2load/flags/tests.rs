use super::*;

fn flags(line: &str) -> Result<H2loadFlags, Instead> {
    parse(line.split('|').map(OsString::from).collect())
}

#[test]
fn the_published_command_line() {
    let it = flags("-n100000|-c|100|-m|10|-t|2|https://localhost:8443/").unwrap();
    assert_eq!(
        (it.requests, it.clients, it.streams, it.threads),
        (100_000, 100, 10, 2)
    );
    assert!(it.place.secure && !it.plain_http1);
    assert_eq!(it.offered, ["h2", "http/1.1"]);
    let it = flags("--duration=30s|--warm-up=500ms|--max-conc|32|-c|4|http://h/").unwrap();
    assert_eq!(it.duration, Some(Duration::from_secs(30)));
    assert_eq!((it.warmup, it.streams), (Duration::from_millis(500), 32));
}

#[test]
fn protocols() {
    let it = flags("--h1|http://h/").unwrap();
    assert!(it.plain_http1);
    assert_eq!(it.offered, ["http/1.1"]);
    assert!(flags("-p|http/1.1|http://h/").unwrap().plain_http1);
    let it = flags("--npn-list=h2,h2-16|https://h/").unwrap();
    assert_eq!(it.offered, ["h2"]);
    assert!(it.notes[0].contains("h2-16"), "{:?}", it.notes);
    assert_eq!(flags("--alpn-list=h2|https://h/").unwrap().offered, ["h2"]);
}

#[test]
fn fields_have_lower_case_names() {
    let it = flags("-H|X-A:  b : c |-H|:authority: x|http://h/").unwrap();
    assert_eq!(
        it.headers,
        [
            ("x-a".into(), "b : c".into()),
            (":authority".into(), "x".into())
        ]
    );
}

#[test]
fn uris_come_from_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "http://h/a\n\n/b\r\n").unwrap();
    let path = file.path().display();
    let it = flags(&format!("-i|{path}|http://ignored/")).unwrap();
    assert_eq!(
        (it.place.host.as_str(), &it.place.paths[..]),
        ("h", &["/a".to_owned(), "/b".into()][..])
    );
}

#[test]
fn what_has_no_effect_is_named() {
    for (line, named) in [
        ("-v|http://h/", "--verbose"),
        ("--ktls|http://h/", "--ktls"),
        ("-f|32K|http://h/", "--max-frame-size"),
        ("--header-table-size=8K|http://h/", "--header-table-size"),
        ("--warm-up-time=1|http://h/", "--warm-up-time"),
        ("-t|5000|-c|5000|-n|5000|http://h/", "-t 5000"),
    ] {
        let notes = flags(line).unwrap().notes;
        assert!(
            notes.len() == 1 && notes[0].contains(named),
            "{line}: {notes:?}"
        );
    }
    for line in [
        "-f|16K|http://h/",
        "--encoder-header-table-size=4K|http://h/",
    ] {
        assert_eq!(flags(line).unwrap().notes, [""; 0], "{line}");
    }
}

/// The texts without `prony:` are the original's.
#[test]
fn what_cannot_be_meant_has_status_1() {
    for (line, says) in [
        ("-n|x|http://h/", "-n: bad option value: x\n"),
        (
            "-c|99999999999|http://h/",
            "-c: bad option value: 99999999999\n",
        ),
        ("-n|1", "no URI or input file given\n"),
        (
            "-n|0|http://h/",
            "-n: the number of requests must be strictly greater than 0 if timing-based test is not being run.\n",
        ),
        (
            "-c|0|http://h/",
            "-c: the number of clients must be strictly greater than 0.\n",
        ),
        (
            "-t|0|http://h/",
            "-t: the number of threads must be strictly greater than 0.\n",
        ),
        (
            "-m|0|http://h/",
            "-m: the max concurrent streams must be strictly greater than 0.\n",
        ),
        (
            "-n|1|-c|2|http://h/",
            "-n, -c: the number of requests must be greater than or equal to the clients.\n",
        ),
        (
            "-n|5|-c|2|-t|3|http://h/",
            "-c, -t: the number of clients must be greater than or equal to the number of threads.\n",
        ),
        (
            "-D|1|-r|1|http://h/",
            "-r, -D: they are mutually exclusive.\n",
        ),
        (
            "-t|2|-r|1|-c|2|-n|2|http://h/",
            "-r, -t: the connection rate must be greater than or equal to the number of threads.\n",
        ),
        (
            "-r|3|-c|2|-n|2|http://h/",
            "-r, -c: the connection rate must be smaller than or equal to the number of clients.\n",
        ),
        (
            "-w|31|http://h/",
            "-w: specify the integer in the range [0, 30], inclusive\n",
        ),
        (
            "-W|40|http://h/",
            "-W: specify the integer in the range [0, 30], inclusive\n",
        ),
        ("-D|1x|http://h/", "-D: value error 1x\n"),
        (
            "--warm-up-time=x|http://h/",
            "--warm-up-time: value error x\n",
        ),
        (
            "--rate-period=x|http://h/",
            "--rate-period: value error x\n",
        ),
        (
            "-T|x|http://h/",
            "-T: bad value for the conn_active_timeout wait time: x\n",
        ),
        (
            "-N|x|http://h/",
            "-N: bad value for the conn_inactivity_timeout wait time: x\n",
        ),
        ("--rps=x|http://h/", "--rps: Invalid value x\n"),
        ("-H|foo|http://h/", "-H: invalid header: foo\n"),
        ("-p|foo|http://h/", "-p: unsupported protocol foo\n"),
        (
            "-d|/nonexistent|http://h/",
            "-d: Could not open file /nonexistent\n",
        ),
        ("-i|/nonexistent", "cannot read input file: /nonexistent\n"),
        ("-i|/dev/null", "no URI available\n"),
        ("-B|foo|http://h/", "--base-uri: invalid base URI: foo\n"),
        (
            "--connect-to=h:x|http://h/",
            "--connect-to: Invalid value h:x\n",
        ),
        (
            "--header-table-size=5x|http://h/",
            "--header-table-size: Bad option value: 5x\n",
        ),
        ("-f|1|http://h/", "--max-frame-size: minimum 16384\n"),
        ("-f|x|http://h/", "--max-frame-size: bad option value: x\n"),
        ("--foo|http://h/", "h2load: unrecognized option '--foo'\n"),
        ("-x|http://h/", "h2load: invalid option -- 'x'\n"),
        ("--req-|http://h/", "h2load: unrecognized option '--req-'\n"),
        ("127.0.0.1:1/", "invalid URI: 127.0.0.1:1/\n"),
        (
            "--timing-script-file=x|http://h/",
            "prony: --timing-script-file is not supported: `prony load --replay` sends a log at its own times\n",
        ),
        (
            "--npn-list=h3-29|https://h/",
            "prony: --npn-list with h3-29 is not supported: prony speaks HTTP/3 of RFC 9114, which is h3\n",
        ),
        (
            "--h3|--no-udp-gso|https://h/",
            "prony: --no-udp-gso with HTTP/3 is not supported: without it, several datagrams go in one system call where the kernel can (GSO)\n",
        ),
        (
            "--max-udp-payload-size=1400|--h3|https://h/",
            "prony: --max-udp-payload-size with HTTP/3 is not supported: without it, QUIC finds the largest datagrams that the path takes\n",
        ),
        (
            "--max-udp-payload-size=65K|--h3|https://h/",
            "--max-udp-payload-size: must not exceed 65536\n",
        ),
        (
            "--max-udp-payload-size=x|https://h/",
            "--max-udp-payload-size: bad option value: x\n",
        ),
        (
            "--h3|--qlog-file-base=q|https://h/",
            "prony: --qlog-file-base with HTTP/3 is not supported: without it, --log-file has the times of each request\n",
        ),
        (
            "--h3|-w|20|https://h/",
            "prony: --connection-window-bits other than -w with HTTP/3 is not supported: over HTTP/3 a connection has the window of its streams: give -w and -W the same number\n",
        ),
        (
            "--h3|http://h/",
            "prony: HTTP/3 is spoken over UDP and with TLS: give https:// and a host\n",
        ),
        (
            "-H|:path: /x|http://h/",
            "prony: --header :path is not supported: the URI says it\n",
        ),
        (
            "-r|2|-c|2|-n|3|http://h/",
            "prony: -r: -n must be a multiple of -c, so that all connections make the same number of requests\n",
        ),
        (
            "-w|0|http://h/",
            "prony: -w 0: a window of 0 bytes lets the server send nothing\n",
        ),
    ] {
        match flags(line) {
            Err(Instead::Wrong { text, status: 1 }) => assert_eq!(text, says, "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    assert!(matches!(flags("-c"), Err(Instead::Wrong { status: 1, .. })));
    assert!(matches!(
        flags("--h"),
        Err(Instead::Wrong { status: 1, .. })
    ));
    assert_eq!(flags("--help"), Err(Instead::Said(USAGE.into())));
    assert_eq!(flags("--version"), Err(Instead::Said(version())));
}

/// Every long name has a place in the help, and every short one stands for a long one.
#[test]
fn the_help_names_every_option() {
    for name in NAMES {
        assert!(USAGE.contains(&format!("--{name}")), "{name}");
    }
    for letter in ('a'..='z').chain('A'..='Z') {
        assert!(
            long(letter).is_none_or(|name| NAMES.contains(&name)),
            "{letter}"
        );
    }
}

/// Every option that takes a value takes it attached, apart, and behind an equals sign.
#[test]
fn values_stand_where_getopt_takes_them() {
    let expected = flags("-c|7|-n|70|http://h/").unwrap();
    for line in [
        "-c7|-n70|http://h/",
        "--clients=7|--requests|70|http://h/",
        "http://h/|--cli=7|-n70",
    ] {
        assert_eq!(flags(line).unwrap(), expected, "{line}");
    }
}
