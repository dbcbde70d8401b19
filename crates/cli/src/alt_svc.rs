//! `--protocol auto`: the newest protocol that a server says it speaks, HTTP/3 by `Alt-Svc` (RFC 7838) and HTTP/2 by ALPN.

use crate::args::Command;
use crate::args::connect::{Connect, ConnectTo};
use crate::args::protocol::{ProtocolArgs, ProtocolChoice};
use crate::args::tls::TlsArgs;
use crate::http2::tried_http3;
use crate::remedy::words;
use crate::target::{self, TargetUrl, is_url};
use miette::{Result, miette};
use prony_engine::Target;
use prony_engine::protocol::tls::{TlsOptions, TlsStream, probe};
use prony_record::inert;
use prony_record::load::Protocol;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a server is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest head of a response that is read, in bytes.
const HEAD: usize = 64 << 10;

/// Asks each server whose protocol is to be found, and puts what was found in the place of `auto`. A server that offers
/// HTTP/3 elsewhere is connected to there.
///
/// # Errors
/// When a server cannot be asked.
pub fn settle(command: &mut Command) -> Result<()> {
    let one = std::slice::from_ref;
    let (protocol, connect, tls, sides) = match command {
        Command::Load(it) => {
            let it = &mut **it;
            (&mut it.protocol, &mut it.connect, &it.tls, one(&it.url))
        }
        Command::Duel(it) => {
            let it = &mut **it;
            (&mut it.protocol, &mut it.connect, &it.tls, &it.sides[..])
        }
        Command::Capacity(it) => {
            let it = &mut **it;
            (&mut it.protocol, &mut it.connect, &it.tls, one(&it.server))
        }
        Command::Why(it) => {
            let it = &mut **it;
            (&mut it.protocol, &mut it.connect, &it.tls, one(&it.server))
        }
        Command::Verify(it) => {
            let mut protocol = it.protocol();
            all(&mut protocol, &mut it.connect, &it.tls, one(&it.url))?;
            it.protocol = it.protocol.and(protocol.at(0));
            return Ok(());
        }
        _ => return Ok(()),
    };
    all(protocol, connect, tls, sides)
}

fn all(
    protocol: &mut ProtocolArgs,
    connect: &mut Connect,
    tls: &TlsArgs,
    sides: &[String],
) -> Result<()> {
    if !protocol.protocol.contains(&ProtocolChoice::Auto) {
        return Ok(());
    }
    // Of what is only tried nothing is sent early.
    let tls = &TlsArgs {
        early_data: false,
        ..tls.clone()
    };
    let one_for_all = protocol.protocol.len() == 1;
    let number = if one_for_all {
        sides.len()
    } else {
        protocol.protocol.len()
    };
    let mut settled = Vec::new();
    for place in 0..number {
        let choice = protocol.at(place).unwrap_or(ProtocolChoice::Auto);
        settled.push(match (choice, sides.get(place)) {
            (ProtocolChoice::Auto, Some(side)) => found(side, connect, tls)?,
            (choice, _) => choice,
        });
    }
    protocol.protocol = settled;
    Ok(())
}

fn found(side: &str, connect: &mut Connect, tls: &TlsArgs) -> Result<ProtocolChoice> {
    if connect.proxy.is_some() || connect.proxy_protocol.is_some() {
        return Err(usage!(
            help = "name the protocol: --protocol h2",
            "--protocol auto asks the server directly, without --proxy and --proxy-protocol"
        ));
    }
    if !is_url(side) {
        return Err(usage!(
            help = "give the URL of a server that runs, or name the protocol: --protocol h3",
            "--protocol auto asks a server that runs, and {side} is to be started"
        ));
    }
    let address = target::parse(side)?;
    if address.ws {
        return Ok(ProtocolChoice::WebSocket);
    }
    if address.unix.is_some() || !address.tls {
        let over = Protocol::of(false, address.h2c);
        return Ok(ProtocolChoice::Http(over));
    }
    if address.grpc {
        return Ok(ProtocolChoice::Http(Protocol::H2));
    }
    let options = TlsOptions {
        alpn: vec!["h2".into(), "http/1.1".into()],
        ..tls.options(&address.host, Protocol::Tls)?
    };
    let target = address.resolve(connect, PATIENCE)?;
    let agreed = probe(&target, &options, PATIENCE)
        .map_err(|error| miette!(help = words(error.remedy()), "{side}: {error}"))?;
    let second = match agreed.alpn.as_deref() {
        Some("h2") => Protocol::H2,
        _ => Protocol::Tls,
    };
    let offered = offered(&address, &target, tls)?;
    for authority in &offered {
        let rule = rule(&address, authority);
        let mut there = connect.clone();
        there.connect_to.splice(..0, rule.clone());
        let secured = tls.options(&address.host, Protocol::H3)?;
        let reached = address.resolve_udp(&there, |target| {
            tried_http3(side, target, &secured, PATIENCE)
        });
        match reached {
            Ok(target) => {
                eprintln!("{side}: HTTP/3 at {target}, by the server's Alt-Svc");
                *connect = there;
                return Ok(ProtocolChoice::Http(Protocol::H3));
            }
            Err(error) => {
                let place = inert::line(authority);
                eprintln!("{side}: HTTP/3, which the server offers at {place:?}, fails: {error}");
            }
        }
    }
    let why = match offered.is_empty() {
        true => ", the server offers no HTTP/3 (Alt-Svc)",
        false => "",
    };
    let name = match second {
        Protocol::H2 => "HTTP/2",
        _ => "HTTP/1.1",
    };
    eprintln!("{side}: {name}{why}");
    Ok(ProtocolChoice::Http(second))
}

