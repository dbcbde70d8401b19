//! Assignment of samples to the parts of a request. Every sample belongs to exactly one part, so parts add up.

use prony_record::anatomy::Dissection;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Suffix of the name of each frame of the kernel.
const KERNEL: &str = "_[k]";
/// Prefixes that the kernel gives to functions that carry out a system call, by architecture and configuration.
const CALLS: [&str; 4] = ["__x64_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_"];
/// Functions that call those with [`CALLS`] in their names. Some of the latter do nothing but call another function, to
/// which the compiler makes them jump. They are in no stack, and the other function comes next.
const DISPATCH: [&str; 4] = [
    "do_syscall_64",
    "x64_sys_call",
    "invoke_syscall",
    "el0_svc_common",
];
/// How the names of such other functions begin, as `do_writev` and `__sys_sendto` do; the longer beginnings first.
const INNER: [&str; 4] = ["do_sys_", "__sys_", "ksys_", "do_"];
/// Functions of the kernel that are neither a system call nor called by one, by what their names contain; the first that is
/// found counts.
const OTHERS: [(&str, &str); 8] = [
    ("exc_page_fault", "page faults"),
    ("do_mem_abort", "page faults"),
    ("sysvec_", "interrupts"),
    ("common_interrupt", "interrupts"),
    ("el0_irq", "interrupts"),
    ("ret_from_fork", "new threads"),
    ("syscall", "entering and leaving system calls"),
    ("SYSCALL", "entering and leaving system calls"),
];

/// A part of a request's CPU time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "name")]
pub enum CostPart {
    /// The server's own function of this name, without what it calls.
    Function(String),
    /// The kernel, in this system call.
    Call(String),
    /// The kernel, otherwise.
    Kernel(String),
    /// CPU time that samples do not show.
    Unsampled,
    /// Functions of this server that the one it is compared with does not run, each too small to be listed.
    OnlyIn(String),
    /// All others that are too small to be listed.
    Rest,
}

impl CostPart {
    /// Returns the part that a folded stack belongs to.
    #[must_use]
    pub fn of(stack: &str) -> Self {
        let innermost = stack.rsplit(';').next().unwrap_or(stack);
        if !innermost.ends_with(KERNEL) {
            return Self::Function(innermost.to_owned());
        }
        let kernel = stack
            .split(';')
            .filter_map(|frame| frame.strip_suffix(KERNEL));
        for frame in kernel.clone() {
            if let Some(call) = CALLS.iter().find_map(|prefix| frame.strip_prefix(prefix)) {
                // `newfstatat`, `sendto`: as the call is named elsewhere.
                return Self::Call(call.to_owned());
            }
        }
        if let Some(call) = jumped_to(kernel.clone()) {
            return Self::Call(call.to_owned());
        }
        let known = |frame: &str| {
            let mut all = OTHERS.iter();
            all.find_map(|(part, name)| frame.contains(part).then_some(*name))
        };
        let name = kernel.clone().find_map(known);
        Self::Kernel(name.unwrap_or("other work of the kernel").to_owned())
    }
}

/// The system call of a stack without the function that carries it out, by the function that this one jumps to.
fn jumped_to<'s>(kernel: impl Iterator<Item = &'s str>) -> Option<&'s str> {
    let mut below = kernel.skip_while(|frame| !DISPATCH.contains(frame));
    let frame = below.find(|frame| !DISPATCH.contains(frame))?;
    // `do_syscall_trace_enter` and the like are no call.
    let inner = INNER.iter().find_map(|begin| frame.strip_prefix(begin));
    match inner.filter(|name| !name.contains("syscall"))? {
        "openat2" => Some("openat"),
        "mmap_pgoff" => Some("mmap"),
        name => Some(name),
    }
}

/// A round's CPU time per request by part, in nanoseconds: every sample stands for its period. What is left of the CPU time
/// while stacks were sampled is [`CostPart::Unsampled`], so that all parts together are all of it. That one may be negative by chance.
/// Empty without samples.
#[must_use]
pub fn parts(dissection: &Dissection) -> BTreeMap<CostPart, f64> {
    let mut parts: BTreeMap<CostPart, f64> = BTreeMap::new();
    let (Some(of_one), Some(whole)) = (of_one(dissection), dissection.sampled.per_request()) else {
        return parts;
    };
    for (stack, samples) in &dissection.stacks {
        *parts.entry(CostPart::of(stack)).or_default() += *samples as f64 * of_one;
    }
    let rest = whole - parts.values().sum::<f64>();
    parts.insert(CostPart::Unsampled, rest);
    parts
}

/// The CPU time per request that a sample stands for, in nanoseconds; none without samples.
fn of_one(dissection: &Dissection) -> Option<f64> {
    let requests = dissection.sampled.requests;
    (requests > 0.0 && dissection.samples > 0).then(|| dissection.period_ns as f64 / requests)
}

/// How long all threads together waited for each part, in nanoseconds per request.
#[must_use]
pub fn waits(dissection: &Dissection) -> BTreeMap<CostPart, f64> {
    let requests = dissection.waited.requests.max(1.0);
    let mut parts = BTreeMap::new();
    for (stack, ns) in &dissection.waits {
        *parts.entry(CostPart::of(stack)).or_default() += *ns as f64 / requests;
    }
    parts
}

