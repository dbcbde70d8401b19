//! Probes on real processes: this test program again, as a child that does what its environment tells it.

use prony_anatomy::{Look, Namer, Probe, Refused, Taken, call_name};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What the child does; it is this program, which runs only the test `child` then.
const DO: &str = "PRONY_ANATOMY_TEST_CHILD";
/// The child ends by itself after this, should nothing end it.
const LIFE: Duration = Duration::from_secs(120);

#[inline(never)]
fn an_expensive_function(rounds: u64) -> u64 {
    (0..rounds).fold(1, |x: u64, y| std::hint::black_box(x.wrapping_mul(31) ^ y))
}

fn system_calls() {
    for _ in 0..100 {
        for number in [libc::SYS_getppid, libc::SYS_getppid, libc::SYS_getuid] {
            // SAFETY: plain questions without arguments.
            unsafe { libc::syscall(number) };
        }
    }
}

#[test]
fn child() {
    let Ok(what) = std::env::var(DO) else {
        return;
    };
    let begun = Instant::now();
    while begun.elapsed() < LIFE {
        match what.as_str() {
            "work" => drop(std::hint::black_box(
                an_expensive_function(1_000_000).to_string(),
            )),
            _ => system_calls(),
        }
    }
}

/// A child, ended when dropped.
struct Running(Child);

impl Running {
    fn start(what: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--nocapture"])
            .env(DO, what)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn now() -> u64 {
    let mut ts = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `ts` is writable for the length of the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

/// Looks for longer and longer until there is something to see. None where the system does not allow it.
fn look(child: &Running, look: Look, enough: impl Fn(&Taken) -> bool) -> Option<Taken> {
    let cpus: Vec<usize> = (0..std::thread::available_parallelism().unwrap().get()).collect();
    for tenths in [2, 5, 20, 100, 300] {
        let probe = match Probe::open(child.0.id(), true, &cpus, look) {
            Ok(probe) => probe,
            Err(Refused { what, remedy }) => {
                println!("skipped: {what}; {remedy}");
                return None;
            }
        };
        let from = now();
        probe.measure(from, from + tenths * 100_000_000);
        std::thread::sleep(Duration::from_millis(100 * tenths));
        let taken = probe.finish();
        if enough(&taken) {
            return Some(taken);
        }
    }
    panic!("nothing was seen");
}

#[test]
fn the_function_that_works_is_found_by_its_name() {
    let child = Running::start("work");
    let Some(taken) = look(&child, Look::Stacks, |taken| taken.samples > 50) else {
        return;
    };
    let folded = Namer::default().folded(&taken);
    assert_eq!(folded.values().sum::<u64>(), taken.samples);
    let in_it = |stack: &&String| stack.contains("an_expensive_function");
    let found: u64 = folded.keys().filter(in_it).map(|stack| folded[stack]).sum();
    assert!(2 * found > taken.samples, "{found} of {folded:#?}");
}

#[test]
fn every_system_call_is_counted() {
    let child = Running::start("call");
    let seen = |taken: &Taken| taken.calls.contains_key(&libc::SYS_getuid);
    let Some(taken) = look(&child, Look::Calls, seen) else {
        return;
    };
    let of = |number| taken.calls.get(&number).copied().unwrap_or(0);
    let (two, one) = (of(libc::SYS_getppid), of(libc::SYS_getuid));
    // The measurement begins and ends somewhere between two of them.
    assert!(
        taken.lost > 0 || two.abs_diff(2 * one) <= 4,
        "{two} and {one}"
    );
    assert_eq!(call_name(libc::SYS_getuid), "getuid");
}

#[test]
fn what_procfs_counts_needs_no_rights() {
    let child = Running::start("work");
    let taken = look(&child, Look::Plain, |taken| !taken.counts.is_empty());
    let taken = taken.expect("procfs is always allowed");
    assert!(taken.counts.contains_key("voluntary switches"), "{taken:?}");
    assert_eq!(taken.samples, 0);
}

#[test]
fn a_process_that_has_ended_leaves_its_samples() {
    let child = Running::start("work");
    let taken = look(&child, Look::Stacks, |taken| taken.samples > 5);
    drop(child);
    if let Some(taken) = taken {
        let folded = Namer::default().folded(&taken);
        assert_eq!(folded.values().sum::<u64>(), taken.samples);
    }
}
