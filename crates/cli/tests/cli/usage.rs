//! Mistakes on the command line: exit status 2, before anything is built, started or connected to.

use crate::support::{Place, Served};

#[test]
fn mistakes_on_the_command_line_exit_with_2() {
    let place = Place::new();
    let marker = place.path().join("set-up");
    let touch = format!("touch {}", marker.display());
    let mistakes: [(&[&str], &str); 16] = [
        (&["load", "ftp://x/"], "cannot load ftp"),
        (&["load", "8000"], "8000"),
        (&["load", "-d", "0", ":1"], "longer than 0s"),
        (&["load", "--timeout", "0", ":1"], "longer than 0s"),
        (&["capacity", "-d", "0s", ":1"], "longer than 0s"),
        (&["duel", "-d", "0", ":1", ":2"], "longer than 0s"),
        (&["calibrate", "-d", "0"], "longer than 0s"),
        (&["verify", "http-echo", "ftp://x"], "cannot load ftp"),
        (&["duel", "node", "--setup", &touch], "two sides"),
        (&["compare", "node", "--setup", &touch], "two sides"),
        (
            &["duel", "--rev", "HEAD", "./a {port}", "--setup", &touch],
            "two sides",
        ),
        (
            &["duel", ":1", ":2", "--streams", "4", "--setup", &touch],
            "--streams",
        ),
        (&["load", "-H", "no-colon", ":1"], "header field"),
        (&["duel", "--ca", "x.pem", ":1", ":2"], "TLS"),
        (&["explain", "server-idel"], "server-idel"),
        (&["serve", "http-echo", "--protocol", "h2"], "--cert"),
    ];
    for (line, why) in mistakes {
        let done = place.refused(line);
        assert!(done.stderr.contains(why), "{line:?}: {done}");
        assert_eq!(done.stdout, "", "{line:?}");
    }
    assert!(
        !marker.exists(),
        "something was set up before the mistake was found"
    );
    // A server that is not there is no mistake in the command line.
    place.prony(&["load", "-n", "1", ":1"]).with(1);
}

#[test]
fn a_verb_without_its_inner_verb_prints_its_own_help() {
    let place = Place::new();
    for (verb, inner) in [
        ("servers", "setup"),
        ("hosts", "check"),
        ("requests", "from"),
    ] {
        let done = place.refused(&[verb]);
        assert!(
            done.stderr.contains(&format!("Usage: prony {verb}")) && done.stderr.contains(inner),
            "{done}"
        );
    }
}

#[test]
fn an_address_without_a_scheme_is_http() {
    let place = Place::new();
    let server = Served::start(&["http-echo"]);
    let address = server.http("/");
    let address = address
        .strip_prefix("http://")
        .unwrap()
        .trim_end_matches('/');
    let port = address.rsplit_once(':').unwrap().1;
    let quick = ["-n", "20", "-c", "2", "--warmup", "0", "--json"];
    for url in [address.to_owned(), format!(":{port}"), format!(":{port}/a")] {
        let done = place.prony(&[&["load", &url][..], &quick].concat()).with(0);
        assert_eq!(done.json()["outcomes"]["ok"], 20, "{done}");
    }
}

/// People type curl's and wrk's options out of habit.
#[test]
fn habits_of_curl_and_wrk_are_understood() {
    let place = Place::new();
    let server = Served::start(&["http-echo"]);
    let url = server.http("/");
    let habits = [
        "-X", "GET", "-k", "-R", "200", "-n", "20", "-c", "2", "--json",
    ];
    let done = place.refused(&[&["load", &url][..], &habits].concat());
    // Of these only -k needs TLS.
    assert!(done.stderr.contains("TLS"), "{done}");
    let habits: Vec<&str> = habits.into_iter().filter(|word| *word != "-k").collect();
    let done = place
        .prony(&[&["load", &url][..], &habits].concat())
        .with(0);
    assert_eq!(done.json()["rate"], 200.0, "{done}");
    for (line, why) in [
        (
            &["load", "--data", "@/no/such", &url][..],
            "cannot read /no/such",
        ),
        (&["load", "--request", "no method", &url], "is not a method"),
        (&["load", "--unix-socket", "/no/such", &url], "/no/such"),
        (
            &["duel", "--cacert", "/no/such.pem", ":1", ":2"],
            "options of TLS",
        ),
    ] {
        let done = place.prony(line);
        assert!(
            done.code != Some(0) && done.stderr.contains(why),
            "{line:?}: {done}"
        );
    }
}
