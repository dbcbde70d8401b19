//! A number of connections that changes while the load lasts.

use crate::invariants::hold;
use crate::servers::{Connection, Server, answer, echo};
use crate::support::*;
use crate::words::LENGTH;
use prony_engine::Plan;
use prony_record::{Span, Stage};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

/// A busy machine may let the generator sleep through a whole stage: what needs all of them is tried so many times.
const TRIES: u32 = 30;

fn staged(plan: Plan, stages: &[(f64, f64, u64)]) -> Plan {
    let stage = |&(from, to, millis): &(f64, f64, u64)| Stage {
        from,
        to,
        duration: Span(Duration::from_millis(millis)),
    };
    plan.with(|plan| {
        plan.load.connection_stages = stages.iter().map(stage).collect();
        plan.load.warmup = Span(Duration::ZERO);
    })
}

fn length(stages: &[(f64, f64, u64)]) -> u64 {
    stages.iter().map(|stage| stage.2 * MS).sum()
}

/// How many connections a server has open: now, and at most.
#[derive(Default)]
struct Open {
    now: AtomicI64,
    most: AtomicI64,
}

/// The same server, which counts its connections.
fn counted(
    open: &Arc<Open>,
    serve: impl Fn(&Connection) -> io::Result<()> + Send + Sync + 'static,
) -> Server {
    let open = open.clone();
    Server::tcp(move |it| {
        let now = open.now.fetch_add(1, Relaxed) + 1;
        open.most.fetch_max(now, Relaxed);
        let result = serve(it);
        open.now.fetch_sub(1, Relaxed);
        result
    })
}

#[test]
fn connections_are_opened_and_closed_as_the_stages_say() {
    let stages = [
        (2.0, 2.0, 60),
        (6.0, 6.0, 60),
        (1.0, 1.0, 60),
        (6.0, 6.0, 60),
    ];
    for kind in transports() {
        for (threads, pipeline) in [(1, 1), (1, 4), (2, 1)] {
            let open = Arc::new(Open::default());
            let server = counted(&open, echo);
            let plan = plan(&server.target, hello(), 6, kind)
                .threads(threads)
                .pipeline(pipeline);
            let plan = staged(plan, &stages);
            let all_stages = (0..TRIES).any(|_| {
                let seen = during(&plan, length(&stages));
                hold(&plan, &seen);
                let (outcomes, errors) = (&seen.outcomes, &seen.errors);
                assert_eq!(outcomes.finished(), outcomes.ok, "{outcomes:?} {errors:?}");
                assert!(errors.is_empty(), "{errors:?}");
                // The first two, four more, and five of them once more.
                assert!(seen.connected <= 11, "{}", seen.connected);
                assert!(open.most.load(Relaxed) <= 6);
                eventually("the server has no connection left", || {
                    open.now.load(Relaxed) == 0
                });
                seen.connected == 11 && seen.per_connection.iter().all(|&n| n > 0)
            });
            assert!(all_stages, "{}", short(&plan));
        }
    }
}

#[test]
fn without_keep_alive_so_many_are_under_way() {
    let stages = [(1.0, 1.0, 60), (5.0, 5.0, 60), (2.0, 2.0, 60)];
    for kind in transports() {
        let open = Arc::new(Open::default());
        let server = counted(&open, answer(LENGTH));
        let plan = plan(&server.target, http(), 5, kind).keepalive(false);
        let plan = staged(plan, &stages);
        let all_stages = (0..TRIES).any(|_| {
            let seen = during(&plan, length(&stages));
            hold(&plan, &seen);
            let outcomes = &seen.outcomes;
            assert_eq!(
                outcomes.finished(),
                outcomes.ok,
                "{outcomes:?} {:?}",
                seen.errors
            );
            seen.per_connection.iter().all(|&n| n > 0)
        });
        assert!(all_stages, "{}", short(&plan));
    }
}

#[test]
fn a_server_that_refuses_is_asked_by_those_that_take_part_only() {
    let server = Server::refused();
    let stages = [(1.0, 1.0, 100), (3.0, 3.0, 100), (1.0, 3.0, 100)];
    for kind in transports() {
        let plan = plan(&server.target, hello(), 3, kind).timeout(Duration::from_millis(200));
        let plan = staged(plan, &stages);
        let seen = during(&plan, length(&stages));
        hold(&plan, &seen);
        assert_eq!(seen.outcomes.finished(), seen.outcomes.connect_error);
    }
}
