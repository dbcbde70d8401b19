//! JSON and plain text.

use super::*;

#[test]
fn json_with_another_key() {
    let said = ("json", "expected {\"message\":\"Hello, World!\"}");
    caught(&ALL, said, "/json", |site, request| {
        site.honest(&request.target).replace("message", "msg")
    });
}

#[test]
fn json_with_one_more_key() {
    let said = ("json", "expected {\"message\":\"Hello, World!\"}");
    caught(&ALL, said, "/json", |_, _| {
        Answer::json(&json!({"message": "Hello, World!", "ok": true}))
    });
}

#[test]
fn json_as_text() {
    let said = ("json", "expected Content-Type: application/json");
    caught(&ALL, said, "/json", |site, request| {
        site.honest(&request.target)
            .field("Content-Type", "text/plain")
    });
}

#[test]
fn another_text() {
    let said = ("plaintext", "found \"Hello, world!\"");
    caught(&ALL, said, "/plaintext", |site, request| {
        site.honest(&request.target).replace("World", "world")
    });
}

#[test]
fn text_as_html() {
    let said = ("plaintext", "expected Content-Type: text/plain");
    caught(&ALL, said, "/plaintext", |site, request| {
        site.honest(&request.target)
            .field("Content-Type", "text/html; charset=utf-8")
    });
}

/// Answers what has come with one read, in the order of `order`.
fn by_reads(site: &Arc<Site>, order: fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>) -> SocketAddr {
    let site = Arc::clone(site);
    serve(move |mut stream, _| {
        let (mut heard, mut buf) = (Vec::new(), [0; 65_536]);
        while let Ok(n @ 1..) = stream.read(&mut buf) {
            heard.extend_from_slice(&buf[..n]);
            let mut answers = Vec::new();
            while let Some(end) = heard.windows(4).position(|part| part == b"\r\n\r\n") {
                let head: Vec<u8> = heard.drain(..end + 4).collect();
                answers.push(site.honest(&parse(&head).target).bytes());
            }
            for answer in order(answers) {
                let _ = stream.write_all(&answer);
            }
        }
    })
}

// Slow: waits for 2 s of silence at three depths.
#[test]
fn only_the_first_of_pipelined_requests() {
    let site = Arc::new(Site::new());
    let addr = by_reads(&site, |answers| answers.into_iter().take(1).collect());
    let said = "expected answer 2 of 16: an answer's head; found silence";
    caught_at(&ALL, "plaintext-pipelined", said, &site, addr);
}

#[test]
fn pipelined_requests_out_of_order() {
    let site = Arc::new(Site::new());
    let addr = by_reads(&site, |mut answers| {
        answers.reverse();
        answers
    });
    for depth in ALL {
        let violation = inspect(&site, addr, depth).expect_err("it went unnoticed");
        assert_eq!(violation.step, "pipelined", "{violation}");
    }
}
