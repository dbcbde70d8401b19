//! Running the prony, and the real wrk.

use prony_compat::{Console, wrk};
use prony_engine::Control;
use prony_reference::{Contract, ceiling};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

/// Output of a command, and its exit status.
#[derive(Debug)]
pub struct Ran {
    pub out: String,
    pub err: String,
    pub status: i32,
}

/// Runs the command in this process.
pub fn prony(args: &[&str]) -> Ran {
    guarded(args, &|_| {})
}

/// The same with a guard.
pub fn guarded(args: &[&str], guard: &dyn Fn(&Arc<Control>)) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console {
        out: &mut out,
        err: &mut err,
        guard,
    };
    let status = wrk::main(args.iter().map(Into::into).collect(), &mut console);
    Ran {
        out: String::from_utf8(out).unwrap(),
        err: String::from_utf8(err).unwrap(),
        status: status.into(),
    }
}

/// Runs the real wrk, in the campaign `compat`; `None` elsewhere.
pub fn real(args: &[&str]) -> Option<Ran> {
    std::env::var_os("PRONY_TEST_ALL")?;
    let ran = Command::new("wrk").args(args).output().expect("wrk");
    Some(Ran {
        out: String::from_utf8(ran.stdout).unwrap(),
        err: String::from_utf8(ran.stderr).unwrap(),
        status: ran.status.code().unwrap_or(-1),
    })
}

/// A script of these tests.
pub fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/wrk/scripts")
        .join(name);
    path.to_str().unwrap().to_owned()
}

/// prony's own server, which answers every request right.
pub fn reference() -> SocketAddr {
    let options = ceiling::Options {
        contract: Contract::HttpEcho,
        ..ceiling::Options::new(([127, 0, 0, 1], 0).into())
    };
    let server = ceiling::Server::bind(&options).unwrap();
    let address = server.local_addr();
    thread::spawn(move || server.run());
    address
}
