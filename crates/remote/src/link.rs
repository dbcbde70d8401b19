//! The conversation with one agent, seen from the coordinator.

use crate::clocks::Offset;
use crate::frame::{FrameError, Receiver, Sender};
use crate::hosts::HostSpec;
use crate::launch::{Complaints, Program, launch};
use crate::message::{BEAT, Call, FromAgent, Hello, Reply, SILENCE, ToAgent};
use prony_engine::{Nanos, clock};
use std::collections::HashMap;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Round trips by which a clock is read. The shortest counts; the first ones wake everything up.
const ROUND_TRIPS: u32 = 9;
/// How often it is looked whether the other side is still there.
const LOOK: Duration = Duration::from_millis(100);
/// A launcher ends by itself when its agent has, and is killed after this.
const LAUNCHER_ENDS: Duration = Duration::from_secs(2);

/// An agent on another machine, or on this one.
pub struct Link {
    host: HostSpec,
    hello: Hello,
    shared: Arc<LinkState>,
    child: Mutex<Child>,
    clocks: Mutex<mpsc::Receiver<(u32, Nanos, Nanos)>>,
}

/// State that the conversation's threads share.
struct LinkState {
    sender: Mutex<Sender<ChildStdin>>,
    /// When something was heard last, on this machine's clock.
    heard: AtomicU64,
    /// Bytes heard so far.
    bytes: AtomicU64,
    next_call: AtomicU32,
    calls: Mutex<HashMap<u32, mpsc::Sender<Result<Reply, String>>>>,
    /// Listener of the latest load, which gets the agent's messages about it; none before the first load.
    load: Mutex<Option<Listener>>,
    /// Why the agent is lost, once it is.
    lost: Mutex<Option<String>>,
}

/// Number of the agent in the load, and the channel to which its messages go with that number.
type Listener = (usize, mpsc::Sender<(usize, AgentEvent)>);

