//! A build without LuaJIT loads as ever, and refuses scripts.

use crate::server::{Server, ok};
use crate::shape::number;
use crate::support::{prony, script};

#[test]
fn a_script_is_refused_and_it_is_said_how_to_get_one() {
    let server = Server::always(ok("x"));
    let path = script("counter.lua");
    let ran = prony(&["-t1", "-c1", "-d1", "-s", &path, &server.url("/")]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.err.contains("without `lua`") && ran.err.contains("cargo install"),
        "{ran:?}"
    );
    assert!(ran.out.is_empty() && server.seen().is_empty(), "{ran:?}");
}

#[test]
fn what_the_command_line_says_is_sent() {
    let server = Server::always(ok("x"));
    let url = server.url("/a?b");
    let ran = prony(&["-t2", "-c2", "-d1", "-H", "X-Y: z", &url]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(number(&ran.out, " requests in").unwrap() > 0, "{ran:?}");
    for request in server.seen() {
        assert_eq!(request.line, "GET /a?b HTTP/1.1");
    }
    let nobody = prony(&["-t1", "-c1", "-d1", "http://127.0.0.1:1/"]);
    assert_eq!(
        nobody.err,
        "unable to connect to 127.0.0.1:1 Connection refused\n"
    );
}
