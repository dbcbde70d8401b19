use super::*;

fn flags(line: &str) -> Result<AbFlags, Instead> {
    parse(line.split(' ').map(OsString::from).collect())
}

#[test]
fn flags_stand_together_and_with_their_values() {
    let it = flags("-kq -n100 -c 10 -H a:b -H c:d -C x=y -C z=w http://h:8000/p").unwrap();
    assert!(it.keepalive && !it.progress);
    assert_eq!((it.requests, it.concurrency), (100, 10));
    assert_eq!(it.headers, ["a:b", "c:d"]);
    assert_eq!(it.cookie.as_deref(), Some("z=w"));
    assert_eq!(it.connect_to(), ("h", 8000));
}

#[test]
fn a_time_limit_means_50000_requests_unless_told_otherwise_after_it() {
    assert_eq!(flags("-n 20 -t 5 h/").unwrap().requests, 50_000);
    assert_eq!(flags("-t 5 -n 20 h/").unwrap().requests, 20);
    assert_eq!(flags("-t 0 h/").unwrap().time_limit, None);
}

#[test]
fn what_cannot_be_meant_ends_with_the_originals_status() {
    for (line, status, says) in [
        ("-n 5 -c 10 h/", 22, "greater than total"),
        ("-Q h/", 22, "illegal option -- Q"),
        ("--wrong h/", 22, "illegal option -- --wrong"),
        ("h/ -n 5", 22, "wrong number of arguments"),
        ("-n 5", 22, "wrong number of arguments"),
        ("-n", 22, "requires an argument"),
        ("h", 22, "invalid URL"),
        ("h:x/", 22, "invalid URL"),
        ("-n x h/", 1, "Invalid number of requests"),
        ("-c 0 h/", 22, "Invalid Concurrency"),
        ("-s 0 h/", 1, "Invalid time-out"),
        ("-n x h/", 1, "\nprony: -n x: not a value that it takes\n"),
        (
            "-cabc h/",
            22,
            "\nprony: -c abc: not a value that it takes\n",
        ),
        ("https://h", 22, "invalid URL"),
        ("https://http://h/", 22, "invalid URL"),
        ("-f TLS1.1 https://h/", 1, "prony speaks TLS1.2 and TLS1.3"),
        (
            "-E /nonexistent https://h/",
            1,
            "unable to get certificate from '/nonexistent'",
        ),
        ("-B 1.2.3.4 h/", 1, "-B is not supported"),
        ("-p /nonexistent h/", 1, "Could not open POST data file"),
    ] {
        match flags(line) {
            Err(Instead::Wrong {
                text,
                status: found,
            }) => {
                assert!(text.contains(says), "{line}: {text}");
                assert_eq!(found, status, "{line}");
            }
            other => panic!("{line}: {other:?}"),
        }
    }
    assert!(matches!(flags("-V"), Err(Instead::Said(_))));
}

#[test]
fn numbers_are_read_up_to_what_belongs_to_none() {
    let it = flags("-n 5x -c 1.5 -v -1x -t abc h/");
    assert!(matches!(it, Err(Instead::Wrong { status: 1, .. })), "-v -1");
    let it = flags("-t abc -n 5x -c +1.5 -v 2 h/").unwrap();
    assert_eq!((it.requests, it.concurrency, it.verbosity), (5, 1, 2));
    assert_eq!(it.time_limit, None);
    let notes = [
        "-t abc is read as 0, as ab does",
        "-n 5x is read as 5, as ab does",
        "-c +1.5 is read as 1, as ab does",
    ];
    assert_eq!(it.notes, notes);
    assert!(flags("-n +7 h/").unwrap().notes.is_empty());
    assert!(flags("-n 99999999999999999999 h/").is_err());
}

#[test]
fn a_proxy_has_the_port_behind_its_first_colon() {
    for (proxy, host, port) in [
        ("p", "p", 80),
        ("p:3128", "p", 3128),
        ("[::1]:3128", "::1", 3128),
        ("p:", "p", 0),
        ("p:x", "p", 0),
        ("p:3:4", "p", 3),
        ("http://p:3", "http", 0),
    ] {
        let it = flags(&format!("-X {proxy} h/")).unwrap();
        assert_eq!(it.connect_to(), (host, port), "{proxy}");
    }
}

#[test]
fn progress_is_shown_every_tenth_or_every_hundred() {
    let beat = |line: &str| flags(line).unwrap().heartbeat();
    assert_eq!(beat("-n 150 h/"), None);
    assert_eq!(beat("-n 151 h/"), Some(100));
    assert_eq!(beat("-n 8000 h/"), Some(800));
    assert_eq!(beat("-q -n 8000 h/"), None);
}