/// News of an agent during a load.
#[derive(Debug)]
pub(crate) enum AgentEvent {
    /// A message of the agent, unchanged.
    Said(FromAgent),
    /// The agent is lost, for this reason.
    Lost(String),
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Starts an agent and waits for its first message. `copying` is told when prony has to be copied there, with its
    /// size in bytes.
    ///
    /// # Errors
    /// What was tried, what was found, and what can be done.
    pub fn open(
        host: &HostSpec,
        program: &Program,
        version: &str,
        copying: &dyn Fn(u64),
    ) -> Result<Self, String> {
        let at = |text: String| format!("host {}: {text}", host.name);
        let mut launched = launch(host, program, copying).map_err(at)?;
        let hello = match launched.output.receive() {
            Ok(FromAgent::Hello(hello)) => hello,
            Ok(other) => return Err(at(format!("unexpected first message: {other:?}"))),
            Err(error) => return Err(at(format!("{error}{}", launched.complaints.last()))),
        };
        if hello.version != version {
            return Err(at(format!(
                "the prony installed there is {}, and this one is {version}: both must be the same",
                hello.version
            )));
        }
        let shared = Arc::new(LinkState {
            sender: Mutex::new(Sender::new(launched.input)),
            heard: AtomicU64::new(clock::now()),
            bytes: AtomicU64::new(0),
            next_call: AtomicU32::new(0),
            calls: Mutex::default(),
            load: Mutex::default(),
            lost: Mutex::default(),
        });
        let (answers, clocks) = mpsc::channel();
        let (listening, complaints) = (Arc::clone(&shared), launched.complaints);
        let output = launched.output;
        thread::spawn(move || listen(&listening, output, &complaints, &answers));
        let beating = Arc::downgrade(&shared);
        thread::spawn(move || {
            loop {
                thread::sleep(BEAT);
                let Some(shared) = beating.upgrade() else {
                    return;
                };
                if lock(&shared.lost).is_some() || shared.say(&ToAgent::Beat).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            host: host.clone(),
            hello: *hello,
            shared,
            child: Mutex::new(launched.child),
            clocks: Mutex::new(clocks),
        })
    }

    /// The host's name.
    pub fn name(&self) -> &str {
        &self.host.name
    }

    /// The host.
    pub fn host(&self) -> &HostSpec {
        &self.host
    }

    /// Returns the agent's first message, which describes its machine.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Bytes of all that it has said so far.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Why the agent is lost, if it is.
    pub fn lost(&self) -> Option<String> {
        self.shared.look();
        lock(&self.shared.lost).clone()
    }

    /// How much more its clock shows than this machine's, from the shortest of several round trips.
    ///
    /// # Errors
    /// When the agent is lost.
    pub fn offset(&self) -> Result<Offset, String> {
        let clocks = lock(&self.clocks);
        let mut best = None;
        for number in 0..ROUND_TRIPS {
            let asked = clock::now();
            self.say(&ToAgent::Clock(number))?;
            let (theirs, heard) = loop {
                match clocks.recv_timeout(LOOK) {
                    // An answer to a question that was given up is older than this one.
                    Ok((_, _, heard)) if heard < asked => {}
                    Ok((answered, theirs, heard)) if answered == number => break (theirs, heard),
                    Ok(_) => {}
                    Err(_) => self.still_there()?,
                }
            };
            best = Offset::closer(best, Offset::of(asked, theirs, heard));
        }
        Ok(best.expect("there was a round trip"))
    }

    /// Asks something, and waits for what comes of it.
    ///
    /// # Errors
    /// When it cannot be done there, or the agent is lost.
    pub fn call(&self, call: Call) -> Result<Reply, String> {
        let number = self.shared.next_call.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        lock(&self.shared.calls).insert(number, sender);
        self.say(&ToAgent::Call(number, call))?;
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(reply) => {
                    return reply.map_err(|error| format!("host {}: {error}", self.name()));
                }
                Err(RecvTimeoutError::Timeout) => self.still_there()?,
                Err(RecvTimeoutError::Disconnected) => {
                    self.still_there()?;
                    return Err(format!("host {}: no answer", self.name()));
                }
            }
        }
    }

    /// Has everything that is told of a load from here on sent there, under this number.
    pub(crate) fn tell(&self, number: usize, to: mpsc::Sender<(usize, AgentEvent)>) {
        *lock(&self.shared.load) = Some((number, to));
        // An agent that was lost before does not say so again.
        if let Some(why) = self.lost() {
            self.shared.tell(AgentEvent::Lost(why));
        }
    }

    /// Says something.
    ///
    /// # Errors
    /// When the agent is lost.
    pub(crate) fn say(&self, message: &ToAgent) -> Result<(), String> {
        self.still_there()?;
        self.shared.say(message).map_err(|error| {
            // Why the pipe is broken is known a moment later, to the thread that listens.
            thread::sleep(LOOK);
            match self.still_there() {
                Err(why) => why,
                Ok(()) => format!("host {}: {error}", self.name()),
            }
        })
    }

    fn still_there(&self) -> Result<(), String> {
        match self.lost() {
            None => Ok(()),
            Some(why) => Err(format!("host {} is lost: {why}", self.name())),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        if self.lost().is_none() && self.shared.say(&ToAgent::Bye).is_ok() {
            let until = Instant::now() + LAUNCHER_ENDS;
            while Instant::now() < until {
                if let Ok(Some(_)) = child.try_wait() {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        // The agent ends when its standard input does, or after a silence.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl LinkState {
    fn say(&self, message: &ToAgent) -> std::io::Result<()> {
        lock(&self.sender).send(message)
    }

    fn tell(&self, heard: AgentEvent) {
        if let Some((number, to)) = &*lock(&self.load) {
            // There is no listener any more when the load was given up.
            let _ = to.send((*number, heard));
        }
    }

    fn lose(&self, why: String) {
        let mut lost = lock(&self.lost);
        if lost.is_none() {
            *lost = Some(why.clone());
            drop(lost);
            lock(&self.calls).clear();
            self.tell(AgentEvent::Lost(why));
        }
    }

    /// Gives up an agent that has been silent for too long.
    fn look(&self) {
        let silent = clock::now().saturating_sub(self.heard.load(Ordering::Relaxed));
        if silent > clock::nanos(SILENCE) {
            self.lose(format!(
                "nothing was heard of it for {} s",
                SILENCE.as_secs()
            ));
        }
    }
}

/// Hears an agent until its last message.
fn listen(
    shared: &LinkState,
    mut from: Receiver<ChildStdout>,
    complaints: &Complaints,
    clocks: &mpsc::Sender<(u32, Nanos, Nanos)>,
) {
    loop {
        let message = match from.receive() {
            Ok(message) => message,
            Err(error) => {
                // What its launcher says of it comes on another pipe.
                thread::sleep(Duration::from_millis(50));
                let error = match error {
                    FrameError::Ended => "its connection ended without a last message".to_owned(),
                    other => other.to_string(),
                };
                return shared.lose(format!("{error}{}", complaints.last()));
            }
        };
        let now = clock::now();
        shared.heard.store(now, Ordering::Relaxed);
        shared.bytes.store(from.bytes(), Ordering::Relaxed);
        match message {
            FromAgent::Beat => {}
            FromAgent::Clock(number, theirs) => {
                let _ = clocks.send((number, theirs, now));
            }
            FromAgent::Reply(number, reply) => {
                if let Some(waiting) = lock(&shared.calls).remove(&number) {
                    let _ = waiting.send(reply);
                }
            }
            FromAgent::Bye => return shared.lose("it has said goodbye".into()),
            FromAgent::Hello(_) => return shared.lose("it has begun anew".into()),
            load => shared.tell(AgentEvent::Said(load)),
        }
    }
}
