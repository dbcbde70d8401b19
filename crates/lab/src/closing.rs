//! Does a server close a connection after a response, when the request asks for it (RFC 9112, 9.6)?

use prony_engine::protocol::HttpExchange;
use prony_engine::protocol::tls::TlsStream;
use prony_engine::{Dialogue, Plan, Target};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// After a response, a connection on which nothing happens for so long is one that the server keeps open.
const SILENCE: Duration = Duration::from_secs(2);
/// The longest response that is read to its end.
const LONGEST: usize = 64 << 20;

/// Asks once more, as the load did without keep-alive, and sees whether the connection stays open. False where the load's
/// requests did not ask for its end, and where that cannot be seen.
pub(crate) fn is_ignored(plan: &Plan) -> bool {
    let Dialogue::Http { exchanges, .. } = &plan.dialogue else {
        return false;
    };
    let asking = exchanges.iter().find(|it| it.asks_to_close());
    let asked = asking.map(|exchange| ask(plan, exchange));
    // A server that does not answer any more has failed in the load, or will be told of after it.
    asked.is_some_and(|stays| stays.unwrap_or(false))
}

fn ask(plan: &Plan, exchange: &HttpExchange) -> io::Result<bool> {
    let request = exchange.request();
    match (&plan.target, &plan.tls) {
        _ if plan.proxy.is_some() => Ok(false),
        (Target::Tcp(address), None) => {
            let stream = TcpStream::connect_timeout(address, SILENCE)?;
            stream.set_read_timeout(Some(SILENCE))?;
            stays(stream, request)
        }
        (Target::Tcp(address), Some(tls)) => {
            let stream = TlsStream::connect(*address, tls, SILENCE).map_err(io::Error::other)?;
            stays(stream, request)
        }
        (Target::Unix(path), _) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(SILENCE))?;
            stays(stream, request)
        }
    }
}

/// Does the connection stay open after the response?
fn stays(mut stream: impl Read + Write, request: &[u8]) -> io::Result<bool> {
    stream.write_all(request)?;
    let mut buffer = vec![0; 64 << 10];
    let mut came = 0;
    while came < LONGEST {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(n) => came += n,
            Err(error) => {
                let silent = matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                );
                // A reset is an end too.
                return Ok(silent && came > 0);
            }
        }
    }
    Ok(false)
}
