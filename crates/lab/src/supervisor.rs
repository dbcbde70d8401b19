//! The supervisor: a small process between prony and a server, so that no server outlives prony,
//! whatever way prony ends.
//!
//! It starts the server in a process group of its own and then waits for two things: the end of
//! its standard input (prony closed it, or is gone, be it by SIGKILL) and the end of the server.
//! In both cases it ends everything that the server started. It is a *child subreaper*: what the
//! server starts stays below the supervisor, even after daemonising. Should the supervisor itself be killed, what is
//! left is found by a [mark](crate::leftovers).

use crate::control_group::Folders;
use crate::leftovers;
use crate::pidfd;
use crate::placement;
use crate::server_log::{LOOK, ServerLog};
use prony_record::Size;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// The longest wait for killed processes to be gone, who need a CPU for that. Only one that is stuck in
/// the kernel takes so long.
const KILL_LIMIT: Duration = Duration::from_secs(30);

/// Runs a server as its supervisor. The arguments, after the name of the supervisor's command, are
/// `CPUS GROUP PROGRAM ARGUMENT...`; `GROUP` are the folders of the server's control group as JSON, or `null`. The
/// environment is the server's.
///
/// It writes `pid N` to standard output when the server has started, or `failed REASON`, and `exit HOW` when it has
/// ended. The server's own output goes to the supervisor's standard error.
///
/// # Errors
/// When the arguments are not these, or the system refuses what it needs.
pub fn main(arguments: &[String]) -> io::Result<()> {
    let [cpus, group, program, rest @ ..] = arguments else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the supervisor is prony's own",
        ));
    };
    // SAFETY: plain system calls. A session of its own keeps a terminal's Ctrl-C away from the
    // server; the subreaper flag is described above.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
    }
    let cpus = placement::parse_cpus(cpus).map_err(io::Error::other)?;
    placement::bind(&cpus)?;
    let group: Option<Folders> = serde_json::from_str(group)?;
    let doors = group.as_ref().map_or(Ok(Vec::new()), Folders::doors)?;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).process_group(0);
    command.envs([leftovers::mark()]);
    // SAFETY: between fork and exec only async-signal-safe calls are made: prctl, write and dup2.
    unsafe {
        command.pre_exec(move || {
            // Should the supervisor itself be killed, the server at least goes with it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            doors
                .iter()
                .try_for_each(|mut door: &File| door.write_all(b"0"))?;
            if libc::dup2(2, 1) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            say(&format!("failed {error}"));
            return Ok(());
        }
    };
    let pid = child.id() as libc::pid_t;
    say(&format!("pid {pid}"));
    let ended = pidfd::open(pid)?;
    let mut log = ServerLog::of_stderr();
    let server_ended = loop {
        let look = log.as_ref().map(|_| LOOK);
        match wait_for(&[0, ended.as_raw_fd()], look)? {
            // A log that cannot be kept short is no reason to leave the server alone.
            0 => drop(log.as_mut().map(ServerLog::trim)),
            ready => break ready & 2 != 0,
        }
    };
    if !server_ended {
        signal_group(pid, libc::SIGTERM);
        resume_all();
        wait_for(&[ended.as_raw_fd()], Some(GRACE))?;
    }
    kill_all(pid);
    let status = child.wait()?;
    reap_all();
    let _ = log.map(ServerLog::close);
    let killed_for = group.as_ref().and_then(Folders::killed_for);
    if let Some(group) = group {
        group.remove();
    }
    say(&format!("exit {}", describe(status, killed_for)));
    Ok(())
}

fn say(line: &str) {
    // When prony is gone this has no reader, and nothing is to be done about it.
    let _ = writeln!(io::stdout(), "{line}");
}

/// Waits until one of `fds` is readable or at its end; bit i of the result tells that fds[i] is.
pub(crate) fn wait_for(fds: &[RawFd], limit: Option<Duration>) -> io::Result<u32> {
    let deadline = limit.map(|limit| Instant::now() + limit);
    let mut polls: Vec<libc::pollfd> = fds
        .iter()
        .map(|&fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    loop {
        let timeout = deadline.map_or(-1, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            left.as_millis().min(1 << 30) as libc::c_int
        });
        // SAFETY: the array is valid and its length is given.
        let n = unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout) };
        if n >= 0 {
            let ready = polls
                .iter()
                .enumerate()
                .filter(|(_, poll)| poll.revents != 0);
            return Ok(ready.fold(0, |bits, (i, _)| bits | 1 << i));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn signal_group(pid: libc::pid_t, signal: libc::c_int) {
    // SAFETY: a plain system call; the group was made by us and its leader has not been reaped
    // yet, so the number cannot belong to another process.
    unsafe { libc::kill(-pid, signal) };
}

/// Resumes everything below the supervisor that [is stopped](crate::paused): it could not obey a signal otherwise.
fn resume_all() {
    for pid in crate::tree::descendants(std::process::id() as libc::pid_t) {
        // SAFETY: a plain system call; a descendant of ours keeps its number until we reap it.
        unsafe { libc::kill(pid, libc::SIGCONT) };
    }
}

/// Kills the server's group and everything else below the supervisor, until nothing is left.
fn kill_all(pid: libc::pid_t) {
    signal_group(pid, libc::SIGKILL);
    let deadline = Instant::now() + KILL_LIMIT;
    // What has left the group is our child or grandchild; killing may bring up new ones.
    while Instant::now() < deadline {
        let below: Vec<libc::pid_t> = crate::tree::descendants(std::process::id() as libc::pid_t)
            .into_iter()
            .filter(|&other| other != pid && !crate::tree::is_zombie(other))
            .collect();
        if below.is_empty() {
            return;
        }
        for other in below {
            // SAFETY: a plain system call; a descendant of ours keeps its number until we reap it.
            unsafe { libc::kill(other, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn reap_all() {
    // SAFETY: a plain system call; a null pointer asks for no status.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

/// How the server ended, in words that follow its name. `killed_for` is the limit of memory because of which the kernel has
/// killed a process of it.
fn describe(status: ExitStatus, killed_for: Option<Size>) -> String {
    let ended = match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended in an unknown way".into(),
    };
    match killed_for {
        None => ended,
        Some(limit) if status.signal() == Some(libc::SIGKILL) => {
            format!("was killed: it needed more than {limit}")
        }
        Some(limit) => {
            format!("{ended}, after one of its processes was killed: it needed more than {limit}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_server_in_words() {
        let killed = ExitStatus::from_raw(libc::SIGKILL);
        let limit = Some(Size(256 << 20));
        assert_eq!(describe(killed, None), "ended by signal 9");
        assert_eq!(
            describe(killed, limit),
            "was killed: it needed more than 256 MiB"
        );
        let failed = ExitStatus::from_raw(1 << 8);
        assert_eq!(describe(failed, None), "ended with status 1");
        assert_eq!(
            describe(failed, limit),
            "ended with status 1, after one of its processes was killed: it needed more than 256 MiB"
        );
    }
}