/// Calls in which a server waits for requests, or for answers from elsewhere.
const IDLE: [&str; 17] = [
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "io_uring_enter",
    "accept",
    "accept4",
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "wait4",
    "rt_sigtimedwait",
];

impl CostPart {
    /// Whether a wait in this part is for something from outside. The less work a server has, the longer it waits for
    /// more.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::Call(name) if IDLE.contains(&name.as_str()))
    }
}

/// CPU time per request of each function and what it had called, in nanoseconds.
#[must_use]
pub fn with_callees(dissection: &Dissection) -> BTreeMap<String, f64> {
    let of_one = of_one(dissection).unwrap_or(0.0);
    let mut functions: BTreeMap<String, f64> = BTreeMap::new();
    for (stack, samples) in &dissection.stacks {
        for frame in stack.split(';').collect::<BTreeSet<_>>() {
            *functions.entry(frame.to_owned()).or_default() += *samples as f64 * of_one;
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::anatomy::Spent;

    #[test]
    fn every_stack_has_one_part() {
        let function = |name: &str| CostPart::Function(name.to_owned());
        let kernel = |name: &str| CostPart::Kernel(name.to_owned());
        for (stack, part) in [
            ("main;serve;json_encode", function("json_encode")),
            (
                "main;serve;send;entry_SYSCALL_64_[k];do_syscall_64_[k];__x64_sys_sendto_[k];tcp_sendmsg_[k]",
                CostPart::Call("sendto".to_owned()),
            ),
            // `__x64_sys_writev` has jumped to `do_writev`.
            (
                "writev;entry_SYSCALL_64_[k];do_syscall_64_[k];do_writev_[k];vfs_writev_[k];tcp_sendmsg_[k]",
                CostPart::Call("writev".to_owned()),
            ),
            (
                "send;do_syscall_64_[k];x64_sys_call_[k];__sys_sendto_[k];do_softirq_[k]",
                CostPart::Call("sendto".to_owned()),
            ),
            (
                "open;do_syscall_64_[k];do_sys_openat2_[k];do_filp_open_[k]",
                CostPart::Call("openat".to_owned()),
            ),
            (
                "send;do_syscall_64_[k];exit_to_user_mode_loop_[k];do_something_[k]",
                kernel("entering and leaving system calls"),
            ),
            // An interrupt in the middle of a system call is paid by it.
            (
                "send;__x64_sys_sendto_[k];asm_sysvec_apic_timer_interrupt_[k]",
                CostPart::Call("sendto".to_owned()),
            ),
            (
                "main;asm_exc_page_fault_[k];handle_mm_fault_[k]",
                kernel("page faults"),
            ),
            ("main;asm_sysvec_reschedule_ipi_[k]", kernel("interrupts")),
            (
                "send;syscall_return_via_sysret_[k]",
                kernel("entering and leaving system calls"),
            ),
            ("do_something_[k]", kernel("other work of the kernel")),
        ] {
            assert_eq!(CostPart::of(stack), part, "{stack}");
        }
    }

    #[test]
    fn waits_are_by_call_and_per_request() {
        let dissection = Dissection {
            waited: Spent {
                requests: 10.0,
                cpu_ns: 1,
            },
            waits: BTreeMap::from([
                ("main;lock;__x64_sys_futex_[k];schedule_[k]".to_owned(), 400),
                (
                    "main;other;__x64_sys_futex_[k];schedule_[k]".to_owned(),
                    100,
                ),
                ("main;serve;[waits for a CPU]".to_owned(), 30),
                (
                    "main;__x64_sys_epoll_wait_[k];schedule_[k]".to_owned(),
                    9_000,
                ),
            ]),
            ..Dissection::default()
        };
        let waits = waits(&dissection);
        let call = |name: &str| CostPart::Call(name.to_owned());
        assert_eq!(waits[&call("futex")], 50.0);
        assert_eq!(waits[&CostPart::Function("[waits for a CPU]".into())], 3.0);
        assert!(call("epoll_wait").is_idle() && !call("futex").is_idle());
    }

    #[test]
    fn a_recursive_function_counts_once_with_its_callees() {
        let dissection = Dissection {
            samples: 4,
            period_ns: 500,
            sampled: Spent {
                requests: 10.0,
                cpu_ns: 2_600,
            },
            stacks: BTreeMap::from([("a;b;a".to_owned(), 3), ("a;c".to_owned(), 1)]),
            ..Dissection::default()
        };
        let functions = with_callees(&dissection);
        assert_eq!((functions["a"], functions["b"]), (200.0, 150.0));
        let parts = parts(&dissection);
        let function = |name: &str| CostPart::Function(name.into());
        assert_eq!(
            (parts[&function("a")], parts[&function("c")]),
            (150.0, 50.0)
        );
        // 2,600 ns of CPU time, of which samples show 2,000.
        assert_eq!(parts[&CostPart::Unsampled], 60.0);
    }

    #[test]
    fn without_samples_there_are_no_parts() {
        let dissection = Dissection {
            sampled: Spent {
                requests: 10.0,
                cpu_ns: 2_600,
            },
            ..Dissection::default()
        };
        assert!(parts(&dissection).is_empty() && with_callees(&dissection).is_empty());
    }
}
