//! Honest servers pass, whatever the seed.

use std::time::Duration;

use crate::support::inspect;
use prony_lab::contract::{Contract, Depth, Inspection};

fn passes(contract: Contract, addr: std::net::SocketAddr) {
    contract
        .probe(addr, Duration::from_secs(60))
        .expect("a ready server");
    for seed in 0..20 {
        // Thoroughly once: that takes a second, and draws little from the seed.
        let depths = [Depth::Quick, Depth::Full, Depth::Thorough];
        for depth in &depths[..if seed == 0 { 3 } else { 2 }] {
            let depth = *depth;
            if let Err(violation) = inspect(contract, addr, &Inspection::new(depth, seed)) {
                panic!("seed {seed}, {depth:?}: {violation}");
            }
        }
    }
}

// Slow: 41 verifications: 20 seeds, quickly and fully, and once thoroughly.
#[test]
fn an_honest_echo_passes() {
    passes(
        Contract::TcpEcho,
        crate::support::echo(|_, _, bytes| bytes.to_vec()),
    );
}

// Slow: 41 verifications: 20 seeds, quickly and fully, and once thoroughly.
#[test]
fn an_echo_that_writes_in_small_pieces_passes() {
    let addr = crate::support::serve(|mut stream, _| {
        use std::io::{Read, Write};
        let mut buf = [0; 24];
        while let Ok(n @ 1..) = stream.read(&mut buf) {
            if stream.write_all(&buf[..n]).is_err() {
                return;
            }
        }
    });
    passes(Contract::TcpEcho, addr);
}

// Slow: 41 verifications: 20 seeds, quickly and fully, and once thoroughly.
#[test]
fn an_honest_http_server_passes() {
    passes(
        Contract::HttpEcho,
        crate::support::http(|_, request| crate::support::right(&request.target)),
    );
}

// Slow: 41 verifications: 20 seeds, quickly and fully, and once thoroughly.
#[test]
fn chunks_other_case_and_parameters_pass() {
    let addr = crate::support::http(|_, request| {
        let body = format!("{} at {}", request.target, crate::support::now());
        if request.http_1_0 {
            return format!(
                "HTTP/1.0 200 OK\r\ncontent-type:Text/Plain;charset=utf-8\r\n\r\n{body}"
            )
            .into_bytes();
        }
        let (one, two) = body.split_at(1);
        let (n, m) = (one.len(), two.len());
        format!(
            "HTTP/1.1 200 \r\ncontent-type: text/plain; charset=UTF-8\r\nServer: x\r\n\
             transfer-encoding: Chunked\r\n\r\n{n:x}\r\n{one}\r\n{m:X};x=y\r\n{two}\r\n0\r\n\r\n"
        )
        .into_bytes()
    });
    passes(Contract::HttpEcho, addr);
}
