//! Contracts over TLS and HTTP/2: experiments, duels, checks, verifications.

use crate::support::{Background, Place, schema, valid};

const OVER: [&str; 4] = ["plain", "tls", "h2c", "h2"];

/// One of prony's own servers that speaks everything, and one that speaks HTTP/1.1 without TLS alone.
fn place() -> Place {
    let place = Place::with_references();
    for model in ["epoll", "io-uring", "threads"] {
        place.manifest(
            &format!("all-{model}"),
            &format!(
                "title = 'prony, {model}'\nlanguage = 'Rust'\nmodel = '{model}'\n\
                 contracts = ['tcp-echo', 'http-echo']\nspeaks = ['plain', 'tls', 'h2c', 'h2']\n\
                 run = '''{{prony}} serve {{contract}} --model {model} --protocol {{over}} \"--cert={{cert}}\" \
                 \"--key={{key}}\" --listen [{{host}}]:{{port}}'''\n"
            ),
        );
    }
    place
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn the_reference_servers_keep_http_echo_over_everything() {
    let place = place();
    let names = ["all-epoll", "all-io-uring", "all-threads"];
    let arguments = [&["servers", "check", "--json"], &names[..]].concat();
    let rows = place.prony(&arguments).with(0).json();
    let rows = rows.as_array().unwrap();
    // tcp-echo once.
    assert_eq!(rows.len(), names.len() * (OVER.len() + 1));
    for row in rows {
        assert_eq!(row["state"], "ready", "{row}");
    }
    let rows = place
        .prony(&[
            "servers",
            "check",
            "all-epoll",
            "--protocol",
            "tls,h2",
            "--server-key",
            "rsa2048",
            "--json",
        ])
        .with(0)
        .json();
    let over: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["over"].as_str().unwrap())
        .collect();
    assert_eq!(over, ["tls", "h2"]);
    let done = place.refused(&["servers", "check", "quick", "--protocol", "h2"]);
    assert!(
        done.stderr.contains("none of these servers speaks h2"),
        "{done}"
    );
}

