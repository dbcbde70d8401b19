//! By which address one machine is reached by others.

use crate::link::Link;
use crate::message::{Call, Reply};
use prony_lab::interfaces::interfaces;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(2);

/// The first address of a machine that the others can connect to: as its host's table says, or else tried. `others` are
/// machines with agents; none of them: this machine.
///
/// # Errors
/// When none can be connected to, with what was tried.
pub fn reached(host: &Link, others: &[Arc<Link>]) -> Result<IpAddr, String> {
    if let Some(address) = host.host().address {
        return Ok(address);
    }
    if !others.is_empty() && others.iter().all(|other| other.name() == host.name()) {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let Reply::Addresses(addresses) = host.call(Call::Addresses)? else {
        return Err(format!("host {} tells no addresses", host.name()));
    };
    let mut tried = Vec::new();
    for ip in addresses {
        match reaches(host, ip, others) {
            Ok(()) => return Ok(ip),
            Err(why) => tried.push(format!("{ip} ({why})")),
        }
    }
    Err(format!(
        "host {} cannot be reached by those that are to load it; tried {}; name its address in its table: `address = \
         \"…\"`, and look for a firewall",
        host.name(),
        match tried.as_slice() {
            [] => "none: it has loopback addresses only".to_owned(),
            tried => tried.join(", "),
        }
    ))
}

/// Can all of them connect to an address of this machine?
fn reaches(host: &Link, ip: IpAddr, others: &[Arc<Link>]) -> Result<(), String> {
    let Reply::Address(address) = host.call(Call::Serve(ip))? else {
        return Err("no echo server".into());
    };
    if others.is_empty() {
        return TcpStream::connect_timeout(&address, PATIENCE)
            .map(drop)
            .map_err(|error| error.to_string());
    }
    for other in others {
        connect(other, address)?;
    }
    Ok(())
}

/// Connects from one machine to another.
pub(crate) fn connect(from: &Link, to: SocketAddr) -> Result<(), String> {
    let call = Call::Connect {
        host: to.ip().to_string(),
        port: to.port(),
        udp: false,
        timeout: PATIENCE,
    };
    from.call(call).map(drop)
}

/// The addresses of this machine's interfaces that other machines may reach: without loopback and link-local ones, IPv4
/// first.
///
/// # Errors
/// When the system does not say.
pub(crate) fn addresses() -> io::Result<Vec<IpAddr>> {
    let mut all: Vec<IpAddr> = interfaces()?.into_iter().map(|it| it.ip).collect();
    all.retain(|ip| match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
    });
    all.sort_by_key(IpAddr::is_ipv6);
    all.dedup();
    Ok(all)
}
