use super::*;

fn flags(line: &str) -> Result<HttperfFlags, Instead> {
    parse(line.split(' ').map(OsString::from).collect())
}

#[test]
fn the_published_command_line() {
    let line = "--hog --num-conns 1000 --num-calls 100 --rate 100000 --server 127.0.0.1 --port 8000 --uri /";
    let it = flags(line).unwrap();
    assert_eq!((it.connections, it.calls, it.port), (1_000, 100, 8_000));
    assert_eq!((it.rate, it.spacing), (Some(100_000.0), Spacing::Constant));
    assert_eq!(it.patience(), PATIENCE);
    assert_eq!(
        it.echo(),
        "httperf --hog --client=0/1 --server=127.0.0.1 --port=8000 --uri=/ --rate=100000 \
         --send-buffer=4096 --recv-buffer=16384 --num-conns=1000 --num-calls=100"
    );
}

/// The original's own line for these options.
#[test]
fn everything_is_repeated_in_the_originals_order() {
    let it = flags(
        "-v --hog --server 127.0.0.1 --port 18081 --uri /a --rate 2 --num-conn 4 --num-call 4 --burst 2 \
         --timeout 2.5 --think 1 --method PUT --add-header X:y\\n --client 1/2 --server-name foo",
    )
    .unwrap();
    assert_eq!(
        it.echo(),
        "httperf --verbose --hog --think-timeout=1 --timeout=2.5 --client=1/2 --server=127.0.0.1 \
         --server_name=foo --port=18081 --uri=/a --rate=2 --send-buffer=4096 --recv-buffer=16384 \
         --add-header='X:y\\n' --method=PUT --num-conns=4 --num-calls=4 --burst-length=2"
    );
    assert_eq!(it.patience(), Duration::from_millis(3_500));
}

#[test]
fn periods() {
    for (line, rate, spacing) in [
        ("--period 0.5", Some(2.0), Spacing::Constant),
        ("--period d0.5", Some(2.0), Spacing::Constant),
        ("--period e0.5", Some(2.0), Spacing::Poisson),
        ("--period e0.5 --rate 3", Some(3.0), Spacing::Constant),
        ("--period 0", None, Spacing::Constant),
        ("--rate 0", None, Spacing::Constant),
    ] {
        let it = flags(line).unwrap();
        assert_eq!((it.rate, it.spacing), (rate, spacing), "{line}");
    }
}

#[test]
fn what_cannot_be_meant_has_status_1() {
    for (line, says) in [
        ("--nosuch", "unrecognized option '--nosuch'"),
        ("-x", "unrecognized option '-x'"),
        (
            "--num 5",
            "option '--num' is ambiguous; possibilities: '--num-calls' '--num-conns'",
        ),
        ("--num-conns", "requires an argument"),
        ("--num-conns x", "illegal number of connections x"),
        ("--http-version abc", "illegal version number abc"),
        ("--http-version 1", "illegal version number 1"),
        ("--num-conns 0", "above 0"),
        ("--rate -1", "illegal request rate"),
        ("--wsess 3,2,0.1", "--wsess is not supported"),
        (
            "--wset 3",
            "bad target miss rate (2nd parameter) in --wset arg (rest: `3')",
        ),
        ("--client x", "bad client id (rest: `x')"),
        ("--client 1", "client id not followed by `/' (rest: `')"),
        ("--client 2/2", "bad number of clients (rest: `2')"),
        ("--ssl", "--ssl is not supported"),
        ("--period u1,2", "only d and e"),
    ] {
        match flags(line) {
            Err(Instead::Wrong { text, status: 1 }) => {
                assert!(text.contains(says), "{line}: {text}");
            }
            other => panic!("{line}: {other:?}"),
        }
    }
    assert!(matches!(flags("--help"), Err(Instead::Said(_))));
}
