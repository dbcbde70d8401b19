//! A relay that reaches a server as a load does: through a proxy, or with the header of a balancer.

use super::{CONNECT, Door, SILENCE, copy};
use crate::side::Running;
use prony_engine::Target;
use prony_engine::protocol::proxy::{Dialed, Proxy, dial};
use prony_record::load::ProxyProtocol;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;

/// Plain TCP on one side, and on the other what a load sends before its first bytes. Whatever tries or verifies a server
/// over TCP does so through this. It lasts until it is dropped.
#[derive(Debug)]
pub struct Passage(Door);

impl Passage {
    /// To the server behind `address`.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn to(
        address: SocketAddr,
        proxy: Option<&Proxy>,
        version: Option<ProxyProtocol>,
    ) -> io::Result<Self> {
        let proxy = proxy.cloned();
        Door::open(move |client| {
            let _ = client.set_nodelay(true);
            match dial(address, (proxy.as_ref(), version), CONNECT) {
                Ok(dialed) => serve(client, &dialed),
                Err(_) => drop(client.shutdown(Shutdown::Both)),
            }
        })
        .map(Self)
    }

    /// To a server that runs; None: connections go to it as they are.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn of(running: &Running) -> io::Result<Option<Self>> {
        let proxy = running.proxy.as_deref();
        match running.target {
            Target::Tcp(address) if proxy.is_some() || running.proxy_protocol.is_some() => {
                Self::to(address, proxy, running.proxy_protocol).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn target(&self) -> Target {
        Target::Tcp(self.0.addr)
    }
}

fn serve(client: &TcpStream, server: &Dialed) {
    // A verification gives up before.
    let _ = server.patience(SILENCE);
    let mut to = client;
    if to.write_all(&server.first).is_err() {
        return;
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            copy(client, server);
            let _ = server.finish();
        });
        let whole = copy(server, client);
        let _ = client.shutdown(match whole {
            true => Shutdown::Write,
            false => Shutdown::Both,
        });
    });
}
