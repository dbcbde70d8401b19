//! Replaces `symbolizer` in builds without blazesym, which cannot name functions by their addresses. Files, maps that JITs write
//! and system calls still have theirs.

/// Why nothing is read, and how to have it read.
pub(crate) const ABSENT: Option<&str> = Some(
    "functions have no names: this prony was built without `symbols`; build it with `cargo install --path crates/cli \
     --features symbols`",
);

/// Reads nothing.
#[derive(Default)]
pub(crate) struct Symbolizer;

impl Symbolizer {
    /// No names.
    pub(crate) fn kernel(&self, _addresses: &[u64]) -> Vec<Vec<String>> {
        Vec::new()
    }

    /// No names.
    pub(crate) fn process(&self, _pid: u32, _addresses: &[u64]) -> Vec<Vec<String>> {
        Vec::new()
    }
}
