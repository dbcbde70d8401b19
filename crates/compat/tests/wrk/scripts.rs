//! Values that scripts see: the same under prony as under the real wrk.

use crate::server::Server;
use crate::support::{prony, real, reference, script};
use std::path::Path;

/// Returns the facts that a script writes to the file it is given, under the real wrk and under prony.
/// `None` outside the campaign `compat`.
fn facts(name: &str, url: &str, threads: &str) -> Option<[String; 2]> {
    let place = tempfile::tempdir().unwrap();
    let run = |file: &Path, runner: &dyn Fn(&[&str]) -> Option<i32>| {
        let path = script(name);
        // The name must be equally long: it is a script's argument.
        let file = file.to_str().unwrap();
        let status = runner(&[
            threads,
            "-c2",
            "-d1",
            "-s",
            &path,
            "-H",
            "X-From: flag",
            url,
            "--",
            file,
            "last",
        ])?;
        assert_eq!(status, 0, "{name}");
        Some(std::fs::read_to_string(file).unwrap())
    };
    let theirs = run(&place.path().join("a"), &|args| {
        real(args).map(|ran| ran.status)
    })?;
    let ours = run(&place.path().join("b"), &|args| {
        let ran = prony(args);
        assert_eq!(ran.status, 0, "{}", ran.err);
        Some(ran.status)
    })?;
    Some([theirs, ours])
}

#[test]
fn everything_that_a_script_can_look_at() {
    let url = format!("http://{}/some/path?query", reference());
    for threads in ["-t1", "-t2"] {
        let Some([theirs, ours]) = facts("facts.lua", &url, threads) else {
            return;
        };
        assert_eq!(theirs, ours);
        assert!(ours.lines().count() > 20, "{ours}");
    }
}

#[test]
fn answers_as_response_gets_them() {
    let answers: [&[u8]; 6] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nx-a:  spaced\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Twice: one\r\nX-Twice: two\r\n\r\nok",
        b"HTTP/1.1 204 No Content\r\nX-Empty: e\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbad",
    ];
    let serve = move || {
        Server::new(move |_, nth| {
            let nth = (nth % 6) as usize;
            (answers[nth].to_vec(), nth != 5)
        })
    };
    let place = tempfile::tempdir().unwrap();
    let path = script("answers.lua");
    let mut seen = Vec::new();
    for (file, ours) in [("a", false), ("b", true)] {
        let server = serve();
        let file = place.path().join(file);
        let url = server.url("/");
        let args = [
            "-t1",
            "-c1",
            "-d1",
            "-s",
            &path,
            &url,
            "--",
            file.to_str().unwrap(),
        ];
        if ours {
            assert_eq!(prony(&args).status, 0);
        } else if real(&args).is_none() {
            return;
        }
        seen.push(std::fs::read_to_string(file).unwrap());
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1].lines().count(), 6, "{}", seen[1]);
}
