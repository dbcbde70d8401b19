//! `prony load --file`: requests of one's own.

use crate::http::{After, Constant};
use crate::support::{Done, Place, Served, schema, valid};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

pub const SHOP: &str = r#"
sample = 0.1

[[request]]
name = "home"
path = "/"
weight = 7
expect.status = 200

[[request]]
name = "user"
path = "/users/{{row users.csv name}}?n={{int 1 1000}}"
headers = { X-Id = "{{uuid}}" }
weight = 2

[[request]]
name = "checkout"
path = "/orders"
body = '{"seq":{{seq}},"at":{{now}}}'
expect.status = [200, 201]
expect.contains = "hello"
"#;

/// A folder with a shop in it.
pub fn shop(text: &str) -> (Place, String) {
    let place = Place::new();
    std::fs::write(place.path().join("users.csv"), "name\nann b\nbob\n").unwrap();
    let file = place.path().join("shop.toml");
    std::fs::write(&file, text).unwrap();
    (place, file.display().to_string())
}

pub fn load(place: &Place, file: &str, url: &str, more: &[&str]) -> Done {
    let first = ["load", "--quiet", "--no-keep", "-f", file];
    place.prony(&[&first, more, &[url]].concat())
}

fn request<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut all = report["requests"].as_array().unwrap().iter();
    all.find(|one| one["name"] == name).unwrap()
}

