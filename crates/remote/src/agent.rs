//! The agent: prony on another machine, told over standard input what to do, and answering on standard output.

use crate::frame::{FrameError, MAGIC, Receiver, Sender};
use crate::message::{BEAT, Call, FromAgent, Hello, LoadOrder, Reply, SILENCE, ToAgent};
use crate::reach::addresses;
use crate::servers::Servers;
use prony_engine::protocol::h3;
use prony_engine::protocol::proxy::dial;
use prony_engine::protocol::tls::probe;
use prony_engine::{Control, Nanos, clock, descriptors, run_part};
use prony_lab::port::Port;
use prony_lab::relay::Forward;
use prony_lab::topology::Topology;
use std::collections::HashMap;
use std::io::{self, Stdout, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

/// Exit status of an agent whose coordinator is lost.
const LOST: i32 = 3;
/// How often it is looked whether the coordinator is still there.
const LOOK: std::time::Duration = std::time::Duration::from_millis(500);

/// Sends messages to the coordinator, from any thread.
#[derive(Clone)]
struct AgentOutput(Arc<Mutex<Sender<Stdout>>>);

impl AgentOutput {
    /// Sends a message, or ends this program: without a coordinator there is nothing to do, and servers that were started
    /// here end with their supervisors' standard input.
    fn send(&self, message: &FromAgent) {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sender.send(message).is_err() {
            exit(LOST);
        }
    }
}

/// Is an agent until the coordinator says goodbye, or is gone. `version` is what `prony --version` prints.
///
/// # Errors
/// When the coordinator is gone, or says something damaged.
pub fn main(
    version: &str,
    echo: impl Fn(SocketAddr) -> io::Result<SocketAddr> + Send + 'static,
) -> Result<(), FrameError> {
    // Without one of its threads an agent would go on and never answer: better none at all.
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        exit(LOST);
    }));
    let mut out = io::stdout();
    out.write_all(MAGIC)
        .and_then(|()| out.flush())
        .map_err(FrameError::Io)?;
    let output = AgentOutput(Arc::new(Mutex::new(Sender::new(out))));
    output.send(&FromAgent::Hello(Box::new(Hello {
        version: version.to_owned(),
        machine: prony_lab::machine::this_machine(),
        topology: Topology::here(),
        descriptors: descriptors::most(),
    })));
    let heard = Arc::new(AtomicU64::new(clock::now()));
    let (beating, last) = (output.clone(), Arc::clone(&heard));
    thread::spawn(move || beat(&beating, &last));
    let mut input = Receiver::new(io::stdin());
    let mut load: Option<Arc<Control>> = None;
    // Servers are started and verified for seconds: clocks and heartbeats do not wait for that.
    let (asked, calls) = mpsc::channel();
    let replies = output.clone();
    thread::spawn(move || reply(&calls, &replies, &echo));
    loop {
        let message: ToAgent = input.receive()?;
        heard.store(clock::now(), Ordering::Relaxed);
        match message {
            ToAgent::Beat => {}
            ToAgent::Clock(number) => output.send(&FromAgent::Clock(number, clock::now())),
            ToAgent::Call(number, call) => {
                let _ = asked.send((number, call));
            }
            ToAgent::Load(order) => {
                let control = Arc::new(
                    order
                        .at_once
                        .map_or_else(Control::default, Control::at_once),
                );
                load = Some(Arc::clone(&control));
                let output = output.clone();
                thread::spawn(move || carry_out(&order, &control, &output));
            }
            ToAgent::BeginAt(at) => {
                if let Some(load) = &load {
                    load.begin_at(at);
                    output.send(&FromAgent::Began(clock::now().saturating_sub(at)));
                }
            }
            ToAgent::Measure(from, until) => {
                if let Some(load) = &load {
                    let (from, until) = load.measure(from, until);
                    output.send(&FromAgent::Measured(from, until));
                }
            }
            ToAgent::Stop => {
                if let Some(load) = &load {
                    load.stop();
                }
            }
            ToAgent::Bye => {
                output.send(&FromAgent::Bye);
                return Ok(());
            }
        }
    }
}

