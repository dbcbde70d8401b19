use super::*;
use crate::target::Target;
use std::net::UdpSocket;

#[derive(Default)]
struct Heard {
    opened: bool,
    /// Length of each datagram, and all bytes.
    runs: Vec<usize>,
    marks: Vec<u8>,
    bytes: Vec<u8>,
    error: Option<io::Error>,
}

impl<O> Handler<O> for Heard {
    fn opened(&mut self, _: &mut O, _: Slot, result: io::Result<()>, _: clock::Nanos) {
        result.unwrap();
        self.opened = true;
    }

    fn received(&mut self, _: &mut O, _: Slot, mut bytes: &[u8], _: clock::Nanos) {
        while let Some(run) = datagrams::next(&mut bytes) {
            self.runs
                .extend(run.bytes.chunks(run.segment).map(<[u8]>::len));
            self.marks.push(run.mark);
            self.bytes.extend(run.bytes);
        }
        assert!(bytes.is_empty());
    }

    fn ended(&mut self, _: &mut O, _: Slot, error: Option<io::Error>, _: clock::Nanos) {
        self.error = error;
    }
}

fn put(segment: usize, bytes: &[u8], out: &mut Vec<u8>) {
    let mark = 0;
    Run {
        segment,
        mark,
        bytes,
    }
    .put(out);
}

fn until(udp: &mut Udp, heard: &mut Heard, holds: impl Fn(&Heard) -> bool) {
    let patience = clock::now() + 10 * clock::SECOND;
    while !holds(heard) {
        assert!(clock::now() < patience);
        udp.poll(Wait::Tick, heard).unwrap();
    }
}

#[test]
fn datagrams_keep_their_ends_both_ways() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = Target::Tcp(server.local_addr().unwrap());
    for (came, segments) in [(Came::Read, true), (Came::Stamped, false)] {
        let mut udp = Udp::new(&Endpoints::to(&target), 1, None, came).unwrap();
        udp.out.segments = segments;
        let mut heard = Heard::default();
        udp.out().open(0).unwrap();
        until(&mut udp, &mut heard, |heard| heard.opened);
        let run: Vec<u8> = (0..3_500_u32).map(|n| n as u8).collect();
        let mut out = Vec::new();
        put(1_000, &run, &mut out);
        put(3, b"end", &mut out);
        assert_eq!(datagrams::payload(&out), 3_503);
        udp.out().send(0, &out).unwrap();
        let mut buffer = [0; 2_000];
        let mut lengths = Vec::new();
        for _ in 0..5 {
            let (n, from) = server.recv_from(&mut buffer).unwrap();
            lengths.push(n);
            server.send_to(&buffer[..n], from).unwrap();
        }
        assert_eq!(lengths, [1_000, 1_000, 1_000, 500, 3]);
        until(&mut udp, &mut heard, |heard| heard.bytes.len() == 3_503);
        assert_eq!(heard.runs, lengths);
        assert_eq!(heard.bytes, [&run[..], b"end"].concat());
    }
}

#[test]
fn connections_that_share_sockets_get_their_own_datagrams() {
    #[derive(Default)]
    struct Addressed(Vec<(Slot, Vec<u8>)>);
    impl<O> Handler<O> for Addressed {
        fn opened(&mut self, _: &mut O, _: Slot, result: io::Result<()>, _: clock::Nanos) {
            result.unwrap();
        }
        fn received(&mut self, _: &mut O, slot: Slot, mut bytes: &[u8], _: clock::Nanos) {
            while let Some(run) = datagrams::next(&mut bytes) {
                let all = run.bytes.chunks(run.segment);
                self.0.extend(all.map(|one| (slot, one.to_vec())));
            }
        }
        fn ended(&mut self, _: &mut O, _: Slot, _: Option<io::Error>, _: clock::Nanos) {}
    }
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = Target::Tcp(server.local_addr().unwrap());
    let mut udp = Udp::new(&Endpoints::to(&target), 5, Some(2), Came::Read).unwrap();
    let datagram = |slot| [&[0x40][..], &datagrams::id(slot, 0), b"text"].concat();
    let mut buffer = [0; 100];
    let mut from = std::collections::BTreeSet::new();
    for slot in [0, 1, 2, 4] {
        udp.out().open(slot).unwrap();
        let mut out = Vec::new();
        put(13, &datagram(slot), &mut out);
        udp.out().send(slot, &out).unwrap();
        let (n, address) = server.recv_from(&mut buffer).unwrap();
        from.insert(address);
        // Back to it, to one that is not open, and to one that is not there.
        for to in [slot, 3, 99] {
            buffer[1..9].copy_from_slice(&datagrams::id(to, 0));
            server.send_to(&buffer[..n], address).unwrap();
        }
    }
    assert_eq!(from.len(), 2);
    let mut heard = Addressed::default();
    let patience = clock::now() + 10 * clock::SECOND;
    while heard.0.len() < 4 {
        assert!(clock::now() < patience);
        udp.poll(Wait::Tick, &mut heard).unwrap();
    }
    heard.0.sort();
    assert_eq!(heard.0, [0, 1, 2, 4].map(|slot| (slot, datagram(slot))));
    udp.out().close(0);
    assert!(udp.out().send(0, b"").is_err());
    assert!(udp.out().send(2, b"").is_ok());
}

#[test]
fn marks_of_congestion_go_both_ways() {
    for server in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(server) = UdpSocket::bind(server) else {
            continue;
        };
        let to = server.local_addr().unwrap();
        let mut peer = Udp::new(&Endpoints::to(&Target::Tcp(to)), 1, None, Came::Read).unwrap();
        let mut heard = Heard::default();
        peer.out().open(0).unwrap();
        until(&mut peer, &mut heard, |heard| heard.opened);
        let mut buffer = [0; 10];
        for mark in [0b10, 0b01, 0b00, 0b11] {
            let mut out = Vec::new();
            let (segment, bytes) = (1, &b"x"[..]);
            Run {
                segment,
                mark,
                bytes,
            }
            .put(&mut out);
            peer.out().send(0, &out).unwrap();
            let (_, from) = server.recv_from(&mut buffer).unwrap();
            assert_eq!(peer.out.descriptors[0].mark, mark);
            // What the server sends back has the mark that its socket has.
            let value = libc::c_int::from(mark);
            let set = match to.is_ipv6() {
                true => socket::set(&server, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, value),
                false => socket::set(&server, libc::IPPROTO_IP, libc::IP_TOS, value),
            };
            set.unwrap();
            server.send_to(b"y", from).unwrap();
            let seen = heard.marks.len();
            until(&mut peer, &mut heard, |heard| heard.marks.len() > seen);
            assert_eq!(heard.marks.last(), Some(&mark));
        }
    }
}

#[test]
fn a_port_where_nobody_listens_is_told() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = Target::Tcp(server.local_addr().unwrap());
    drop(server);
    let mut udp = Udp::new(&Endpoints::to(&target), 1, None, Came::Read).unwrap();
    udp.out().open(0).unwrap();
    let mut out = Vec::new();
    put(1, b"x", &mut out);
    udp.out().send(0, &out).unwrap();
    let mut heard = Heard::default();
    until(&mut udp, &mut heard, |heard| heard.error.is_some());
    let error = heard.error.map(|error| error.kind());
    assert_eq!(error, Some(io::ErrorKind::ConnectionRefused));
}
