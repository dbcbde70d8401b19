//! Whether this machine reaches the server that others load.

use prony_engine::{Plan, Target};
use std::net::TcpStream;
use std::time::Duration;

/// How long a connection to a server may take that other machines load.
const REACH: Duration = Duration::from_secs(2);

/// Connects to the server once, unless its address means another place on each machine.
///
/// # Errors
/// Why not, in words.
pub fn reached(plan: &Plan) -> Result<(), String> {
    let Target::Tcp(address) = &plan.target else {
        return Err("a unix socket is reached on its own machine only".into());
    };
    if address.ip().is_loopback() {
        // Whatever answers there is not what they load.
        return Err(format!("{address} is another place on each machine"));
    }
    match TcpStream::connect_timeout(address, plan.load.timeout.0.min(REACH)) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("this machine cannot reach {address}: {error}")),
    }
}