/// Answers calls one after the other.
fn reply(
    calls: &mpsc::Receiver<(u32, Call)>,
    output: &AgentOutput,
    echo: &impl Fn(SocketAddr) -> io::Result<SocketAddr>,
) {
    let mut servers: Option<Servers> = None;
    let mut relays: HashMap<SocketAddr, Forward> = HashMap::new();
    for (number, call) in calls {
        let reply = match call {
            Call::Host(placement) => {
                // Of an earlier host everything ends before the next one begins.
                drop(servers.take());
                Servers::new(placement).map(|new| {
                    servers = Some(new);
                    Reply::Done
                })
            }
            Call::Connect { .. }
            | Call::Probe { .. }
            | Call::Dial { .. }
            | Call::Serve(_)
            | Call::Addresses
            | Call::FreePort(_) => answer(call, echo),
            Call::Relay(at, to) => match Forward::open(at, to) {
                Ok(relay) => {
                    let addr = relay.addr();
                    relays.insert(addr, relay);
                    Ok(Reply::Address(addr))
                }
                Err(error) => Err(format!("cannot listen on {at}: {error}")),
            },
            Call::EndRelay(at) => {
                drop(relays.remove(&at));
                Ok(Reply::Done)
            }
            call => match &mut servers {
                Some(servers) => servers.answer(call),
                None => Err("it is no host of servers yet".into()),
            },
        };
        output.send(&FromAgent::Reply(number, reply));
    }
}

/// Carries out a part of a load.
fn carry_out(order: &LoadOrder, control: &Control, output: &AgentOutput) {
    let share = u64::from(order.plan.load.max_connections())
        .saturating_mul(u64::from(order.plan.load.threads))
        .div_ceil(u64::from(order.part.workers.max(1)));
    let refused = descriptors::reserve(share)
        .map_err(|error| error.to_string())
        .and_then(|()| {
            run_part(&order.plan, order.part, control, |message| {
                output.send(&FromAgent::Part(Box::new(message)));
            })
            .map_err(|error| error.to_string())
        });
    if let Err(error) = refused {
        output.send(&FromAgent::Refused(error));
    }
}

/// Says that it is there, and ends this program after a silence of the other side.
fn beat(output: &AgentOutput, heard: &AtomicU64) {
    let mut next = clock::now();
    loop {
        thread::sleep(LOOK);
        let now = clock::now();
        let silent: Nanos = now.saturating_sub(heard.load(Ordering::Relaxed));
        if silent > clock::nanos(SILENCE) {
            exit(LOST);
        }
        if now >= next {
            next = now + clock::nanos(BEAT);
            output.send(&FromAgent::Beat);
        }
    }
}

fn answer(
    call: Call,
    echo: &impl Fn(SocketAddr) -> io::Result<SocketAddr>,
) -> Result<Reply, String> {
    match call {
        Call::Connect {
            host,
            port,
            udp,
            timeout,
        } => {
            let addresses = (host.as_str(), port)
                .to_socket_addrs()
                .map_err(|error| format!("cannot look up {host:?} there: {error}"))?;
            let mut first = None;
            for address in addresses {
                if udp {
                    return Ok(Reply::Address(address));
                }
                match TcpStream::connect_timeout(&address, timeout) {
                    Ok(_) => return Ok(Reply::Address(address)),
                    Err(error) => {
                        first.get_or_insert(format!(
                            "cannot connect from there to {address}: {error}"
                        ));
                    }
                }
            }
            Err(first.unwrap_or_else(|| format!("{host:?} has no address there")))
        }
        Call::Probe {
            target,
            tls,
            timeout,
        } if tls.is_http3() => match h3::probe(&target, &tls, timeout) {
            Ok(_) => Ok(Reply::Done),
            Err(error) => Ok(Reply::Refused(error.to_string(), error.remedy())),
        },
        Call::Probe {
            target,
            tls,
            timeout,
        } => match probe(&target, &tls, timeout) {
            Ok(_) => Ok(Reply::Done),
            Err(error) => Ok(Reply::Refused(error.to_string(), error.remedy())),
        },
        Call::Dial {
            address,
            proxy,
            timeout,
        } => match dial(address, (Some(&proxy), None), timeout) {
            Ok(_) => Ok(Reply::Done),
            Err(error) => match error.remedy() {
                Some(remedy) => Ok(Reply::Refused(error.to_string(), remedy)),
                None => Err(error.to_string()),
            },
        },
        Call::Serve(ip) => echo(SocketAddr::new(ip, 0))
            .map(Reply::Address)
            .map_err(|error| format!("cannot serve on {ip}: {error}")),
        Call::FreePort(ip) => Port::free()
            .map(|port| Reply::Address(SocketAddr::new(ip, port.for_good())))
            .map_err(|error| error.to_string()),
        Call::Addresses => addresses()
            .map(Reply::Addresses)
            .map_err(|error| format!("cannot tell the machine's addresses: {error}")),
        other => Err(format!("unexpected: {other:?}")),
    }
}
