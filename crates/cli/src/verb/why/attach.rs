//! A server that runs already, and its process.

use crate::args::Why;
use crate::target::{self, is_url};
use miette::{Result, miette};
use prony_engine::Target;
use prony_lab::side::{Side, What};
use prony_lab::sockets::{Listener, listeners, listens};
use prony_lab::tree::{Attached, Root};

/// A URL needs a process, and only a URL has one that the user has to name. Said before the server is asked for anything.
pub fn fits(args: &Why) -> Result<()> {
    match (is_url(&args.server), args.pid) {
        (true, None) => Err(unnamed(&args.server)),
        (false, Some(_)) => Err(usage!(
            help = "leave --pid out, or give the URL of the server that runs already",
            "--pid is for the URL of a server that runs already: prony starts {:?} itself, and knows its processes",
            args.server
        )),
        (true, Some(pid)) if Attached::to(pid).is_none() => Err(gone(pid)),
        _ => Ok(()),
    }
}

fn gone(pid: i32) -> miette::Report {
    miette!(
        help = "`ss -ltnp` lists the processes that listen, by port",
        "there is no process {pid}"
    )
}

/// Error for a server whose process is not known; lists the processes that listen on the URL's port.
fn unnamed(url: &str) -> miette::Report {
    let port = target::parse(url).map_or(0, |address| address.port);
    let help = match listeners(port).as_slice() {
        [] => {
            "--pid PID says which process of this machine it is; `ss -ltnp` lists those that listen"
                .to_owned()
        }
        [one] => format!("process {one} listens on port {port}: --pid {}", one.pid),
        several => format!(
            "these processes listen on port {port}; say which with --pid: {}",
            named(several)
        ),
    };
    miette!(
        help = help,
        "{url} runs already, and its process is not known; without it only its answers can be seen"
    )
}

fn named(all: &[Listener]) -> String {
    let names: Vec<String> = all.iter().map(Listener::to_string).collect();
    names.join(", ")
}

/// Gives a side that is loaded by its URL its process. One that does not listen where the URL leads is most likely
/// another program's, which is said.
pub fn to_process(side: &mut Side, pid: Option<i32>) -> Result<()> {
    let (What::Running(running), Some(pid)) = (&mut side.what, pid) else {
        return Ok(());
    };
    let process = Attached::to(pid).ok_or_else(|| gone(pid))?;
    running.process = Some(process);
    let Target::Tcp(address) = running.target else {
        return Ok(());
    };
    let port = address.port();
    match listens(Root::itself(pid), port) {
        Some(true) => {}
        Some(false) => {
            let others = match listeners(port).as_slice() {
                [] => String::new(),
                others => format!("; {} does", named(others)),
            };
            eprintln!(
                "process {pid} does not listen on port {port}, nor does any below it{others}: is it the server?"
            );
        }
        None => eprintln!(
            "the open files of process {pid} may not be read: whether it listens on port {port} is not known (root may)"
        ),
    }
    Ok(())
}
