//! Every way in which threads that steer a load can meet, explored by loom: `scripts/models`.

use super::*;
use loom::sync::Arc;
use loom::thread;

const FROM: Nanos = 100;
const UNTIL: Nanos = 200;

/// Whether a worker may see `(from, until)` while a measurement from 100 to 200 is announced and cut short at `cut`.
/// `Nanos::MAX`: it is not cut short.
fn possible((from, until): (Nanos, Nanos), cut: Nanos) -> bool {
    let unknown = from == Nanos::MAX;
    let whole = (from, until) == (FROM, UNTIL);
    let cut_short = (from, until) == (FROM.min(cut), UNTIL.min(cut));
    // Not announced yet, and already over.
    let nothing = from == cut && until <= cut;
    unknown || whole || cut_short || nothing
}

#[test]
fn a_worker_sees_a_measurement_whole_or_not_at_all() {
    loom::model(|| {
        let control = Arc::new(Control::default());
        let steering = control.clone();
        let steering = thread::spawn(move || steering.measure(FROM, UNTIL));
        assert!(possible(control.measured(), Nanos::MAX));
        assert_eq!(steering.join().unwrap(), (FROM, UNTIL));
        assert_eq!(control.measured(), (FROM, UNTIL));
    });
}

#[test]
fn what_a_stop_ends_stays_ended() {
    for cut in [50, 150, 250] {
        loom::model(move || {
            let control = Arc::new(Control::default());
            let steering = control.clone();
            let steering = thread::spawn(move || steering.measure(FROM, UNTIL));
            let stopped = control.clone();
            let worker = thread::spawn(move || {
                stopped.end(cut);
                stopped.measured()
            });
            assert!(possible(control.measured(), cut));
            let (_, until) = worker.join().unwrap();
            assert!(until <= cut, "the worker that stops sees its own end");
            steering.join().unwrap();
            assert_eq!(control.measured(), (FROM.min(cut), UNTIL.min(cut)));
        });
    }
}

#[test]
fn the_earliest_end_counts() {
    loom::model(|| {
        let control = Arc::new(Control::at_once(UNTIL));
        let other = control.clone();
        let other = thread::spawn(move || other.end(150));
        control.end(120);
        let (from, until) = control.measured();
        assert!(from == 0 && until <= 120);
        other.join().unwrap();
        assert_eq!(control.measured(), (0, 120));
    });
}

#[test]
fn a_stop_and_the_begin_reach_every_worker() {
    loom::model(|| {
        let control = Arc::new(Control::default());
        let other = control.clone();
        let other = thread::spawn(move || {
            let start = other.begin();
            other.stop();
            start
        });
        // A worker that sees the stop sees that the load had begun.
        if control.stopped() {
            assert!(control.started().is_some());
        }
        let start = other.join().unwrap();
        assert!(control.stopped());
        assert_eq!(control.started(), Some(start));
    });
}
