//! Nothing is left behind: no descriptor, no thread. In a process of its own, because other tests
//! open and close theirs at the same time.

use crate::servers::{Connection, Server, answer_and_close, echo};
use crate::support::*;
use crate::words::CLOSING;
use prony_engine::Dialogue;
use std::process::Command;
use std::time::Duration;

const CHILD: &str = "PRONY_TEST_LEAKS";

/// How many descriptors and threads this process has.
fn held() -> (usize, usize) {
    let entries = |of| std::fs::read_dir(of).expect("procfs is mounted").count();
    (entries("/proc/self/fd"), entries("/proc/self/task"))
}

#[test]
fn nothing_is_left_behind() {
    if std::env::var_os(CHILD).is_some() {
        return in_child();
    }
    let this = std::env::current_exe().expect("the test's own path");
    let out = Command::new(this)
        .args(["--exact", "leaks::nothing_is_left_behind", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("the test can be started");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

fn in_child() {
    let before = held();
    let large = Dialogue::Echo(vec![7; 1 << 20]);
    let all = [
        (Server::tcp(echo), hello()),
        (Server::tcp(Connection::swallow), hello()),
        (Server::tcp(|_| Ok(())), hello()),
        (Server::tcp(answer_and_close(CLOSING)), http()),
        (Server::refused(), hello()),
        (Server::never_accepts(), hello()),
        (Server::never_accepts_unix(), hello()),
        (
            Server::tcp(|it| {
                it.ignore();
                Ok(())
            }),
            large,
        ),
    ];
    at_once(4, &all, |(server, dialogue)| {
        for kind in transports() {
            for (arrival, keepalive) in [
                (CLOSED, true),
                (CLOSED, false),
                (CONSTANT, true),
                (CONSTANT, false),
            ] {
                let plan = plan(&server.target, dialogue.clone(), 8, kind)
                    .due(arrival)
                    .keepalive(keepalive)
                    .threads(2)
                    .timeout(Duration::from_millis(30));
                // The load's end cuts off what is under way.
                during(&plan, 30 * MS);
            }
        }
    });
    // Their ends of the connections, and their threads, go a moment later.
    drop(all);
    let mut after = held();
    let patience = std::time::Instant::now() + HANGS;
    while after != before && std::time::Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(2));
        after = held();
    }
    assert_eq!(after, before, "descriptors and threads");
}
