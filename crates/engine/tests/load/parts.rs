//! Parts of a load that are carried out apart, as by several processes, and put together.

use crate::servers::{Server, echo};
use crate::support::{hello, plan};
use prony_engine::{Control, Gather, LoadShare, PartMessage, Plan, clock, run_part};
use prony_record::{Extent, Observation, Transport, Window};
use std::sync::mpsc;
use std::thread;

/// Returns the observations of all parts of a load together, and of one part alone. All messages of the parts go
/// through JSON.
fn together(plan: &Plan, parts: u32) -> (Observation, Observation) {
    let threads = plan.load.threads;
    let workers = parts * threads;
    let control = Control::at_once(u64::MAX);
    let controls: Vec<Control> = (0..parts).map(|_| Control::at_once(u64::MAX)).collect();
    let (sender, heard) = mpsc::channel();
    thread::scope(|scope| {
        for (number, control) in controls.iter().enumerate() {
            let part = LoadShare {
                first: number as u32 * threads,
                workers,
            };
            let sender = sender.clone();
            scope.spawn(move || {
                run_part(plan, part, control, |message| {
                    let text = serde_json::to_string(&message).unwrap();
                    sender.send((number, text)).unwrap();
                })
                .unwrap();
            });
        }
        drop(sender);
        let mut all = Gather::new(plan, workers);
        let mut first = Gather::new(plan, threads);
        let mut quiet = |_: &Window| {};
        for (number, text) in heard {
            let message: PartMessage = serde_json::from_str(&text).unwrap();
            if number == 0 {
                first.receive(message.clone(), &control, &mut quiet);
            }
            if all.receive(message, &control, &mut quiet) {
                let start = clock::now() + 5_000_000;
                control.begin_at(start);
                controls.iter().for_each(|control| control.begin_at(start));
            }
        }
        let of = |gather: Gather<'_>| gather.observation(&control).unwrap().0;
        (of(all), of(first))
    })
}

#[test]
fn a_number_of_requests_is_exact_over_all_parts() {
    let server = Server::tcp(echo);
    for (parts, requests) in [(1, 500), (2, 501), (5, 1_003)] {
        let mut plan = plan(&server.target, hello(), 7, Transport::Epoll);
        plan.load.extent = Extent::Requests(requests);
        let (all, first) = together(&plan, parts);
        assert_eq!(all.outcomes.ok, requests, "{parts}");
        assert_eq!(all.times.response.len(), requests, "{parts}");
        assert_eq!(all.per_connection.len(), 7, "{parts}");
        let share = first.outcomes.ok;
        assert!(
            share.abs_diff(requests / u64::from(parts)) <= 1,
            "{parts}: {share}"
        );
        let windows: u64 = all.windows.iter().map(|it| it.verified_answers).sum();
        assert_eq!(windows, requests, "{parts}");
    }
}

#[test]
fn times_of_another_clock_become_those_of_this_one() {
    let server = Server::tcp(echo);
    let mut plan = plan(&server.target, hello(), 2, Transport::Epoll);
    plan.load.extent = Extent::Requests(100);
    // The clock begins with the machine, which may have been started a moment ago.
    let by = -(clock::now() as i64 / 2);
    let control = Control::at_once(u64::MAX);
    let shifted = Control::at_once(u64::MAX);
    let part = LoadShare {
        first: 0,
        workers: plan.load.threads,
    };
    let (mut here, mut there) = (
        Gather::new(&plan, plan.load.threads),
        Gather::new(&plan, plan.load.threads),
    );
    run_part(&plan, part, &control, |message| {
        let mut quiet = |_: &Window| {};
        let moved = message.clone().on_clock(by);
        there.receive(moved, &shifted, &mut quiet);
        if here.receive(message, &control, &mut quiet) {
            let start = clock::now() + 2_000_000;
            shifted.begin_at(start.saturating_add_signed(by));
            control.begin_at(start);
        }
    })
    .unwrap();
    let (here, _) = here.observation(&control).unwrap();
    let (there, _) = there.observation(&shifted).unwrap();
    assert_eq!(here, there);
}
