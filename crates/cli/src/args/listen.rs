//! Where a server listens.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// ADDR:PORT, `:PORT` or PORT on this machine alone, or ADDR with the usual port. An address may have brackets; one of
/// version 6 with a port needs them.
pub fn listen(text: &str, usual: u16) -> Result<SocketAddr, String> {
    let wrong = || format!("{text:?} is not ADDR:PORT, such as 127.0.0.1:8000 or :8000");
    let port = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    let ip = |text: &str| match text {
        "" | "localhost" => Ok(IpAddr::from(Ipv4Addr::LOCALHOST)),
        text => text.parse::<IpAddr>().map_err(|_| wrong()),
    };
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        let port = match rest.strip_prefix(':') {
            Some(number) => port(number)?,
            None if rest.is_empty() => usual,
            None => return Err(wrong()),
        };
        return Ok(SocketAddr::new(ip(address)?, port));
    }
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(ip("")?, port));
    }
    if let (Ok(address), false) = (ip(text), text.is_empty()) {
        return Ok(SocketAddr::new(address, usual));
    }
    let (address, number) = text.rsplit_once(':').ok_or_else(wrong)?;
    Ok(SocketAddr::new(ip(address)?, port(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports() {
        for (text, expected) in [
            (":8000", "127.0.0.1:8000"),
            ("8000", "127.0.0.1:8000"),
            ("localhost:8000", "127.0.0.1:8000"),
            ("0.0.0.0", "0.0.0.0:7766"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[127.0.0.1]:80", "127.0.0.1:80"),
            ("::1", "[::1]:7766"),
            ("[::1]:80", "[::1]:80"),
            ("[::1]", "[::1]:7766"),
        ] {
            let at = listen(text, 7766).map(|at| at.to_string());
            assert_eq!(at.as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "", ":", "x", "1.2.3:80", "1.2.3.4:", ":70000", "[::1]80", "host:80",
        ] {
            assert!(listen(text, 0).is_err(), "{text}");
        }
    }
}