/// Sends connections of a URL to where a server offers HTTP/3; none if that is where they go anyway.
fn rule(address: &TargetUrl, authority: &str) -> Option<ConnectTo> {
    let (host, port) = authority.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let elsewhere = !host.is_empty() && !host.eq_ignore_ascii_case(&address.host);
    (elsewhere || port != address.port).then(|| ConnectTo {
        from: (Some(address.host.clone()), Some(address.port)),
        to: (elsewhere.then(|| host.to_owned()), Some(port)),
        text: format!("{}:{}:{host}:{port}", address.host, address.port),
    })
}

/// Where the server offers HTTP/3 in its response to a request over HTTP/1.1, each as host and port; without HTTP/1.1 it is
/// not asked.
fn offered(address: &TargetUrl, target: &Target, tls: &TlsArgs) -> Result<Vec<String>> {
    let Target::Tcp(target) = *target else {
        return Ok(Vec::new());
    };
    let options = tls.options(&address.host, Protocol::Tls)?;
    let fields = head(address, target, &options).unwrap_or_default();
    let fields = String::from_utf8_lossy(&fields).into_owned();
    let values = fields.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("alt-svc").then_some(value)
    });
    Ok(values.flat_map(services).collect())
}

/// The head of the response to the URL's path.
fn head(address: &TargetUrl, target: SocketAddr, options: &TlsOptions) -> Option<Vec<u8>> {
    let stream = TlsStream::connect(target, options, PATIENCE).ok()?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        address.path, address.authority
    );
    (&stream).write_all(request.as_bytes()).ok()?;
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let n = (&stream).read(&mut buffer).ok()?;
        head.extend_from_slice(&buffer[..n]);
        let end = head.windows(4).position(|it| it == b"\r\n\r\n");
        if let Some(end) = end {
            head.truncate(end);
            return Some(head);
        }
        if n == 0 || head.len() > HEAD {
            return None;
        }
    }
}

/// Where a value of `Alt-Svc` offers HTTP/3: `h3=":8443"; ma=86400, h2=":443"`. Drafts of HTTP/3, such as `h3-29`, are not.
fn services(value: &str) -> Vec<String> {
    let mut quoted = false;
    let services = value.split(|c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    let services = services.filter_map(|service| {
        let (protocol, authority) = service.split(';').next()?.split_once('=')?;
        let authority = authority.trim().trim_matches('"');
        (protocol.trim() == "h3").then(|| authority.to_owned())
    });
    services.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_http3_are_found_among_others() {
        let found = services(r#"h3-29=":443"; ma=5, h3=":8443"; ma=2592000,h2="alt.example:443""#);
        assert_eq!(found, [":8443"]);
        let found = services(r#"h3="a.example:1";x="y,h3=:2", h3="[::1]:3""#);
        assert_eq!(found, ["a.example:1", "[::1]:3"]);
        for none in ["clear", "", "h3", "h2=\":443\""] {
            assert!(services(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn only_another_place_needs_a_rule() {
        let address = target::parse("https://a.example:8443/").unwrap();
        assert_eq!(rule(&address, ":8443"), None);
        assert_eq!(rule(&address, "A.example:8443"), None);
        assert_eq!(rule(&address, "nonsense"), None);
        let port = rule(&address, ":9").unwrap();
        assert_eq!(port.to, (None, Some(9)));
        let host = rule(&address, "[::1]:9").unwrap();
        assert_eq!(host.to, (Some("::1".into()), Some(9)));
    }
}
