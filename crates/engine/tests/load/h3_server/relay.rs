//! Datagrams on their way that are lost, doubled, spoilt, cut, late, or come from elsewhere.

use prony_engine::Target;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use tokio::net::UdpSocket;
use tokio::runtime;
use tokio::sync::oneshot;

/// Mishaps of datagrams on their way, in both directions: each befalls one of so many.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mischief {
    pub lost: u32,
    pub doubled: u32,
    /// One bit is another one.
    pub spoilt: u32,
    /// Only its first half arrives.
    pub cut: u32,
    /// The next one comes before it.
    pub late: u32,
    /// To the client, a copy and noise come from another address, before it.
    pub foreign: u32,
    /// Noise comes from the right address, before it.
    pub noise: u32,
}

/// Passes datagrams on to a server, not all of them and not always as they were. It ends with this value.
pub struct Relay {
    pub target: Target,
    _end: oneshot::Sender<()>,
}

impl Relay {
    pub fn new(server: &Target, mischief: Mischief) -> Self {
        let Target::Tcp(server) = *server else {
            unreachable!()
        };
        let front = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        front.set_nonblocking(true).unwrap();
        let target = Target::Tcp(front.local_addr().unwrap());
        let (end, ended) = oneshot::channel::<()>();
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let front = Arc::new(UdpSocket::from_std(front).unwrap());
                tokio::spawn(relay(front, server, mischief));
                let _ = ended.await;
            });
        });
        Self { target, _end: end }
    }
}

async fn relay(front: Arc<UdpSocket>, server: SocketAddr, mischief: Mischief) {
    let mut clients: HashMap<SocketAddr, (Arc<UdpSocket>, Way)> = HashMap::new();
    let foreign = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let there = Mischief {
        foreign: 0,
        ..mischief
    };
    let mut buffer = vec![0; 65_536];
    loop {
        let Ok((n, client)) = front.recv_from(&mut buffer).await else {
            // A client's port that is closed.
            continue;
        };
        if !clients.contains_key(&client) {
            let back = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
            back.connect(server).await.unwrap();
            let nth = clients.len() as u64;
            clients.insert(client, (back.clone(), Way::new(there, 2 * nth)));
            let (front, foreign) = (front.clone(), foreign.clone());
            tokio::spawn(async move {
                let mut way = Way::new(mischief, 2 * nth + 1);
                let mut buffer = vec![0; 65_536];
                while let Ok(n) = back.recv(&mut buffer).await {
                    for (bytes, from) in way.pass(&buffer[..n]) {
                        let from = match from {
                            From::Server => &front,
                            From::Elsewhere => &foreign,
                        };
                        let _ = from.send_to(&bytes, client).await;
                    }
                }
            });
        }
        let Some((back, way)) = clients.get_mut(&client) else {
            continue;
        };
        for (bytes, _) in way.pass(&buffer[..n]) {
            let _ = back.send(&bytes).await;
        }
    }
}

enum From {
    Server,
    Elsewhere,
}

struct Way {
    mischief: Mischief,
    rng: Xoshiro256PlusPlus,
    late: Option<Vec<u8>>,
}

impl Way {
    fn new(mischief: Mischief, seed: u64) -> Self {
        Self {
            mischief,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            late: None,
        }
    }

    /// Datagrams that arrive when this is sent.
    fn pass(&mut self, bytes: &[u8]) -> Vec<(Vec<u8>, From)> {
        let mut arrive = Vec::new();
        let mut one_of = |n: u32| n > 0 && self.rng.random_range(0..n) == 0;
        let mut bytes = bytes.to_vec();
        if one_of(self.mischief.lost) {
            return arrive;
        }
        if one_of(self.mischief.foreign) {
            arrive.push((bytes.clone(), From::Elsewhere));
            arrive.push((vec![0x40; 40], From::Elsewhere));
        }
        if one_of(self.mischief.spoilt) {
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
        }
        if one_of(self.mischief.cut) {
            bytes.truncate(bytes.len() / 2);
        }
        let doubled = one_of(self.mischief.doubled);
        let late = one_of(self.mischief.late);
        if one_of(self.mischief.noise) {
            let mut noise = vec![0; 1 + bytes.len() / 2];
            self.rng.fill_bytes(&mut noise);
            arrive.push((noise, From::Server));
        }
        if doubled {
            arrive.push((bytes.clone(), From::Server));
        }
        if late && self.late.is_none() {
            self.late = Some(bytes);
            return arrive;
        }
        arrive.push((bytes, From::Server));
        arrive.extend(self.late.take().map(|late| (late, From::Server)));
        arrive
    }
}
