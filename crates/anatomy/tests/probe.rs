//! Probes on real processes: this test program again, as a child that does what its environment tells it.

use prony_anatomy::{Namer, Probe, ProbeMode, Refused, Taken, call_name};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Variable that names the child's work. The child is this program, which then runs only the test `child`.
const DO: &str = "PRONY_ANATOMY_TEST_CHILD";
/// The child ends by itself after this, should nothing end it.
const LIFE: Duration = Duration::from_secs(120);
/// Number of threads of `many_threads`.
const THREADS: usize = 2_000;

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

/// One thread sleeps while it holds a lock, and this one waits for it.
fn wait_for_a_lock() {
    let lock = std::sync::Mutex::new(());
    std::thread::scope(|scope| {
        for _ in 0..10 {
            let held = lock.lock().unwrap();
            let waiter = scope.spawn(|| drop(lock.lock().unwrap()));
            std::thread::sleep(Duration::from_millis(20));
            drop(held);
            waiter.join().unwrap();
        }
    });
}

/// Many threads that wake up now and then, and this one, which works.
fn many_threads() {
    for _ in 0..THREADS {
        let napping = || loop {
            std::thread::sleep(Duration::from_secs(1));
        };
        // Small stacks: there are many of them.
        let thread = std::thread::Builder::new().stack_size(64 << 10);
        thread.spawn(napping).unwrap();
    }
    std::hint::black_box(an_expensive_function(u64::MAX));
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
            "wait" => wait_for_a_lock(),
            "threads" => many_threads(),
            _ => system_calls(),
        }
    }
}

/// A child, ended when dropped.
struct Running(Child);

impl Running {
    fn start(what: &str) -> Self {
        Self::of(&std::env::current_exe().unwrap(), what)
    }

