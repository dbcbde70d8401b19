use super::*;

fn find(line: &str) -> Option<Command> {
    Command::find(line, 7)
}

#[test]
fn flags_in_every_form() {
    let command =
        find("[~/wrk]$ ./wrk -t16 -c 400 --duration=60s -s x.lua http://localhost:8/f  *[m]")
            .unwrap();
    assert_eq!(command.line, 7);
    assert_eq!((command.tool, command.by_prony), (Tool::Wrk, false));
    assert_eq!(
        (command.threads(), command.connections(), command.seconds()),
        (Some(16), Some(400), Some(60.0))
    );
    assert_eq!(
        (command.host(), command.timeout()),
        (Some("localhost"), Some(2.0))
    );
    assert_eq!(command.pipeline(), Some(1));
    assert_eq!(
        find("wrk -c1 -s pipeline.lua http://a/")
            .unwrap()
            .pipeline(),
        None
    );
    let deep = "wrk -c1 -s ./pipeline.lua http://a/ -- / 16";
    assert_eq!(find(deep).unwrap().pipeline(), Some(16));
    let host = |line| find(line).and_then(|command| command.host().map(str::to_owned));
    assert_eq!(
        host("autocannon -c 100 -d 60 localhost:3000").as_deref(),
        Some("localhost")
    );
    assert_eq!(
        host("k6 run --env API_URL=http://localhost:8080 x.js").as_deref(),
        Some("localhost")
    );
    assert_eq!(host("autocannon -c 100 far:3000"), None);
    let deep = "autocannon -c 10 -p 8 http://a/";
    assert_eq!(find(deep).unwrap().pipeline(), Some(8));
    assert_eq!(find("wrk -R100 -c1 http://a/").unwrap().tool, Tool::Wrk2);
    assert!(find("prony wrk -c1 http://a/").unwrap().by_prony);
}

#[test]
fn other_tools() {
    let ab = find("_ab_ -c __2000__ -n <span>8000</span> http://example.com/hoge").unwrap();
    assert_eq!(
        (ab.tool, ab.connections(), ab.requests()),
        (Tool::Ab, Some(2000), Some(8000))
    );
    assert!(ab.connection_per_request());
    let httperf = find("    httperf --hog --num-conns 1000 --num-calls 100 --rate 5e --server=::1");
    let httperf = httperf.unwrap();
    assert_eq!(
        (httperf.requests(), httperf.host()),
        (Some(100_000), Some("::1"))
    );
    assert_eq!(httperf.connection_rate(), None);
    let httperf = find("httperf --rate 500 --server 127.0.0.1").unwrap();
    assert_eq!(httperf.connection_rate(), Some((500.0, 1)));
    let client = find("   ./client -c50 -o2 -h10000 sag15").unwrap();
    assert_eq!(
        (client.connections(), client.requests(), client.host()),
        (Some(100), Some(1_000_000), Some("sag15"))
    );
    assert_eq!(
        find("hey -z 5s -c 20 http://[::1]:80/").unwrap().host(),
        Some("::1")
    );
    assert_eq!(
        find("k6 run -u 10 -d 30s x.js").unwrap().seconds(),
        Some(30.0)
    );
    assert_eq!(
        find("weighttp -n 100k -c 10 -k x").unwrap().requests(),
        Some(100_000)
    );
}

#[test]
fn sentences_are_no_commands() {
    for line in [
        "I used wrk for this.",
        "wrk - a tool",
        "the client -c was quick",
        "ab initio",
        "",
        "they said hey",
        "/hey -> \"Hey!\"",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

#[test]
fn this_machine() {
    for host in ["localhost", "127.0.0.1", "127.1.2.3", "::1"] {
        assert!(is_this_machine(host), "{host}");
    }
    for host in ["127.example.com", "10.0.0.1", "sag15", ""] {
        assert!(!is_this_machine(host), "{host}");
    }
    assert_eq!(host_of("http://u:p@h:80/x?y"), Some("h"));
    let parts = |url| parts_of(url).map(|(h, p, path)| format!("{h} {p} {path}"));
    assert_eq!(parts("https://h/a/?x=1").as_deref(), Some("h 443 /a/?x=1"));
    assert_eq!(parts("http://h:81").as_deref(), Some("h 81 /"));
    let vegeta = find("echo \"GET http://localhost:80/\" | vegeta attack -duration=5s").unwrap();
    assert_eq!(
        (vegeta.host(), vegeta.seconds()),
        (Some("localhost"), Some(5.0))
    );
    assert_eq!(host_of("ftp://h/"), None);
    assert_eq!(host_of("http://"), None);
}
