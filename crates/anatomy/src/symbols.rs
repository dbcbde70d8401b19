//! Names for addresses.

use crate::generated::{Generated, left_by};
use crate::jvm;
use crate::probe::{Stack, Taken};
use crate::symbolizer::{ABSENT, Symbolizer};
use crate::tidy::tidy;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::Path;

/// Mark of a frame of the kernel, as in perf's scripts.
const KERNEL: &str = "_[k]";
/// The innermost frame of a thread that waits although it could run: other threads have the CPU.
pub const RUNNABLE: &str = "[waits for a CPU]";

/// Knows the functions of programs and of the kernel. What it has read it keeps: one is enough for all measurements.
#[derive(Default)]
pub struct Namer {
    symbolizer: Symbolizer,
    kernel: RefCell<HashMap<u64, Vec<String>>>,
    unnamed: RefCell<BTreeSet<String>>,
}

impl std::fmt::Debug for Namer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Namer").finish_non_exhaustive()
    }
}

impl Namer {
    /// The stacks with names, folded: frames from the outermost to the innermost, separated by semicolons, kernel
    /// frames ending in `_[k]`; and how many samples each has, or nanoseconds of waits. The processes must still be there: of one that has ended
    /// only its number is known.
    #[must_use]
    pub fn folded(&self, taken: &Taken) -> BTreeMap<String, u64> {
        if let Some(why) = ABSENT.filter(|_| !taken.stacks.is_empty()) {
            self.unnamed.borrow_mut().insert(why.to_owned());
        }
        self.learn_kernel(taken);
        let kernel = self.kernel.borrow();
        let mut user: HashMap<u32, HashMap<u64, Vec<String>>> = HashMap::new();
        for pid in taken
            .stacks
            .keys()
            .map(|stack| stack.pid)
            .collect::<HashSet<_>>()
        {
            user.insert(pid, self.names_of_process(pid, taken));
        }
        let mut folded = BTreeMap::new();
        for (stack, samples) in &taken.stacks {
            let mut frames = Vec::new();
            let names = user.get(&stack.pid);
            for address in lookups(&stack.user).rev() {
                let known = names.and_then(|names| names.get(&address));
                frames.extend(known.into_iter().flatten().cloned());
            }
            for address in lookups(&stack.kernel).rev() {
                let known = kernel.get(&address).into_iter().flatten();
                frames.extend(known.map(|name| format!("{name}{KERNEL}")));
            }
            if stack.runnable {
                frames.push(RUNNABLE.to_owned());
            }
            if frames.is_empty() {
                frames.push("[unknown]".to_owned());
            }
            *folded.entry(frames.join(";")).or_default() += samples;
        }
        folded
    }

    /// Why functions have no names, in words; each reason once.
    pub fn unnamed(&self) -> Vec<String> {
        std::mem::take(&mut *self.unnamed.borrow_mut())
            .into_iter()
            .collect()
    }

    fn learn_kernel(&self, taken: &Taken) {
        let mut known = self.kernel.borrow_mut();
        let all = taken.stacks.keys().flat_map(|stack| lookups(&stack.kernel));
        let new: HashSet<u64> = all.filter(|address| !known.contains_key(address)).collect();
        let addresses: Vec<u64> = new.into_iter().collect();
        if addresses.is_empty() {
            return;
        }
        let found = self.symbolizer.kernel(&addresses);
        known.extend(named(&addresses, found, |_| "[kernel]".to_owned()));
    }

    fn names_of_process(&self, pid: u32, taken: &Taken) -> HashMap<u64, Vec<String>> {
        let ours = taken.stacks.keys().filter(|stack| stack.pid == pid);
        let all: HashSet<u64> = ours
            .flat_map(|stack: &Stack| lookups(&stack.user))
            .collect();
        let addresses: Vec<u64> = all.into_iter().collect();
        let written = jvm::ask(pid).unwrap_or_else(|why| {
            self.unnamed.borrow_mut().insert(why);
            None
        });
        let generated = Generated::of(pid);
        drop(written);
        let maps = Maps::of(pid);
        if pid == 0 {
            return HashMap::new();
        }
        let found = self.symbolizer.process(pid, &addresses);
        named(&addresses, found, |address| match generated.name(address) {
            Some(name) => name.to_owned(),
            None => maps.name(address),
        })
    }
}