pub fn answer(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_mix_is_sent_in_its_shares_and_reported_by_name() {
    let server = Constant::new(&answer("hello you"), After::Keep);
    let url = format!("http://{}", server.tcp());
    let (place, file) = shop(SHOP);
    for transport in ["epoll", "io_uring"] {
        let more = [
            "--json",
            "-n",
            "3000",
            "-c",
            "4",
            "-t",
            "2",
            "--transport",
            transport,
        ];
        let report = load(&place, &file, &url, &more).with(0).json();
        valid(&schema("load"), &report);
        assert_eq!(report["outcomes"]["ok"], 3_000);
        for (name, n) in [("home", 2_100), ("user", 600), ("checkout", 300)] {
            let one = request(&report, name);
            // Each thread's share is exact in any 1,000 of its requests.
            let ok = one["outcomes"]["ok"].as_i64().unwrap();
            assert!((ok - n).abs() <= 300, "{name}: {ok}");
            assert_eq!(one["response"]["n"], ok, "{name}");
        }
        let searched = request(&report, "checkout")["searched"].as_u64().unwrap();
        assert!((1..300).contains(&searched), "{searched}");
        assert_eq!(request(&report, "home")["searched"], 0);
    }
    let report = load(&place, &file, &url, &["--json", "-n", "2000", "-c", "3"]);
    let report = report.with(0).json();
    for (name, n) in [("home", 1_400), ("user", 400), ("checkout", 200)] {
        assert_eq!(request(&report, name)["outcomes"]["ok"], n, "{name}");
    }
    let text = load(&place, &file, &url, &["-n", "1000"]).with(0);
    for word in ["request", "checkout", "70.0%", "20.0%", "were searched"] {
        assert!(text.stdout.contains(word), "{word}: {text}");
    }
    let open = ["--json", "-n", "500", "--rate", "5000", "--random-shares"];
    let open = load(&place, &file, &url, &open).with(0).json();
    assert_eq!(open["outcomes"]["ok"], 500);
}

#[test]
fn values_reach_the_server_and_a_seed_repeats_them() {
    let (place, file) = shop(
        "[[request]]\nname = \"a\"\npath = \"/{{row users.csv name}}/{{int 1 1000000}}\"\n\
         headers = { X-Id = \"{{uuid}}\" }\nbody = \"n={{seq}}\"",
    );
    let first = |seed: &str| {
        let server = Constant::new(&answer("x"), After::Keep);
        let url = format!("http://{}/api/", server.tcp());
        let once = ["-n", "1", "-c", "1", "--no-verify", "--seed", seed];
        load(&place, &file, &url, &once).with(0);
        let request = server.first();
        let host = |line: &&str| !line.starts_with("Host:");
        request.lines().filter(host).collect::<Vec<_>>().join("\n")
    };
    let one = first("5");
    assert!(one.starts_with("POST /api/ann%20b/"), "{one}");
    assert!(one.ends_with("Content-Length: 3\n\nn=1"), "{one}");
    assert_eq!(one, first("5"));
    assert_ne!(one, first("6"));
}

#[test]
fn a_limit_of_one_request_and_a_wrong_answer() {
    let server = Constant::new(&answer("bye"), After::Keep);
    let url = format!("http://{}", server.tcp());
    let (place, file) = shop(&SHOP.replace("sample = 0.1", "sample = 1.0"));
    let gates = [
        "-n",
        "1000",
        "--fail-if",
        "checkout.errors > 1%",
        "--fail-if",
        "home.errors > 0",
    ];
    // What no answer meets is told before any load, unless that is what is to be measured.
    let done = load(&place, &file, &url, &gates).with(1);
    let text = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["1 of 3 in", "found \"bye\"", "--no-verify"] {
        assert!(text.contains(word), "{word}: {done}");
    }
    let gates = [&gates[..], &["--no-verify"]].concat();
    let done = load(&place, &file, &url, &gates).with(3);
    assert!(
        done.stderr.contains("failed: checkout.errors > 1%"),
        "{done}"
    );
    assert!(done.stderr.contains("passed: home.errors > 0"), "{done}");
    for word in [
        "expected a body that contains \"hello\", found \"bye\"",
        "asked POST /orders with ",
    ] {
        assert!(
            done.stdout.replace('\n', " ").contains(word),
            "{word}: {done}"
        );
    }
    // Markdown has the same rows, with the same numbers of failures, as the terminal.
    let comment = place.path().join("comment.md");
    let told = [
        "-n",
        "1000",
        "--no-verify",
        "--markdown",
        comment.to_str().unwrap(),
        "--json",
    ];
    let report = load(&place, &file, &url, &told).with(0).json();
    let comment = std::fs::read_to_string(comment).unwrap();
    for one in report["requests"].as_array().unwrap() {
        let row = format!("| {} | ", one["name"].as_str().unwrap());
        let row = comment.lines().find(|line| line.starts_with(&row)).unwrap();
        let failed = one["outcomes"]["wrong_answer"].as_u64().unwrap();
        assert!(row.ends_with(&format!(" {failed} |")), "{failed}: {row}");
    }
    let unknown = load(&place, &file, &url, &["--fail-if", "chekout.p99 > 1s"]).with(2);
    assert!(
        unknown.stderr.contains("there is no request \"chekout\""),
        "{unknown}"
    );
}

#[test]
fn a_table_that_is_used_once_ends_the_load() {
    let http = Served::start(&["http-echo"]);
    let (place, file) =
        shop("[[request]]\nname = \"a\"\npath = \"/{{row users.csv name once}}\"\n");
    for (threads, rate) in [("1", None), ("2", None), ("1", Some("500"))] {
        let rate = rate.map_or(vec![], |rate| vec!["--rate", rate]);
        let more = [&["--json", "-d", "1h", "-c", "4", "-t", threads], &rate[..]].concat();
        let report = load(&place, &file, &http.http("/"), &more).with(0).json();
        assert_eq!(report["outcomes"]["ok"], 2, "{report:#}");
        assert_eq!(report["used_up"][0], "users.csv");
    }
}

#[test]
fn mistakes_are_shown_in_their_line() {
    let (place, file) = shop("[[request]]\nname = \"a\"\npath = \"/{{row users.csv nme}}\"\n");
    let done = load(&place, &file, "http://127.0.0.1:9", &[]).with(1);
    for word in [
        "{{row users.csv nme}}",
        "no column \"nme\"",
        "did you mean \"name\"?",
        "shop.toml:3",
    ] {
        assert!(
            done.stderr.replace("\n", " ").contains(word),
            "{word}: {done}"
        );
    }
    let echo = load(&place, &file, "tcp://127.0.0.1:9", &[]).with(2);
    assert!(echo.stderr.contains("must begin with http://"), "{echo}");
    let both = load(&place, &file, "http://127.0.0.1:9", &["-m", "PUT"]).with(2);
    assert!(both.stderr.contains("cannot be used with"), "{both}");
}

/// A server that answers whatever it reads at once, as if it were one whole request.
fn answers_each_read(answer: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || {
                let mut buffer = [0; 8192];
                while let Ok(1..) = stream.read(&mut buffer) {
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn a_file_is_verified_whole_in_fragments_and_pipelined() {
    let server = Constant::new(&answer("hello"), After::Keep);
    let url = format!("http://{}", server.tcp());
    let (place, file) = shop(SHOP);
    let done = place.prony(&["verify", &file, &url]).with(0);
    for word in [
        "passed: home, one after the other: 5 answers",
        "passed: user, in fragments: 5 answers",
        "passed: checkout, pipelined: 5 answers",
    ] {
        assert!(done.stdout.contains(word), "{word}: {done}");
    }
    let closing = Constant::new(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        After::Close,
    );
    let url = format!("http://{}", closing.tcp());
    let done = place.prony(&["verify", "--no-pipelining", &file, &url]);
    assert_eq!(done.with(0).stdout.matches("passed").count(), 6);
    // The expectation of one request is not met, whatever its share: its body is always searched.
    let (place, file) = shop(
        &SHOP
            .replace("\"hello\"", "\"bye\"")
            .replace("sample = 0.1", "sample = 0"),
    );
    let server = Constant::new(&answer("hello"), After::Keep);
    let url = format!("http://{}", server.tcp());
    let done = place.prony(&["verify", "--seed", "7", &file, &url]).with(1);
    assert_eq!(done.stdout.matches("failed: checkout").count(), 3, "{done}");
    assert_eq!(done.stdout.matches("passed").count(), 6, "{done}");
    assert!(done.stdout.contains("asked POST /orders"), "{done}");
    assert!(done.stderr.contains("--seed 7"), "{done}");
}

// Slow: waits for 3 time-outs of 1 s, one for the pipelined answers of each request.
#[test]
fn a_server_that_takes_a_read_for_a_request_is_found_out() {
    let (place, file) = shop(SHOP);
    let url = format!("http://{}", answers_each_read(answer("hello")));
    let done = place.prony(&["verify", "--timeout", "1s", &file, &url]);
    let done = done.with(1);
    assert_eq!(done.stdout.matches("failed").count(), 6, "{done}");
    assert!(
        done.stdout
            .contains("failed: home, pipelined: the server said nothing"),
        "{done}"
    );
}

/// Requests that `http-echo` answers rightly.
const ECHOED: &str = r#"
[[request]]
name = "city"
path = "/city/{{row users.csv name}}"
weight = 3
expect.contains = "/city/"

[[request]]
name = "number"
path = "/number/{{int 1 1000}}"
expect.matches = '^/number/\d+ at '
"#;

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_duel_asks_the_requests_of_a_file_and_compares_them_by_name() {
    let (one, two) = (Served::start(&["http-echo"]), Served::start(&["http-echo"]));
    let (place, file) = shop(ECHOED);
    let duel = |more: &[&str]| {
        let (a, b) = (one.http(""), two.http(""));
        let first = [
            "duel", "--quiet", "-f", &file, "-d", "100ms", "--warmup", "100ms", "-c", "4",
        ];
        place.prony(&[&first, more, &[a.as_str(), b.as_str()]].concat())
    };
    let report = duel(&["--rounds", "2", "--rate", "200", "--json"])
        .with(0)
        .json();
    valid(&schema("duel"), &report);
    for name in ["city", "number"] {
        let named = request(&report, name);
        for side in named["sides"].as_array().unwrap() {
            assert!(side["answers"].as_u64().unwrap() > 0, "{named:#}");
            assert_eq!(side["failed"], 0, "{named:#}");
        }
    }
    // The notebook has it by name too.
    let told = place.prony(&["report", &report["run"].to_string()]).with(0);
    assert!(told.stdout.contains("number"), "{told}");
    // What no answer meets is found before any load.
    let (_, other) = (0, place.path().join("other.toml"));
    std::fs::write(&other, ECHOED.replace("\"/city/\"", "\"no city\"")).unwrap();
    let wrong = place.prony(&[
        "duel",
        "--quiet",
        "-f",
        other.to_str().unwrap(),
        &one.http(""),
        &two.http(""),
    ]);
    let wrong = wrong.with(1);
    let text = wrong.stderr.replace(['\n', '│'], " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in [
        "(city, one after the other)",
        "contains \"no city\"",
        "other.toml",
    ] {
        assert!(text.contains(word), "{word}: {wrong}");
    }
    let both = duel(&["-H", "X: y"]).with(2);
    assert!(both.stderr.contains("has complete requests"), "{both}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_capacity_search_and_a_run_ask_the_requests_of_a_file() {
    let server = Served::start(&["http-echo"]);
    let place = Place::with_references();
    place.manifest(
        "web",
        "title = 'Web'\nlanguage = 'Rust'\nmodel = 'epoll'\ncontracts = ['http-echo']\n\
         run = '{prony} serve http-echo --listen :{port}'\n",
    );
    std::fs::write(place.path().join("users.csv"), "name\nann\nbob\n").unwrap();
    let file = place.path().join("shop.toml");
    std::fs::write(&file, ECHOED).unwrap();
    let file = file.display().to_string();
    // A rate that no server keeps within a nanosecond: the search is short, and ends unknown.
    let capacity = place.prony(&[
        "capacity",
        "--starts",
        "1",
        "--quiet",
        "--json",
        "-f",
        &file,
        "-d",
        "100ms",
        "-c",
        "2",
        "--p99",
        "1ns",
        &server.http(""),
    ]);
    assert!(capacity.stdout.contains("\"server\""), "{capacity}");
    let experiment = place.path().join("shops.toml");
    let text = "title = \"Shops\"\ncontract = \"http-echo\"\nrequests = \"shop.toml\"\n\
                servers = [\"web\"]\nrounds = 1\n\
                load = { connections = 2, duration = \"300ms\", warmup = \"0s\" }\n";
    std::fs::write(&experiment, text).unwrap();
    let run = place.prony(&["run", "--quiet", "--json", experiment.to_str().unwrap()]);
    assert!(run.with(0).stdout.contains("throughput"));
    let wrong = text.replace("shop.toml", "none.toml");
    std::fs::write(&experiment, wrong).unwrap();
    let wrong = place
        .prony(&["run", "--quiet", experiment.to_str().unwrap()])
        .with(1);
    assert!(wrong.stderr.contains("none.toml"), "{wrong}");
}

#[test]
fn what_is_made_of_other_files_is_loaded_as_it_is() {
    let server = Constant::new(&answer("x"), After::Keep);
    let url = format!("http://{}", server.tcp());
    let place = Place::new();
    let path = |name: &str| place.path().join(name).display().to_string();
    let yaml = format!(
        "openapi: 3.1.0\nservers: [{{url: '{url}'}}]\npaths:\n  /a/{{id}}:\n    get:\n      parameters:\n      \
         - {{in: path, name: id, required: true, schema: {{type: integer}}}}\n"
    );
    let har = format!(
        r#"{{"log": {{"entries": [{{"request": {{"method": "POST", "url": "{url}/a", "headers": [],
            "postData": {{"mimeType": "image/png", "text": "AP8=", "encoding": "base64"}}}}}}]}}}}"#
    );
    let log = "::1 - - [10/Oct/2026:13:55:36 +0000] \"GET /a?b=c HTTP/1.1\" 200 12\n";
    let texts = [
        (
            "curl.txt",
            format!("curl '{url}/a' \\\n -H 'X: {{}}' -d $'it\\'s'\n"),
        ),
        ("targets.txt", format!("GET {url}/a\nX: 1\n")),
        (
            "targets.json",
            format!("{{\"method\":\"POST\",\"url\":\"{url}/a\",\"body\":\"eA==\"}}\n"),
        ),
        ("a.har", har),
        ("openapi.yaml", yaml),
        ("access.log", log.to_owned()),
    ];
    for (name, text) in texts {
        std::fs::write(path(name), text).unwrap();
        let made = place.prony(&["requests", "from", &path(name)]).with(0);
        std::fs::write(path("made.toml"), &made.stdout).unwrap();
        let report = load(
            &place,
            &path("made.toml"),
            &url,
            &["--json", "-n", "20", "-c", "1"],
        );
        let report = report.with(0).json();
        assert_eq!(report["outcomes"]["ok"], 20, "{name}: {made}");
    }
    // Standard input, and what is none of them.
    std::fs::write(path("nothing.txt"), "nothing").unwrap();
    let typed = format!("echo 'curl {url}/a' | \"$PRONY\" requests from -");
    assert!(place.shell(&typed).with(0).stdout.contains("get-a"));
    let none = place
        .prony(&["requests", "from", &path("nothing.txt")])
        .with(1);
    assert!(none.stderr.contains("none of har, postman"), "{none}");
}

#[test]
fn remedies_for_files_of_requests_are_flags() {
    let server = Constant::new(&answer("x"), After::Keep);
    let url = format!("http://{}", server.tcp());
    let (place, rare) = shop(
        "[[request]]\nname = \"a\"\npath = \"/\"\n[[request]]\nname = \"b\"\npath = \"/\"\nweight = 9000",
    );
    let done = load(&place, &rare, &url, &["-n", "1"]).with(1);
    let help = "give it a larger weight, or draw at random with --random-shares";
    assert!(done.stderr.contains(help), "{done}");
    let two = place.file(
        "two.txt",
        &format!("curl {url}/a\ncurl {url}/b\ncurl http://other.test/\n"),
    );
    let made = place.prony(&["requests", "from", two.to_str().unwrap()]);
    let help = "  --server http://other.test takes these\n";
    assert!(made.stderr.contains(help), "{made}");
}
