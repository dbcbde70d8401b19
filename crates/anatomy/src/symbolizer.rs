//! Names of functions out of programs and the kernel, read by blazesym.

use crate::tidy::tidy;
use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized};
use blazesym::{MaybeDefault, Pid, symbolize};
use std::num::NonZeroU32;

/// Why nothing is read.
pub(crate) const ABSENT: Option<&str> = None;

/// Keeps what it has read.
pub(crate) struct Symbolizer(symbolize::Symbolizer);

impl Default for Symbolizer {
    fn default() -> Self {
        Self(
            symbolize::Symbolizer::builder()
                .enable_code_info(false)
                .enable_inlined_fns(true)
                .build(),
        )
    }
}

impl Symbolizer {
    /// The names of each address in the kernel, outermost first where functions are inlined; none where it has none.
    pub(crate) fn kernel(&self, addresses: &[u64]) -> Vec<Vec<String>> {
        let source = Source::Kernel(Kernel {
            vmlinux: MaybeDefault::None,
            ..Kernel::default()
        });
        self.names(&source, addresses)
    }

    /// Names of functions at these addresses of a process.
    pub(crate) fn process(&self, pid: u32, addresses: &[u64]) -> Vec<Vec<String>> {
        let Some(number) = NonZeroU32::new(pid) else {
            return Vec::new();
        };
        let mut process = Process::new(Pid::Pid(number));
        // Read elsewhere: blazesym takes no name from a map of which one line is not whole.
        process.perf_map = false;
        self.names(&Source::Process(process), addresses)
    }

    fn names(&self, source: &Source<'_>, addresses: &[u64]) -> Vec<Vec<String>> {
        let found = self.0.symbolize(source, Input::AbsAddr(addresses));
        let names = |found| match found {
            Symbolized::Sym(sym) => std::iter::once(sym.name.as_ref())
                .chain(sym.inlined.iter().map(|inlined| inlined.name.as_ref()))
                .map(tidy)
                .collect(),
            Symbolized::Unknown(_) => Vec::new(),
        };
        found.unwrap_or_default().into_iter().map(names).collect()
    }
}