    fn of(program: &Path, what: &str) -> Self {
        let child = Command::new(program)
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
fn look(child: &Running, look: ProbeMode, enough: impl Fn(&Taken) -> bool) -> Option<Taken> {
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
fn every_system_call_is_counted() {
    let child = Running::start("call");
    let seen = |taken: &Taken| taken.calls.contains_key(&libc::SYS_getuid);
    let Some(taken) = look(&child, ProbeMode::Calls, seen) else {
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
    let taken = look(&child, ProbeMode::Plain, |taken| !taken.counts.is_empty());
    let taken = taken.expect("procfs is always allowed");
    assert!(taken.counts.contains_key("voluntary switches"), "{taken:?}");
    assert_eq!(taken.samples, 0);
}

#[test]
fn a_process_that_has_ended_leaves_its_samples() {
    let child = Running::start("work");
    let taken = look(&child, ProbeMode::Stacks, |taken| taken.samples > 5);
    drop(child);
    if let Some(taken) = taken {
        let folded = Namer::default().folded(&taken);
        assert_eq!(folded.values().sum::<u64>(), taken.samples);
    }
}

#[test]
fn a_process_that_ends_meanwhile_ends_nothing_else() {
    let mut child = Running::start("work");
    let cpus: Vec<usize> = (0..std::thread::available_parallelism().unwrap().get()).collect();
    for kind in [
        ProbeMode::Plain,
        ProbeMode::Stacks,
        ProbeMode::Calls,
        ProbeMode::Waits,
    ] {
        let Ok(probe) = Probe::open(child.0.id(), true, &cpus, kind) else {
            continue;
        };
        let from = now();
        probe.measure(from, from + 60_000_000_000);
        std::thread::sleep(Duration::from_millis(100));
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        let taken = probe.finish();
        assert!(
            now() - from < 60_000_000_000,
            "{kind:?}: did not end at once"
        );
        let weight: u64 = Namer::default().folded(&taken).values().sum();
        assert!(
            kind == ProbeMode::Waits || weight == taken.samples,
            "{kind:?}: {weight}"
        );
        child = Running::start("work");
    }
}

#[test]
fn code_without_symbols_has_the_name_of_its_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let stripped = folder.join("prony-anatomy-stripped");
    let strip = Command::new("strip")
        .arg("-o")
        .args([&stripped, &std::env::current_exe().unwrap()])
        .status();
    match strip {
        Ok(status) => assert!(status.success(), "strip: {status}"),
        Err(error) => {
            println!("skipped: strip: {error}");
            return;
        }
    }
    let child = Running::of(&stripped, "work");
    let Some(taken) = look(&child, ProbeMode::Stacks, |taken| taken.samples > 50) else {
        return;
    };
    let folded = Namer::default().folded(&taken);
    let innermost = |stack: &&String| stack.ends_with("[prony-anatomy-stripped]");
    let found: u64 = folded
        .keys()
        .filter(innermost)
        .map(|stack| folded[stack])
        .sum();
    assert!(2 * found > taken.samples, "{found} of {folded:#?}");
}

/// Functions by their names.
#[cfg(feature = "symbols")]
mod named {
    use super::*;

    #[test]
    fn the_function_that_works_is_found_by_its_name() {
        let child = Running::start("work");
        let Some(taken) = look(&child, ProbeMode::Stacks, |taken| taken.samples > 50) else {
            return;
        };
        let folded = Namer::default().folded(&taken);
        assert_eq!(folded.values().sum::<u64>(), taken.samples);
        let in_it = |stack: &&String| stack.contains("an_expensive_function");
        let found: u64 = folded.keys().filter(in_it).map(|stack| folded[stack]).sum();
        assert!(2 * found > taken.samples, "{found} of {folded:#?}");
    }

    #[test]
    fn threads_wait_where_they_left_their_cpu() {
        let child = Running::start("wait");
        let time = |taken: &Taken, call: &str| -> u64 {
            let folded = Namer::default().folded(taken);
            let of_call = folded.iter().filter(|(stack, _)| stack.contains(call));
            of_call.map(|(_, ns)| ns).sum()
        };
        // A wait is known when it has begun within the look, or just before.
        let enough = |taken: &Taken| taken.samples > 20 && time(taken, "futex") > 0;
        let Some(taken) = look(&child, ProbeMode::Waits, enough) else {
            return;
        };
        let (sleeps, locks) = (time(&taken, "nanosleep"), time(&taken, "futex"));
        // A waiter waits about as long as the holder of the lock sleeps; it begins later, and may be woken later.
        assert!(
            taken.lost > 0 || (sleeps / 4..=sleeps * 4).contains(&locks),
            "{sleeps} ns asleep and {locks} ns in wait of the lock"
        );
    }

    // Slow: looks for 0.2, 0.5 and 2 s, until 2,000 threads have been seen that wake up once a second.
    #[test]
    fn thousands_of_threads_are_one_server() {
        let child = Running::start("threads");
        let worked = |taken: &Taken| taken.counts.get("threads that worked").copied();
        // They wake up once a second.
        let many = |taken: &Taken| worked(taken).is_some_and(|n| n > 0.9 * THREADS as f64);
        look(&child, ProbeMode::Plain, many).expect("procfs is always allowed");
        let Some(taken) = look(&child, ProbeMode::Stacks, |taken| taken.samples > 50) else {
            return;
        };
        let folded = Namer::default().folded(&taken);
        let works = folded
            .keys()
            .any(|stack| stack.contains("an_expensive_function"));
        assert!(works, "{folded:#?}");
    }
}

#[cfg(not(feature = "symbols"))]
mod without_symbols {
    use super::*;

    #[test]
    fn functions_have_the_names_of_files_and_it_is_said_why() {
        let child = Running::start("work");
        let Some(taken) = look(&child, ProbeMode::Stacks, |taken| taken.samples > 50) else {
            return;
        };
        let namer = Namer::default();
        let folded = namer.folded(&taken);
        assert_eq!(folded.values().sum::<u64>(), taken.samples);
        let of_file = |stack: &String| stack.ends_with(']') && stack.contains("[probe-");
        assert!(folded.keys().any(of_file), "{folded:#?}");
        let why = namer.unnamed();
        assert!(
            why.len() == 1 && why[0].contains("without `symbols`"),
            "{why:?}"
        );
    }
}
