//! Which part of a request a sample belongs to. Every sample belongs to exactly one, so parts add up.

use prony_record::anatomy::Dissection;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What marks a frame of the kernel.
const KERNEL: &str = "_[k]";
/// What the kernel calls the function that carries out a system call, by architecture and configuration.
const CALLS: [&str; 4] = ["__x64_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_"];
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
pub enum Part {
    /// The server's own function of this name, without what it calls.
    Function(String),
    /// The kernel, in this system call.
    Call(String),
    /// The kernel, otherwise.
    Kernel(String),
    /// All that are too small to be listed.
    Rest,
}

impl Part {
    /// Of a folded stack.
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
        let known = |frame: &str| {
            let mut all = OTHERS.iter();
            all.find_map(|(part, name)| frame.contains(part).then_some(*name))
        };
        let name = kernel.clone().find_map(known);
        Self::Kernel(name.unwrap_or("other work of the kernel").to_owned())
    }
}

/// A round's samples by part, as shares of all of them.
#[must_use]
pub fn parts(dissection: &Dissection) -> BTreeMap<Part, f64> {
    let mut parts = BTreeMap::new();
    for (stack, samples) in &dissection.stacks {
        *parts.entry(Part::of(stack)).or_default() += *samples as f64;
    }
    shares(parts, dissection.samples)
}

/// The share of samples in which each function was running or had called what was.
#[must_use]
pub fn with_callees(dissection: &Dissection) -> BTreeMap<String, f64> {
    let mut functions: BTreeMap<String, f64> = BTreeMap::new();
    for (stack, samples) in &dissection.stacks {
        for frame in stack.split(';').collect::<BTreeSet<_>>() {
            *functions.entry(frame.to_owned()).or_default() += *samples as f64;
        }
    }
    shares(functions, dissection.samples)
}

fn shares<K: Ord>(parts: BTreeMap<K, f64>, all: u64) -> BTreeMap<K, f64> {
    let all = (all as f64).max(1.0);
    parts.into_iter().map(|(key, n)| (key, n / all)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stack_has_one_part() {
        let function = |name: &str| Part::Function(name.to_owned());
        let kernel = |name: &str| Part::Kernel(name.to_owned());
        for (stack, part) in [
            ("main;serve;json_encode", function("json_encode")),
            (
                "main;serve;send;entry_SYSCALL_64_[k];do_syscall_64_[k];__x64_sys_sendto_[k];tcp_sendmsg_[k]",
                Part::Call("sendto".to_owned()),
            ),
            // An interrupt in the middle of a system call is paid by it.
            (
                "send;__x64_sys_sendto_[k];asm_sysvec_apic_timer_interrupt_[k]",
                Part::Call("sendto".to_owned()),
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
            assert_eq!(Part::of(stack), part, "{stack}");
        }
    }

    #[test]
    fn a_recursive_function_counts_once_with_its_callees() {
        let dissection = Dissection {
            samples: 4,
            stacks: BTreeMap::from([("a;b;a".to_owned(), 3), ("a;c".to_owned(), 1)]),
            ..Dissection::default()
        };
        let functions = with_callees(&dissection);
        assert_eq!((functions["a"], functions["b"]), (1.0, 0.75));
        assert_eq!(parts(&dissection)[&Part::Function("a".into())], 0.75);
    }
}