// Slow: 14 trials on fresh starts, 10 of them with the steps of verification over TLS or HTTP/2.
#[test]
fn an_experiment_measures_what_encryption_costs() {
    let place = place();
    let file = place.experiment(
        "over",
        "title = 'Over'\ncontract = 'http-echo'\nservers = ['all-epoll', 'quick']\nrounds = 2\n\
         [load]\nover = ['plain', 'tls', 'h2c', 'h2']\nkey = ['ecdsa-p256', 'rsa2048']\nstreams = 4\n\
         connections = 2\nrequests = 200\nwarmup = '0s'\n",
    );
    let done = place.prony(&["run", &file, "--json"]).with(0);
    let report = done.json();
    valid(&schema("run"), &report);
    assert_eq!(report["failures"], serde_json::json!([]));
    let cells: Vec<(&str, String)> = report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| {
            let over = cell["load"]
                .get("over")
                .map_or("plain", |over| over.as_str().unwrap());
            (cell["server"].as_str().unwrap(), over.to_owned())
        })
        .collect();
    // One that speaks HTTP/1.1 alone is left out of the others.
    assert_eq!(cells.iter().filter(|cell| cell.0 == "quick").count(), 1);
    assert_eq!(cells.iter().filter(|cell| cell.0 == "all-epoll").count(), 6);
    let over = report["over"].as_array().unwrap();
    assert_eq!(over.len(), 5);
    for one in over {
        assert_eq!(one["beside"], "c2", "{one}");
        assert!(one["throughput"]["value"].as_f64().unwrap() > 0.0, "{one}");
        let load = one["load"].as_str().unwrap();
        let encrypted = load.contains("tls") || load.contains("h2 ") || load.ends_with("h2");
        let key = &one["tls"]["certificate"]["key"];
        match (encrypted, load.contains("rsa2048")) {
            (false, _) => assert!(one["tls"].is_null(), "{one}"),
            (true, false) => assert_eq!(key, "ECDSA", "{one}"),
            (true, true) => assert_eq!(key, "RSA", "{one}"),
        }
        if encrypted {
            assert_eq!(one["tls"]["version"], "TLSv1.3");
            assert_eq!(one["tls"]["verified"], true);
        }
    }
    // The same from the notebook, in words too.
    assert_eq!(
        place.prony(&["report", "--json"]).with(0).stdout,
        done.stdout
    );
    let text = place.prony(&["report"]).with(0).stdout;
    let markdown = place
        .prony(&["export", "latest", "--format", "markdown"])
        .with(0)
        .stdout;
    for one in over {
        let sentence = one["sentence"].as_str().unwrap();
        assert!(text.contains(sentence), "{sentence}: {text}");
        let words = sentence.split(':').next().unwrap();
        assert!(markdown.contains(words), "{words}: {markdown}");
    }
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn run_and_duel_are_told_what_to_speak() {
    let place = place();
    let file = place.experiment(
        "small",
        "title = 'Small'\ncontract = 'http-echo'\nservers = ['quick', 'all-epoll']\nrounds = 1\n\
         [load]\nconnections = 2\nrequests = 100\nwarmup = '0s'\n",
    );
    let done = place
        .prony(&["run", &file, "--protocol", "tls,h2c", "--json"])
        .with(0);
    assert!(
        done.stderr.contains("do not say that they speak it: quick"),
        "{done}"
    );
    let report = done.json();
    assert_eq!(report["run"]["baseline"], "all-epoll");
    let cells = report["cells"].as_array().unwrap();
    let over: Vec<&str> = cells
        .iter()
        .map(|cell| cell["load"]["over"].as_str().unwrap())
        .collect();
    assert_eq!(over, ["h2c", "tls"]);
    let done = place
        .prony(&["run", &file, "--only", "quick", "--protocol", "h2"])
        .with(1);
    assert!(
        done.stderr.contains("no server of small speaks h2"),
        "{done}"
    );
    let duel = |arguments: &[&str]| {
        let fixed = [
            "--contract",
            "http-echo",
            "--rounds",
            "2",
            "-d",
            "300ms",
            "-c",
            "2",
            "--warmup",
            "100ms",
            "--json",
        ];
        place.prony(&[&["duel"], arguments, &fixed[..]].concat())
    };
    let report = duel(&["all-epoll", "all-epoll", "--protocol", "plain,h2"])
        .with(0)
        .json();
    let names: Vec<&str> = report["sides"]
        .as_array()
        .unwrap()
        .iter()
        .map(|side| side["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["all-epoll plain", "all-epoll h2"]);
    for (arguments, said) in [
        (
            &["quick", "all-epoll", "--protocol", "tls"][..],
            "quick does not speak tls",
        ),
        (
            &["all-epoll", "quick", "--protocol", "tls,plain,h2"],
            "for 2 sides",
        ),
        (
            &["all-epoll", "quick", "--protocol", "h3"],
            "all-epoll does not speak h3",
        ),
        (
            &["all-epoll", "quick", "--protocol", "h4"],
            "expected plain, tls, h2c, h2, h3, ws or auto",
        ),
        (
            &[
                "all-epoll",
                "quick",
                "--protocol",
                "h2,plain",
                "--streams",
                "4",
            ],
            "--streams is for sides that all speak HTTP/2",
        ),
    ] {
        let done = duel(arguments);
        assert!(
            done.code != Some(0) && done.stderr.contains(said),
            "{said}: {done}"
        );
    }
}

#[test]
fn a_running_server_is_verified_over_tls_and_http2() {
    let place = place();
    for (over, scheme, http2) in [
        ("tls", "https", false),
        ("h2", "https", true),
        ("h2c", "h2c", false),
    ] {
        let mut started = Background::start(&mut place.command(&[
            "servers",
            "start",
            "all-epoll",
            "--contract",
            "http-echo",
            "--protocol",
            over,
        ]));
        let line = started.line("all-epoll keeps http-echo on ");
        let addr = line
            .split("http-echo on ")
            .nth(1)
            .unwrap()
            .split(',')
            .next()
            .unwrap();
        let port = addr.rsplit(':').next().unwrap();
        let url = format!("{scheme}://localhost:{port}");
        let mut arguments = vec!["verify", "http-echo", &url];
        let hint;
        if over != "h2c" {
            hint = started.line("its certificate is for localhost");
            arguments.extend([
                "--ca",
                hint.split("--ca ")
                    .nth(1)
                    .unwrap()
                    .split(' ')
                    .next()
                    .unwrap(),
            ]);
        }
        if http2 {
            arguments.extend(["--protocol", "h2"]);
        }
        let done = place.prony(&arguments).with(0);
        let steps = if over == "tls" {
            ["pipelined", "tls-only"]
        } else {
            ["goaway", "one-byte-window"]
        };
        for step in steps {
            assert!(done.stdout.contains(&format!("passed: {step}, ")), "{done}");
        }
        started.signal(libc::SIGTERM);
        started.end();
    }
}

#[test]
fn a_server_that_does_not_keep_a_contract_is_told_so() {
    let place = place();
    let served = crate::support::Served::start(&["tcp-echo"]);
    let url = served.http("");
    let done = place
        .prony(&["verify", "http-echo", &url, "--timeout", "2s"])
        .with(1);
    assert!(done.stdout.starts_with("failed: answer"), "{done}");
    for (arguments, said) in [
        (
            ["verify", "static-file", &url],
            "needs a folder or an upstream",
        ),
        (["verify", "tcp-echo", &url], "begins with tcp://"),
        (["verify", "no-such-file.toml", &url], "no-such-file.toml"),
    ] {
        let done = place.prony(&arguments);
        assert!(
            done.code != Some(0) && done.stderr.contains(said),
            "{said}: {done}"
        );
    }
}

#[test]
fn mistakes_in_experiments_and_manifests_are_told() {
    let place = place();
    let experiment = |contract: &str, server: &str, load: &str| {
        format!("title = 'x'\ncontract = '{contract}'\nservers = ['{server}']\n[load]\n{load}\n")
    };
    for (text, said) in [
        (
            experiment("tcp-echo", "all-epoll", "over = 'tls'"),
            "tcp-echo is spoken in one way alone",
        ),
        (
            experiment("http-echo", "quick", "over = ['tls', 'h2']"),
            "quick speaks plain alone",
        ),
        (
            experiment("http-echo", "all-epoll", "over = 'h3'"),
            "all-epoll speaks plain, tls, h2c, h2 alone",
        ),
        (
            experiment("http-echo", "all-epoll", "over = 'h4'"),
            "data did not match",
        ),
        (
            experiment("http-echo", "all-epoll", "key = 'rsa2048'"),
            "key is for TLS",
        ),
        (
            experiment("http-echo", "all-epoll", "streams = 5"),
            "streams is for HTTP/2",
        ),
    ] {
        let file = place.experiment("wrong", &text);
        let done = place.prony(&["run", &file]).with(1);
        assert!(done.stderr.contains(said), "{said}: {done}");
    }
    place.echo_server("odd", "true", "speaks = ['tls']");
    let done = place.prony(&["servers", "list"]).with(1);
    assert!(done.stderr.contains("it keeps none of them"), "{done}");
}
