//! One life of a server.

use super::{Door, Request, Says, Setup, Step, Then};
use quinn::{
    Connection, Endpoint, EndpointConfig, Incoming, RecvStream, SendStream, ServerConfig, VarInt,
};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

/// State that all lives and connections of a server share.
pub struct Shared {
    pub setup: Setup,
    pub says: Says,
    pub requests: Arc<AtomicU64>,
    pub end: UnboundedSender<Then>,
}

/// A connection.
struct Line {
    shared: Arc<Shared>,
    connection: Connection,
    control: Mutex<Option<SendStream>>,
    /// Streams that stay open.
    others: Mutex<Vec<SendStream>>,
}

pub fn serve(
    socket: UdpSocket,
    endpoint: EndpointConfig,
    config: ServerConfig,
    shared: &Arc<Shared>,
) -> impl Future<Output = ()> + Send + use<> {
    let shared = shared.clone();
    async move {
        let runtime = Arc::new(quinn::TokioRuntime);
        let endpoint = Endpoint::new(endpoint, Some(config), socket, runtime).unwrap();
        let mut nth = 0;
        while let Some(incoming) = endpoint.accept().await {
            if let Some(incoming) = let_in(incoming, shared.setup.door, nth) {
                tokio::spawn(connection(incoming, shared.clone()));
            }
            nth += 1;
        }
    }
}

fn let_in(incoming: Incoming, door: Door, nth: u64) -> Option<Incoming> {
    match door {
        Door::Retry if !incoming.remote_address_validated() => {
            // It can be retried: its address is not validated.
            let _ = incoming.retry();
            None
        }
        Door::RefusesHalf if nth % 2 == 1 => {
            incoming.refuse();
            None
        }
        Door::Refuses => {
            incoming.refuse();
            None
        }
        Door::Ignores => {
            incoming.ignore();
            None
        }
        Door::Open | Door::Retry | Door::RefusesHalf => Some(incoming),
    }
}

async fn connection(incoming: Incoming, shared: Arc<Shared>) -> Option<()> {
    let connection = incoming.await.ok()?;
    let line = Arc::new(Line {
        shared: shared.clone(),
        connection: connection.clone(),
        control: Mutex::default(),
        others: Mutex::default(),
    });
    if !shared.setup.greeting.is_empty() {
        let mut control = connection.open_uni().await.ok()?;
        control.write_all(&shared.setup.greeting).await.ok()?;
        *line.control.lock().await = Some(control);
    }
    line.act(shared.setup.first.clone(), &mut None).await?;
    let mut of_connection = 0;
    while let Ok(stream) = connection.accept_bi().await {
        // The stream is held until the client has all of it.
        tokio::spawn(one(line.clone(), stream, of_connection));
        of_connection += 1;
    }
    Some(())
}

async fn one(line: Arc<Line>, (send, mut recv): Stream, of_connection: u64) -> Option<()> {
    match line.shared.setup.early {
        true => drop(recv.read_chunk(1 << 20, true).await.ok()?),
        false => drop(recv.read_to_end(1 << 20).await.ok()?),
    }
    let request = Request {
        nth: line.shared.requests.fetch_add(1, Relaxed),
        of_connection,
        stream: send.id().into(),
    };
    let steps = (line.shared.says)(request);
    let mut stream = Some((send, recv));
    line.act(steps, &mut stream).await?;
    let (send, _recv) = stream?;
    let _ = send.stopped().await;
    Some(())
}

type Stream = (SendStream, RecvStream);

impl Line {
    /// Does what a script says; None: there is no more to be done on this stream.
    async fn act(&self, steps: Vec<Step>, stream: &mut Option<Stream>) -> Option<()> {
        for step in steps {
            match (step, &mut *stream) {
                (Step::Write(bytes), Some((send, _))) => {
                    send.write_all(&bytes).await.ok()?;
                    tokio::task::yield_now().await;
                }
                (Step::Drip(bytes, pause), Some((send, _))) => {
                    for byte in bytes {
                        sleep(pause).await;
                        send.write_all(&[byte]).await.ok()?;
                        tokio::task::yield_now().await;
                    }
                }
                (Step::Pour(bytes), Some((send, _))) => {
                    let many = bytes.repeat(1 + 4_096 / bytes.len());
                    loop {
                        send.write_all(&many).await.ok()?;
                        tokio::task::yield_now().await;
                    }
                }
                (Step::End, Some((send, _))) => send.finish().ok()?,
                (Step::Reset(code), Some((send, _))) => send.reset(number(code)).ok()?,
                (Step::Stop(code), Some((_, recv))) => recv.stop(number(code)).ok()?,
                (Step::Pause(length), _) => sleep(length).await,
                (Step::Silence, _) => {
                    self.connection.closed().await;
                    return None;
                }
                (Step::Control(bytes), _) => {
                    let mut control = self.control.lock().await;
                    control.as_mut()?.write_all(&bytes).await.ok()?;
                }
                (Step::EndControl(code), _) => {
                    let mut control = self.control.lock().await;
                    // Another request may have ended it.
                    let _ = match code {
                        None => control.as_mut()?.finish(),
                        Some(code) => control.as_mut()?.reset(number(code)),
                    };
                }
                (Step::Open(bytes), _) => {
                    let mut other = self.connection.open_uni().await.ok()?;
                    other.write_all(&bytes).await.ok()?;
                    self.others.lock().await.push(other);
                }
                (Step::OpenEnded(bytes), _) => {
                    let mut other = self.connection.open_uni().await.ok()?;
                    other.write_all(&bytes).await.ok()?;
                    other.finish().ok()?;
                }
                (Step::Close(code), _) => {
                    self.connection.close(number(code), b"as the script says");
                    return None;
                }
                (Step::Die(then), _) => {
                    // It ends with this life.
                    self.shared.end.send(then).ok()?;
                    std::future::pending::<()>().await;
                }
                (step, None) => panic!("{step:?} needs a request"),
            }
        }
        Some(())
    }
}

fn number(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap()
}
