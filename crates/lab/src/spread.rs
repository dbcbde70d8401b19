//! How a server's connections are spread over its event loops, as seen from outside.
//!
//! The kernel lists a process's open files, the connections of a port with the numbers of their
//! sockets, and what each epoll instance watches. An epoll instance is an event loop; a process
//! without one (blocking threads) counts as a single place.

use crate::sockets::{Sockets, inode};
use crate::tree::Root;
use std::collections::HashSet;
use std::fs;

/// The connections of each event loop of a server's processes that serve `port`, the most
/// first; empty when none can be seen.
pub(crate) fn connections(root: Root, port: u16) -> Vec<u32> {
    let sockets = Sockets::of(root.pid, port);
    let mut loops: Vec<Loop> = root
        .processes()
        .into_iter()
        .flat_map(|pid| loops(pid, &sockets))
        .collect();
    // An idle loop that waits for connections beside others that do the same is a worker without
    // any; one that only hands connections on to others is none.
    let workers_listen = loops
        .iter()
        .any(|each| each.listens && each.connections > 0);
    loops.retain(|each| each.connections > 0 || (each.listens && workers_listen));
    let mut counts: Vec<u32> = loops.into_iter().map(|each| each.connections).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

#[derive(Default)]
struct Loop {
    connections: u32,
    listens: bool,
}

fn loops(pid: libc::pid_t, sockets: &Sockets) -> Vec<Loop> {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let (mut connected, mut listening, mut polls) = (HashSet::new(), HashSet::new(), Vec::new());
    for file in files.flatten() {
        let (Some(fd), Ok(target)) = (
            file.file_name()
                .to_str()
                .and_then(|fd| fd.parse::<u32>().ok()),
            fs::read_link(file.path()),
        ) else {
            continue;
        };
        let target = target.to_string_lossy();
        match inode(&target) {
            Some(inode) if sockets.connected.contains(&inode) => drop(connected.insert(fd)),
            Some(inode) if sockets.listening.contains(&inode) => drop(listening.insert(fd)),
            None if target.contains("[eventpoll]") => polls.push(fd),
            _ => {}
        }
    }
    let polled: Vec<Loop> = polls
        .into_iter()
        .map(|fd| {
            let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}"));
            let watched = watched(&info.unwrap_or_default());
            let count = |set: &HashSet<u32>| watched.intersection(set).count();
            Loop {
                connections: count(&connected) as u32,
                listens: count(&listening) > 0,
            }
        })
        .collect();
    if polled.iter().any(|each| each.connections > 0) || connected.is_empty() {
        return polled;
    }
    vec![Loop {
        connections: connected.len() as u32,
        listens: !listening.is_empty(),
    }]
}

/// The descriptors that an epoll instance watches, from its `fdinfo`: lines like
/// `tfd:       12 events:       19 data: …`.
fn watched(fdinfo: &str) -> HashSet<u32> {
    fdinfo
        .lines()
        .filter_map(|line| {
            let rest = line.strip_prefix("tfd:")?;
            rest.split_ascii_whitespace().next()?.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn descriptors_that_are_watched() {
        let text = "pos:\t0\nflags:\t02000002\n\
            tfd:        5 events:       19 data:                5  pos:0 ino:1 sdev:8\n\
            tfd:       12 events: 80000019 data:               12  pos:0 ino:2 sdev:8\n";
        assert_eq!(watched(text), HashSet::from([5, 12]));
        assert_eq!(watched(""), HashSet::new());
    }

    #[test]
    fn connections_of_each_event_loop_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let pairs: Vec<(TcpStream, TcpStream)> = (0..5)
            .map(|_| {
                let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
                (client, listener.accept().unwrap().0)
            })
            .collect();
        let us = std::process::id() as libc::pid_t;
        let counts = || -> Vec<u32> {
            let seen = loops(us, &Sockets::of(us, port));
            seen.iter().map(|each| each.connections).collect()
        };
        assert!(counts().contains(&5), "without a loop: {:?}", counts());
        let watch = |fds: &[&TcpStream]| {
            use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
            // SAFETY: plain system calls; the event is valid, and the new descriptor is ours.
            unsafe {
                let poll = OwnedFd::from_raw_fd(libc::epoll_create1(0));
                for stream in fds {
                    let mut event = libc::epoll_event { events: 1, u64: 0 };
                    let fd = stream.as_raw_fd();
                    libc::epoll_ctl(poll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event);
                }
                poll
            }
        };
        let _one = watch(&[&pairs[0].1]);
        let _two = watch(&[&pairs[1].1, &pairs[2].1, &pairs[3].1, &pairs[4].1]);
        let seen = counts();
        assert!(seen.contains(&1) && seen.contains(&4), "{seen:?}");
    }
}
