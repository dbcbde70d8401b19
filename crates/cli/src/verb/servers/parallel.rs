//! Several tasks at a time, with a display of how many are done.

use crate::live::Live;
use prony_lab::placement::allowed_cpus;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, PoisonError};

/// The most tasks at a time, unless the user says otherwise: each may take hundreds of megabytes.
const AT_MOST: usize = 8;

/// How many tasks run at a time.
pub fn jobs(asked: Option<NonZeroUsize>) -> usize {
    asked.map_or_else(|| allowed_cpus().len().min(AT_MOST), NonZeroUsize::get)
}

/// Something to do.
#[derive(Debug, Clone)]
pub struct Task<'a, T> {
    /// Subject of the task, which `work` gets.
    pub of: T,
    /// Name of the task in the display.
    pub name: String,
    /// Resource that only one task may use at a time; `None` if the task needs none.
    pub uses: Option<&'a str>,
}

/// State of all tasks.
struct TaskQueue<R> {
    /// Indices of tasks that have not begun, in their order.
    waiting: Vec<usize>,
    /// Indices of tasks that are running.
    running: Vec<usize>,
    results: Vec<Option<R>>,
}

/// Carries out `work` for each task, up to `jobs` of them at a time, which begin in their order, except that those that use
/// the same thing run one after the other. Gives the results in the order of the tasks; `None` for those that had not begun
/// when `stopped` became true.
pub fn run<T: Sync, R: Send>(
    live: &Live,
    tasks: &[Task<'_, T>],
    jobs: usize,
    stopped: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(&T) -> R + Sync),
) -> Vec<Option<R>> {
    let queue = Mutex::new(TaskQueue {
        waiting: (0..tasks.len()).collect(),
        running: Vec::new(),
        results: tasks.iter().map(|_| None).collect(),
    });
    let changed = Condvar::new();
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let show = |queue: &TaskQueue<R>| {
        let begun = tasks.len() - queue.waiting.len();
        let parts = ((begun - queue.running.len()) as u64, tasks.len() as u64);
        let names: Vec<&str> = queue.running.iter().map(|&at| &*tasks[at].name).collect();
        let doing = names.join(", ");
        live.change(move |frame| (frame.parts, frame.doing) = (Some(parts), doing));
    };
    // The next task, when there may be one more.
    let next = || {
        let mut queue = lock();
        loop {
            if stopped() || queue.waiting.is_empty() {
                return None;
            }
            if let Some(place) = queue.first_free(tasks) {
                let at = queue.waiting.remove(place);
                queue.running.push(at);
                show(&queue);
                return Some(at);
            }
            queue = changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    };
    // Ends when there is nothing more to begin. Others may wait for what a task uses, so one that panics gives it back too.
    let worker = || {
        while let Some(at) = next() {
            let task = &tasks[at];
            live.line(|| task.name.clone());
            let result = catch_unwind(AssertUnwindSafe(|| work(&task.of)));
            let mut queue = lock();
            queue.running.retain(|&other| other != at);
            let panic = result.map(|result| queue.results[at] = Some(result)).err();
            show(&queue);
            drop(queue);
            changed.notify_all();
            if let Some(panic) = panic {
                resume_unwind(panic);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, tasks.len().max(1)) {
            scope.spawn(worker);
        }
    });
    queue
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .results
}

impl<R> TaskQueue<R> {
    /// The place among those that wait of the first whose use is not taken.
    fn first_free<T>(&self, tasks: &[Task<'_, T>]) -> Option<usize> {
        let taken = |uses| self.running.iter().any(|&at| tasks[at].uses == Some(uses));
        let mut waiting = self.waiting.iter();
        waiting.position(|&at| tasks[at].uses.is_none_or(|uses| !taken(uses)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::DisplayArgs;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    fn tasks<'a>(uses: &[Option<&'a str>]) -> Vec<Task<'a, usize>> {
        let each = uses.iter().enumerate();
        each.map(|(of, &uses)| Task {
            of,
            name: String::new(),
            uses,
        })
        .collect()
    }

    fn quiet() -> Live {
        let shown = DisplayArgs {
            quiet: true,
            ..DisplayArgs::default()
        };
        Live::begin(String::new(), &shown, &[])
    }

    #[test]
    fn results_have_the_order_of_the_tasks() {
        let tasks = tasks(&[None; 40]);
        for jobs in [1, 3, 100] {
            let results = run(&quiet(), &tasks, jobs, &|| false, &|&of| of * 2);
            let expected: Vec<_> = (0..40).map(|of| Some(of * 2)).collect();
            assert_eq!(results, expected);
        }
        assert!(run(&quiet(), &tasks[..0], 2, &|| false, &|_| ()).is_empty());
    }

    #[test]
    fn as_many_run_at_once_as_asked_for() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let all_are_there = std::sync::Barrier::new(3);
        run(&quiet(), &tasks(&[None; 12]), 3, &|| false, &|_| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Three have to be here at once for any of them to go on.
            all_are_there.wait();
            now.fetch_sub(1, Ordering::SeqCst);
        });
        assert_eq!(most.into_inner(), 3);
    }

    #[test]
    fn what_uses_the_same_thing_runs_alone_and_in_order() {
        let uses = [Some("a"), Some("a"), None, Some("b"), Some("a"), Some("b")];
        let (busy, order) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        run(&quiet(), &tasks(&uses), 4, &|| false, &|&of| {
            if uses[of] == Some("a") {
                assert!(!busy.swap(true, Ordering::SeqCst));
                std::thread::yield_now();
                order.lock().unwrap().push(of);
                busy.store(false, Ordering::SeqCst);
            }
        });
        assert_eq!(order.into_inner().unwrap(), [0, 1, 4]);
    }

    #[test]
    fn nothing_begins_once_it_is_stopped() {
        let stopped = AtomicBool::new(false);
        let results = run(
            &quiet(),
            &tasks(&[None; 9]),
            1,
            &|| stopped.load(Ordering::SeqCst),
            &|&of| {
                stopped.store(of == 3, Ordering::SeqCst);
                of
            },
        );
        assert_eq!(results[..4], [Some(0), Some(1), Some(2), Some(3)]);
        assert!(results[4..].iter().all(Option::is_none));
    }

    #[test]
    #[should_panic(expected = "scoped thread panicked")]
    fn a_panic_ends_what_waits_for_it() {
        run(&quiet(), &tasks(&[Some("a"); 3]), 2, &|| false, &|&of| {
            assert_ne!(of, 0, "made to fail");
        });
    }
}
