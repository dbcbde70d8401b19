//! Names of code that a program has generated while it ran, from the map that it writes for perf:
//! `/tmp/perf-PID.map`, a line `START SIZE NAME` for each function, in hexadecimal digits.

use crate::tidy;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// More of a map is not read: a program may write anything there.
const MOST_BYTES: u64 = 256 << 20;

/// Where a process writes its map, as it is called from here; a process in a container has a file system, and a number, of
/// its own.
pub(crate) fn map_of(pid: u32) -> PathBuf {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let inner = numbers.and_then(|numbers| numbers.split_ascii_whitespace().next_back());
    match inner {
        Some(inner) => PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{inner}.map")),
        None => left_by(pid),
    }
}

/// Where a process that has ended has left its map.
pub(crate) fn left_by(pid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{pid}.map"))
}

/// The functions of one process, by where they begin, with where they end.
#[derive(Debug, Default)]
pub(crate) struct Generated(BTreeMap<u64, (u64, String)>);

impl Generated {
    /// Functions that a process has written to its map so far; none without a map.
    pub(crate) fn of(pid: u32) -> Self {
        // What is no plain file could keep a reader waiting.
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(map_of(pid));
        let file = file.and_then(|file| Ok((file.metadata()?.is_file(), file)));
        let mut bytes = Vec::new();
        if let Ok((true, file)) = file {
            // What could be read up to an error is as good as it is.
            let _ = file.take(MOST_BYTES).read_to_end(&mut bytes);
        }
        Self::from(&String::from_utf8_lossy(&bytes))
    }

    /// Lines that are not whole, such as the last one while it is being written, are left out.
    fn from(map: &str) -> Self {
        let mut functions = BTreeMap::new();
        for (from, to, name) in map.lines().filter_map(entry) {
            // Code is generated where other code was before: what is written later holds.
            let before: Vec<u64> = functions
                .range(..to)
                .rev()
                .take_while(|(_, (end, _))| *end > from)
                .map(|(begin, _)| *begin)
                .collect();
            for begin in before {
                functions.remove(&begin);
            }
            functions.insert(from, (to, tidy::generated(name)));
        }
        Self(functions)
    }

    /// The function at an address.
    pub(crate) fn name(&self, address: u64) -> Option<&str> {
        let (_, (to, name)) = self.0.range(..=address).next_back()?;
        (address < *to).then_some(name)
    }
}

/// `7f00 20 name`, or as a Java virtual machine writes it, `0x7f00 0x20 name`.
fn entry(line: &str) -> Option<(u64, u64, &str)> {
    let mut fields = line.splitn(3, ' ');
    let mut number = || {
        let field = fields.next()?;
        u64::from_str_radix(field.strip_prefix("0x").unwrap_or(field), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = fields.next().filter(|name| !name.is_empty())?;
    Some((start, start.checked_add(size)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_by_address_and_the_latest_holds() {
        let map = "1000 100 JS:*handle /srv/a.js:1:2\n\
                   0x2000 0x40 long T.heavyWork(long)\n\
                   3000 20 old\n3010 20 new\n\
                   nonsense\nffffffffffffffff 2 beyond\n4000 10 last\n50";
        let all = Generated::from(map);
        for (address, name) in [
            (0x0fff, None),
            (0x1000, Some("handle")),
            (0x10ff, Some("handle")),
            (0x1100, None),
            (0x203f, Some("T.heavyWork")),
            (0x3000, None),
            (0x3010, Some("new")),
            (0x302f, Some("new")),
            (0x4000, Some("last")),
        ] {
            assert_eq!(all.name(address), name, "{address:x}");
        }
    }
}
