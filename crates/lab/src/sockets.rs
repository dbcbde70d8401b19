//! The sockets of a port, and whose they are, as `/proc` shows them.

use crate::tree::Root;
use std::collections::HashSet;
use std::fs;
use std::net::{SocketAddr, UdpSocket};

/// `TCP_ESTABLISHED` and `TCP_LISTEN` as `/proc/net/tcp` writes them.
const ESTABLISHED: &str = "01";
const LISTEN: &str = "0A";

/// The sockets of a port, by their inodes.
pub(crate) struct Sockets {
    pub listening: HashSet<u64>,
    pub connected: HashSet<u64>,
}

impl Sockets {
    /// In the network that this process is in.
    pub(crate) fn of(pid: libc::pid_t, port: u16) -> Self {
        let mut this = Self {
            listening: HashSet::new(),
            connected: HashSet::new(),
        };
        for table in ["tcp", "tcp6"] {
            let table = fs::read_to_string(format!("/proc/{pid}/net/{table}"));
            for line in table.unwrap_or_default().lines() {
                let words: Vec<&str> = line.split_ascii_whitespace().collect();
                let [_, local, _, state, _, _, _, _, _, inode, ..] = words[..] else {
                    continue;
                };
                let ours = local
                    .rsplit_once(':')
                    .is_some_and(|(_, hex)| u16::from_str_radix(hex, 16) == Ok(port));
                let Ok(inode) = inode.parse() else { continue };
                match state {
                    ESTABLISHED if ours => drop(this.connected.insert(inode)),
                    LISTEN if ours => drop(this.listening.insert(inode)),
                    _ => {}
                }
            }
        }
        this
    }
}

/// The socket that a link in `/proc/PID/fd` leads to.
pub(crate) fn inode(link: &str) -> Option<u64> {
    let number = link.strip_prefix("socket:[")?.strip_suffix(']')?;
    number.parse().ok()
}

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Number of the process.
    pub pid: libc::pid_t,
    /// Name that the kernel gives the process: that of its program, at most 15 bytes.
    pub name: String,
}

impl std::fmt::Display for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.pid, self.name)
    }
}

/// Does any of these processes listen on this port? None: their open files may not be read.
#[must_use]
pub fn listens(root: Root, port: u16) -> Option<bool> {
    let sockets = Sockets::of(root.pid, port);
    let known: Vec<bool> = root
        .processes()
        .into_iter()
        .filter_map(|pid| holds(pid, &sockets.listening))
        .collect();
    (!known.is_empty()).then(|| known.contains(&true))
}

/// The server behind an address, if it is one process of this machine and what that has started. None: several processes
/// listen there, or this one comes from it, so that the two cannot be told apart.
#[must_use]
pub fn server_at(address: SocketAddr) -> Option<Listener> {
    // Whoever can bind it has it.
    UdpSocket::bind((address.ip(), 0)).ok()?;
    let own = std::process::id() as libc::pid_t;
    match listeners(address.port()).as_slice() {
        [one] if !crate::tree::descendants(one.pid).contains(&own) && one.pid != own => {
            Some(one.clone())
        }
        _ => None,
    }
}

/// The processes of this machine that listen on this port, as far as their open files may be read; one that has inherited
/// the socket from another of them is left out, and so is the first process of the machine, which may hold sockets for
/// services that it starts.
#[must_use]
pub fn listeners(port: u16) -> Vec<Listener> {
    let sockets = Sockets::of(std::process::id() as libc::pid_t, port);
    if sockets.listening.is_empty() {
        return Vec::new();
    }
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<libc::pid_t>().ok();
    let holding: Vec<libc::pid_t> = all
        .filter_map(pid)
        .filter(|&pid| pid != 1 && holds(pid, &sockets.listening) == Some(true))
        .collect();
    let inherited: HashSet<libc::pid_t> = holding
        .iter()
        .flat_map(|&pid| crate::tree::descendants(pid))
        .collect();
    let first = holding.into_iter().filter(|pid| !inherited.contains(pid));
    let named = |pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = prony_record::inert::line(name.trim()).into_owned();
        Listener { pid, name }
    };
    first.map(named).collect()
}

/// Has the process one of these sockets? None: its open files may not be read.
fn holds(pid: libc::pid_t, sockets: &HashSet<u64>) -> Option<bool> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let links = files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok());
    let mut inodes = links.filter_map(|link| inode(&link.to_string_lossy()));
    Some(inodes.any(|inode| sockets.contains(&inode)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_listens_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let us = std::process::id() as libc::pid_t;
        assert_eq!(listens(Root::itself(us), port), Some(true));
        assert!(listeners(port).iter().any(|one| one.pid == us));
        drop(listener);
        assert_eq!(listens(Root::itself(us), port), Some(false));
    }

    #[test]
    fn this_process_is_no_server_of_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(server_at(listener.local_addr().unwrap()), None);
        // An address of documentation, RFC 5737, which no machine has.
        assert_eq!(server_at(([192, 0, 2, 1], 80).into()), None);
    }

    #[test]
    fn only_sockets_have_inodes() {
        assert_eq!(inode("socket:[12]"), Some(12));
        assert_eq!(inode("pipe:[12]"), None);
    }
}
