//! Lua scripts as wrk runs them: one Lua state for each thread, and one more, which takes no part
//! in the load, for what comes before and after it.

mod address;
#[cfg(fuzzing)]
mod bench;
mod results;
mod state;
mod thread;

#[cfg(fuzzing)]
pub(super) use bench::Bench;
pub(super) use state::Functions;
pub(super) use thread::StopFlag;

use super::args::Args;
use super::failure::ScriptFailure;
use super::report::WrkResults;
use crate::shared::load::words;
use mlua::Lua;
use state::state;
use std::net::SocketAddr;
use std::path::Path;
use thread::Thread;

/// A script, ready to run, or the plain requests of a command line without one.
pub(super) struct Script {
    /// Where `setup` and `done` run.
    lua: Lua,
    threads: Vec<Thread>,
}

impl Script {
    /// Makes all states, loads the script into each, finds the server, and calls `setup` and
    /// `init` for each thread.
    ///
    /// # Errors
    /// When the script has one, or the server cannot be found or reached.
    pub(super) fn load(args: &Args) -> Result<Self, ScriptFailure> {
        let source = match &args.script {
            None => None,
            Some(path) => Some(std::fs::read(path).map_err(|error| unreadable(path, &error))?),
        };
        let source = source.as_deref();
        let main = state(args, source)?;
        let lua = main.lua;
        reach(&lua, args)?;
        let mut threads = Vec::new();
        for _ in 0..args.threads {
            let thread = Thread::new(state(args, source)?)?;
            thread.set_up(&lua)?;
            thread.init(&args.rest)?;
            threads.push(thread);
        }
        main.functions.flush();
        Ok(Self { lua, threads })
    }

    /// Address of the server that thread `worker` loads.
    pub(super) fn address(&self, worker: u32) -> SocketAddr {
        self.threads[worker as usize].handle.address()
    }

    /// Functions that thread `worker` calls.
    pub(super) fn functions(&self, worker: u32) -> &Functions {
        &self.threads[worker as usize].functions
    }

    /// True once thread `worker` has stopped itself.
    pub(super) fn stop_flag(&self, worker: u32) -> StopFlag {
        self.threads[worker as usize].handle.stop_flag()
    }

    /// Passes on what the script has printed: the original prints everything through one stream.
    pub(super) fn flush(&self) {
        for thread in &self.threads {
            thread.functions.flush();
        }
    }

    /// Calls `done`, if there is one.
    ///
    /// # Errors
    /// Those of the script.
    pub(super) fn done(&self, outcome: &WrkResults) -> Result<(), ScriptFailure> {
        let done = results::done(&self.lua, outcome).map_err(ScriptFailure::from);
        self.flush();
        done
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> ScriptFailure {
    ScriptFailure(format!("cannot open {}: {}", path.display(), words(error)))
}

/// Looks the server up and keeps the addresses that accept a connection.
fn reach(lua: &Lua, args: &Args) -> Result<(), ScriptFailure> {
    let wrk: mlua::Table = lua.globals().get("wrk")?;
    let resolve: mlua::Function = wrk.get("resolve")?;
    let (host, service) = (args.url.host.as_str(), args.url.service());
    resolve.call::<()>((host, service))?;
    let reached: mlua::Table = wrk.get("addrs")?;
    if reached.raw_len() > 0 {
        return Ok(());
    }
    let why = address::last_refusal(lua).unwrap_or_default();
    Err(ScriptFailure::unreached(host, service, &why))
}