/// Addresses with the names that were found, outermost first where functions are inlined; what has none gets one from
/// `unknown`.
fn named(
    addresses: &[u64],
    found: Vec<Vec<String>>,
    unknown: impl Fn(u64) -> String,
) -> HashMap<u64, Vec<String>> {
    let mut found = found.into_iter();
    let one = |&address: &u64| match found.next() {
        Some(names) if !names.is_empty() => (address, names),
        _ => (address, vec![unknown(address)]),
    };
    addresses.iter().map(one).collect()
}

/// Removes the maps of generated code that processes have left behind which have ended.
pub fn forget(ended: &[i32]) {
    for pid in ended.iter().filter_map(|pid| u32::try_from(*pid).ok()) {
        let _ = fs::remove_file(left_by(pid));
    }
}

/// Addresses to look up for a stack. All but the innermost are where a call returns to, which may already be in the
/// next function or line. One byte less is looked up for them.
fn lookups(stack: &[u64]) -> impl DoubleEndedIterator<Item = u64> + '_ {
    let place = |(depth, &address): (usize, &u64)| match depth {
        0 => address,
        _ => address.saturating_sub(1),
    };
    stack.iter().enumerate().map(place)
}

/// Mappings of a process, each with its range of addresses and its name: for code without symbols.
struct Maps(Vec<(u64, u64, String)>);

impl Maps {
    fn of(pid: u32) -> Self {
        let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        Self(text.lines().filter_map(mapping).collect())
    }

    /// `[server]` for code of a program without symbols, `[generated code]` for that of a JIT without a map.
    fn name(&self, address: u64) -> String {
        if self.0.is_empty() {
            return "[ended process]".to_owned();
        }
        let holds = |(from, to, _): &&(u64, u64, String)| (*from..*to).contains(&address);
        match self.0.iter().find(holds) {
            Some((.., path)) if path.starts_with('[') => path.clone(),
            Some((.., path)) if !path.is_empty() && !path.starts_with("//") => {
                let file = Path::new(path).file_name().unwrap_or_default();
                format!("[{}]", tidy(&file.to_string_lossy()))
            }
            Some(_) => "[generated code]".to_owned(),
            None => "[unknown]".to_owned(),
        }
    }
}

/// A line of `/proc/PID/maps`.
fn mapping(line: &str) -> Option<(u64, u64, String)> {
    let mut fields = line.splitn(6, ' ');
    let (from, to) = fields.next()?.split_once('-')?;
    let path = fields.nth(4).unwrap_or("").trim_start();
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(from)?, number(to)?, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_without_symbols_has_its_files_name() {
        let lines = [
            "1000-2000 r-xp 00000000 08:01 12                         /srv/my server",
            "3000-4000 rwxp 00000000 00:00 0 ",
            "5000-6000 r-xp 00000000 00:00 0                          [vdso]",
        ];
        let maps = Maps(lines.iter().filter_map(|line| mapping(line)).collect());
        assert_eq!(maps.name(0x1fff), "[my server]");
        assert_eq!(maps.name(0x3000), "[generated code]");
        assert_eq!(maps.name(0x5001), "[vdso]");
        assert_eq!(maps.name(0x2000), "[unknown]");
        assert_eq!(Maps(Vec::new()).name(0x2000), "[ended process]");
    }

    #[test]
    fn callers_are_looked_up_in_the_call() {
        assert_eq!(lookups(&[10, 20, 30]).collect::<Vec<_>>(), [10, 19, 29]);
    }
}
