//! Options that are called as in curl: who asks, and where a connection goes.

use crate::http::{After, Constant};
use crate::support::Place;
use std::sync::Arc;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
/// `ada:secret` in base64.
const ADA: &str = "Authorization: Basic YWRhOnNlY3JldA==\r\n";

fn server() -> (Arc<Constant>, String) {
    let server = Constant::new(OK, After::Keep);
    let url = format!("http://{}/", server.tcp());
    (server, url)
}

#[test]
fn a_name_and_a_password_go_with_every_request() {
    let place = Place::new();
    let short = ["-d", "50ms", "--warmup", "0s", "-c", "2", "--quiet"];
    let duel = ["--rounds", "2", "--no-rate"];
    for (verb, more, sides) in [
        ("load", &["-n", "10", "-q"][..], 1),
        ("duel", &[&short[..], &duel].concat(), 2),
        ("capacity", &short, 1),
    ] {
        let (server, url) = server();
        let words = [&[verb, "-u", "ada:secret"], more, &vec![&*url; sides]].concat();
        let done = place.prony(&words);
        assert!(server.first().contains(ADA), "{verb}: {done}");
    }
    let lines: Vec<String> = place
        .notebook()
        .prepare("SELECT command_line FROM run")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert!(
            line.contains("'ada:***'") && !line.contains("secret"),
            "{line}"
        );
    }
    assert!(
        !std::fs::read(place.path().join("notebook.db"))
            .unwrap()
            .windows(6)
            .any(|six| six == b"secret")
    );
}

#[test]
fn requests_of_a_file_keep_an_authorization_of_their_own() {
    for (text, expected) in [
        ("[[request]]\nname = 'a'\npath = '/'\n", ADA),
        (
            "[[request]]\nname = 'a'\npath = '/'\nheaders = { authorization = 'Bearer x' }\n",
            "authorization: Bearer x\r\n",
        ),
        (
            "[[session]]\nname = 'a'\n[[session.step]]\nname = 'b'\npath = '/'\n",
            ADA,
        ),
    ] {
        let place = Place::new();
        let file = place.file("shop.toml", text).display().to_string();
        let verify: &[&str] = &["verify", "-u", "ada:secret", &file];
        let load: &[&str] = &["load", "-u", "ada:secret", "-q", "-n", "10", "-f", &file];
        for words in [verify, load] {
            let (server, url) = server();
            let done = place.prony(&[words, &[&url]].concat()).with(0);
            let first = server.first();
            assert!(first.contains(expected), "{first}\n{done}");
            let fields = first.to_lowercase();
            assert_eq!(fields.matches("authorization:").count(), 1, "{first}");
        }
    }
}

#[test]
fn names_and_passwords_that_cannot_be_sent_are_told_without_the_password() {
    let place = Place::new();
    let (_, url) = server();
    for (words, why) in [
        (&["-u", "secret", &*url][..], "has no colon"),
        (&["-u", "ada:secret\n", &url], "control character"),
        (
            &["-u", "ada:secret", "-H", "authorization: Bearer x", &url],
            "both say who asks",
        ),
        (&["-u", "ada:secret", "tcp://127.0.0.1:7"], "is for HTTP"),
        (&["http://ada:secret@127.0.0.1:7/"], "--user NAME:PASSWORD"),
    ] {
        let done = place.prony(&[&["load"], words].concat()).with(1);
        assert!(done.stderr.contains(why), "{done}");
    }
}
