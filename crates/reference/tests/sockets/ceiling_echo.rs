//! TCP echo by every model of the ceiling.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::sleep;
use std::time::Duration;

use crate::client::{ceilings, connect, expect_echo, pattern, read_to_end, start};
use prony_reference::Contract::TcpEcho;
use prony_reference::ceiling::Model;

#[test]
fn messages_of_any_size_come_back() {
    for (_, address) in ceilings(TcpEcho) {
        let stream = connect(address);
        for length in [1, 6, 16 * 1024, 16 * 1024 + 1, 1 << 20, 16 << 20] {
            expect_echo(&stream, &pattern(length));
        }
    }
}

#[test]
fn single_bytes_come_back() {
    for (_, address) in ceilings(TcpEcho) {
        let mut stream = connect(address);
        let message = pattern(2_000);
        for byte in &message {
            stream.write_all(std::slice::from_ref(byte)).unwrap();
        }
        let mut back = vec![0; message.len()];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(back, message);
    }
}

#[test]
fn what_came_before_the_fin_comes_back() {
    for (_, address) in ceilings(TcpEcho) {
        for length in [0, 5, 100_000] {
            let mut stream = connect(address);
            let message = pattern(length);
            stream.write_all(&message).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert!(read_to_end(&stream) == message);
        }
    }
}

/// Writes until nothing more is taken for `patience` times 5 ms; how much was.
fn fill(mut stream: &TcpStream, block: &[u8], most: usize, patience: u32) -> usize {
    stream.set_nonblocking(true).unwrap();
    let (mut written, mut pauses) = (0, 0);
    while pauses < patience && written < most {
        let start = written % block.len();
        match stream.write(&block[start..]) {
            Ok(count) => (written, pauses) = (written + count, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                pauses += 1;
                sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("{error}"),
        }
    }
    stream.set_nonblocking(false).unwrap();
    written
}

#[test]
fn a_peer_that_does_not_read_is_not_read_and_loses_nothing() {
    // The kernel's own buffers, two sockets' worth in each direction, stay well below this.
    const MOST: usize = 200 << 20;
    let block = pattern(1 << 20);
    for (model, address) in ceilings(TcpEcho) {
        let mut stream = connect(address);
        let written = fill(&stream, &block, MOST, 20);
        assert!(written < MOST, "{model} has taken {written} bytes");
        expect_echo(&connect(address), b"others are served meanwhile");
        stream.shutdown(Shutdown::Write).unwrap();
        let mut back = vec![0; block.len()];
        let mut read = 0;
        while read < written {
            let length = block.len().min(written - read);
            stream.read_exact(&mut back[..length]).unwrap();
            assert!(back[..length] == block[..length], "{model} at byte {read}");
            read += length;
        }
        assert_eq!(stream.read(&mut back).unwrap(), 0);
    }
}

#[test]
fn a_reset_does_not_affect_other_connections() {
    let block = pattern(1 << 20);
    for (_, address) in ceilings(TcpEcho) {
        let other = connect(address);
        for _ in 0..20 {
            // Closing with unread data in the receive buffer resets the connection, here while the
            // server waits to send more.
            let stream = connect(address);
            fill(&stream, &block, 8 << 20, 1);
            drop(stream);
            expect_echo(&other, b"hello\n");
        }
        expect_echo(&connect(address), &block);
    }
}

#[test]
fn many_connections_at_once() {
    for model in Model::ALL {
        for workers in [1, 3] {
            let address = start(model, TcpEcho, workers);
            let mut streams: Vec<TcpStream> = (0..200).map(|_| connect(address)).collect();
            for round in 0..5_u8 {
                for (index, stream) in streams.iter_mut().enumerate() {
                    stream.write_all(&[round, index as u8, 7]).unwrap();
                }
                for (index, stream) in streams.iter_mut().enumerate() {
                    let mut back = [0; 3];
                    stream.read_exact(&mut back).unwrap();
                    assert_eq!(back, [round, index as u8, 7]);
                }
            }
        }
    }
}

#[test]
fn connections_come_and_go() {
    for (_, address) in ceilings(TcpEcho) {
        for round in 0..500_u16 {
            expect_echo(&connect(address), &round.to_le_bytes());
        }
    }
}
