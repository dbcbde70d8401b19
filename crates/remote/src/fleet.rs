//! A load that several machines carry out together.

use crate::clocks::Offset;
use crate::link::{AgentEvent, Link};
use crate::message::{Call, FromAgent, LoadOrder, Reply, ToAgent};
use crate::registry::Registry;
use crate::slow_client::SlowClient;
use prony_engine::descriptors::TooFewDescriptors;
use prony_engine::protocol::proxy::Proxy;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{
    Control, Error, Gather, LoadShare, Nanos, Plan, Progress, Remedy, Target, clock,
};
use prony_lab::generator::{Generator, LoadControl, LoadController};
use prony_lab::interrupt::Interrupt;
use prony_record::{ByHost, Distributions, Observation, Window};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long before something is to happen all agents are told, besides their round trips: what it takes busy machines to
/// wake up.
const NOTICE: Nanos = 50_000_000;
/// Notice that all agents get before the measurement, besides their round trips, in nanoseconds. It is longer than
/// before the beginning, because an agent that learns of the measurement too late fails the load. A busy machine may
/// leave an agent without a CPU for a tenth of a second.
const MEASURE_NOTICE: Nanos = 200_000_000;
/// How often it is looked whether the load was interrupted, or an agent is lost.
const LOOK: Duration = Duration::from_millis(50);

/// The generators of several machines, as one. Connections, rate and number of requests of a plan are divided among
/// them; each has as many threads as the plan says.
#[derive(Debug)]
pub struct Fleet {
    registry: Arc<Registry>,
    names: Vec<String>,
    /// CPUs of each generator that shares its machine with the server, by host.
    beside: BTreeMap<String, Vec<usize>>,
    /// Bytes per second each way that they together can move to and from the server's machine.
    link: Option<f64>,
    slow: Option<SlowClient>,
}

impl Fleet {
    /// The generators on these hosts, at least one.
    #[must_use]
    pub fn new(registry: Arc<Registry>, names: Vec<String>) -> Self {
        assert!(!names.is_empty(), "a load needs a generator");
        Self {
            registry,
            names,
            beside: BTreeMap::new(),
            link: None,
            slow: None,
        }
    }

    /// With a client that measures beside the load.
    #[must_use]
    pub fn measured_by(self, slow: SlowClient) -> Self {
        Self {
            slow: Some(slow),
            ..self
        }
    }

    /// With a network to the server's machine that was tried, and moved so many bytes per second each way.
    #[must_use]
    pub fn over(self, link: f64) -> Self {
        Self {
            link: Some(link),
            ..self
        }
    }

    /// With these CPUs for the generator on a machine that has the server too.
    #[must_use]
    pub fn beside(mut self, name: &str, cpus: &[usize]) -> Self {
        self.beside.insert(name.to_owned(), cpus.to_vec());
        self
    }

    /// Returns the names of the hosts.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Looks up a host name, as the first of them knows it, and makes a connection from there; over UDP there is none to
    /// make.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn connect(
        &self,
        (host, port): (&str, u16),
        udp: bool,
        timeout: Duration,
    ) -> Result<SocketAddr, String> {
        let call = Call::Connect {
            host: host.to_owned(),
            port,
            udp,
            timeout,
        };
        match self.registry.link(&self.names[0])?.call(call)? {
            Reply::Address(address) => Ok(address),
            other => Err(format!("an agent gave no address, but {other:?}")),
        }
    }

    /// Makes one connection over TLS or QUIC from the first of them, so that what cannot work is said before a load.
    ///
    /// # Errors
    /// What cannot work.
    pub fn probe(
        &self,
        target: &Target,
        tls: &TlsOptions,
        timeout: Duration,
    ) -> Result<(), (String, Option<Remedy>)> {
        self.tried(Call::Probe {
            target: target.clone(),
            tls: Box::new(tls.clone()),
            timeout,
        })
    }

    /// Reaches a server through a proxy from the first of them, so that what cannot work is said before a load.
    ///
    /// # Errors
    /// What cannot work.
    pub fn dial(
        &self,
        target: &Target,
        proxy: &Proxy,
        timeout: Duration,
    ) -> Result<(), (String, Option<Remedy>)> {
        let Target::Tcp(address) = *target else {
            return Ok(());
        };
        self.tried(Call::Dial {
            address,
            proxy: Box::new(proxy.clone()),
            timeout,
        })
    }

    /// Makes a call that may be refused, to the first of them.
    fn tried(&self, call: Call) -> Result<(), (String, Option<Remedy>)> {
        let name = &self.names[0];
        let answered = self.registry.link(name).and_then(|link| link.call(call));
        match answered.map_err(|error| (error, None))? {
            Reply::Refused(why, remedy) => Err((format!("host {name}: {why}"), Some(remedy))),
            _ => Ok(()),
        }
    }

    /// The slow client's agent, if there is one, which is started unless it is there.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn slow_link(&self) -> Result<Option<Arc<Link>>, String> {
        let slow = self.slow.as_ref();
        slow.map(|slow| self.registry.link(&slow.host)).transpose()
    }

    /// Returns the agents of all hosts. Starts those that are not there.
    ///
    /// # Errors
    /// When one cannot be started.
    pub fn links(&self) -> Result<Vec<Arc<Link>>, String> {
        self.names
            .iter()
            .map(|name| self.registry.link(name))
            .collect()
    }
}

/// Task of an agent: its link, the plan, and its part of it.
type Task<'p> = (Arc<Link>, &'p Plan, LoadShare);

/// One machine's part in a load.
struct Member<'a> {
    link: Arc<Link>,
    offset: Offset,
    /// Records of this machine alone.
    alone: Gather<'a>,
    /// Workers that have not said their last word.
    left: u32,
    late_start: Nanos,
    /// Whether this is the slow client, whose requests are no part of the load.
    measuring: bool,
}

impl Generator for Fleet {
    fn is_here(&self) -> bool {
        false
    }

    fn load(
        &self,
        plan: &Plan,
        interrupt: &Interrupt,
        controller: &mut dyn LoadController,
    ) -> Result<Observation, Error> {
        plan.validate()?;
        // A load of few connections (a pilot's first has one) comes from as few machines as that takes.
        let machines = (plan.load.connections / plan.load.threads.max(1)).max(1) as usize;
        let machines = machines.min(self.names.len());
        let workers = plan.load.threads * machines as u32;
        let (sender, heard) = mpsc::channel();
        let at_once = controller.at_once();
        let beside = match &self.slow {
            Some(slow) => Some(
                slow.plan(plan)
                    .map_err(|why| Error::Elsewhere(why.into()))?,
            ),
            None => None,
        };
        let orders = self.orders(plan, machines, beside.as_ref());
        let mut members = Vec::new();
        for (number, (link, plan, part)) in
            orders.map_err(Error::Elsewhere)?.into_iter().enumerate()
        {
            link.tell(number, sender.clone());
            let cpus = self.beside.get(link.name());
            let order = LoadOrder {
                plan: Plan {
                    cpus: cpus.unwrap_or(&link.host().cpus).clone(),
                    ..plan.clone()
                },
                part,
                at_once,
            };
            let offset = link.offset().map_err(Error::Elsewhere)?;
            link.say(&ToAgent::Load(Box::new(order)))
                .map_err(Error::Elsewhere)?;
            members.push(Member {
                measuring: number >= machines,
                link,
                offset,
                alone: Gather::new(plan, plan.load.threads),
                left: plan.load.threads,
                late_start: 0,
            });
        }
        let control = Arc::new(at_once.map_or_else(Control::default, Control::at_once));
        interrupt.guard(&control);
        let fleet_control = FleetControl {
            control: &control,
            links: members.iter().map(|it| Arc::clone(&it.link)).collect(),
            slowest: members
                .iter()
                .map(|it| it.offset.round_trip)
                .max()
                .unwrap_or(0),
            measured: Mutex::default(),
        };
        let gather = Gather::new(plan, workers);
        let mut conversation = Conversation {
            unready: 1 + u32::from(beside.is_some()),
            members,
            gather,
            control: &control,
            fleet_control: &fleet_control,
            controller,
            failed: None,
        };
        conversation.go_on(&heard);
        conversation.end(self.link)
    }

    /// Each agent does so for its own share.
    fn reserve(&self, _connections: u64) -> Result<(), TooFewDescriptors> {
        Ok(())
    }

    fn reachable(&self) -> Result<(), String> {
        self.links()?;
        self.slow_link().map(drop)
    }
}

impl Fleet {
    /// Returns the tasks of the first `machines` hosts, and last that of the slow client, if there is one. `beside` is
    /// the slow client's plan.
    fn orders<'p>(
        &self,
        plan: &'p Plan,
        machines: usize,
        beside: Option<&'p Plan>,
    ) -> Result<Vec<Task<'p>>, String> {
        let workers = plan.load.threads * machines as u32;
        let share = |(number, link)| {
            let first = number as u32 * plan.load.threads;
            (link, plan, LoadShare { first, workers })
        };
        let links = self.links()?.into_iter().take(machines);
        let mut orders: Vec<_> = links.enumerate().map(share).collect();
        if let Some((link, plan)) = self.slow_link()?.zip(beside) {
            orders.push((link, plan, LoadShare::whole(plan)));
        }
        Ok(orders)
    }
}

/// A load under way.
struct Conversation<'a, 's> {
    members: Vec<Member<'a>>,
    /// The load and the slow client, as long as not all of their workers are ready.
    unready: u32,
    gather: Gather<'a>,
    control: &'s Control,
    fleet_control: &'s FleetControl<'s>,
    controller: &'s mut dyn LoadController,
    /// Why its figures cannot be used.
    failed: Option<String>,
}

impl Conversation<'_, '_> {
    /// Hears all agents until each has said its last word, or is lost.
    fn go_on(&mut self, heard: &mpsc::Receiver<(usize, AgentEvent)>) {
        let mut stopping = false;
        while self.members.iter().any(|member| member.left > 0) {
            match heard.recv_timeout(LOOK) {
                Ok((number, AgentEvent::Said(said))) => self.hear(number, said),
                Ok((number, AgentEvent::Lost(why))) => self.lose(number, &why),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    for number in 0..self.members.len() {
                        if self.members[number].left > 0
                            && let Some(why) = self.members[number].link.lost()
                        {
                            self.lose(number, &why);
                        }
                    }
                }
            }
            let over = (self.members.iter()).all(|member| member.measuring || member.left == 0);
            if (over || self.control.stopped()) && !stopping {
                stopping = true;
                self.fleet_control.tell_all(|_| ToAgent::Stop);
            }
        }
    }

    fn hear(&mut self, number: usize, said: FromAgent) {
        let member = &mut self.members[number];
        match said {
            FromAgent::Part(message) => {
                let message = message.on_clock(-member.offset.by);
                member.left -= u32::from(message.is_last());
                let mut ready =
                    (member.alone).receive(message.clone(), self.control, &mut |_: &Window| {});
                if !member.measuring {
                    let mut progress = Steered {
                        controller: self.controller,
                        fleet_control: self.fleet_control,
                    };
                    ready = self.gather.receive(message, self.control, &mut progress);
                }
                self.unready -= u32::from(ready);
                if ready && self.unready == 0 {
                    self.begin();
                }
            }
            FromAgent::Began(late) => member.late_start = late,
            FromAgent::Measured(from, until) => {
                let asked = *self
                    .fleet_control
                    .measured
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                if asked != Some((from, until)) {
                    let name = member.link.name().to_owned();
                    self.fail(format!(
                        "host {name} heard too late when the measurement begins: its connection was held up"
                    ));
                }
            }
            FromAgent::Refused(why) => {
                member.left = 0;
                let name = member.link.name().to_owned();
                self.fail(format!("host {name}: {why}"));
            }
            other => {
                let name = member.link.name().to_owned();
                self.fail(format!("host {name} said something unexpected: {other:?}"));
            }
        }
    }

    /// All are ready: lets them begin at the same time.
    fn begin(&mut self) {
        let start = clock::now() + NOTICE + 2 * self.fleet_control.slowest;
        self.control.begin_at(start);
        for member in &self.members {
            // An agent that does not hear it is lost, which fails the load.
            let _ = member
                .link
                .say(&ToAgent::BeginAt(member.offset.there(start)));
        }
        self.controller.began(start, self.fleet_control);
    }

    fn lose(&mut self, number: usize, why: &str) {
        let member = &mut self.members[number];
        if member.left > 0 {
            member.left = 0;
            let name = member.link.name().to_owned();
            self.fail(format!(
                "agent-lost: host {name} was lost under the load: {why}"
            ));
        }
    }

    fn fail(&mut self, why: String) {
        self.failed.get_or_insert(why);
        self.control.stop();
    }

    /// Returns the observation of all machines together, with that of each.
    fn end(self, link: Option<f64>) -> Result<Observation, Error> {
        if let Some(why) = self.failed {
            return Err(Error::Elsewhere(why));
        }
        let (mut seen, _) = self.gather.observation(self.control)?;
        for member in self.members {
            let (alone, _) = member.alone.observation(self.control)?;
            seen.by_host.push(ByHost {
                host: member.link.name().to_owned(),
                connections: alone.per_connection.len() as u64,
                outcomes: alone.outcomes,
                times: Distributions {
                    response: alone.times.response,
                    late: alone.times.late,
                    effective: alone.times.effective,
                    ..Distributions::default()
                },
                generator: alone.generator,
                clock_error_ns: member.offset.error,
                late_start_ns: member.late_start,
                link_bytes_per_second: link,
                measuring: member.measuring,
            });
        }
        Ok(seen)
    }
}

struct Steered<'a, 's> {
    controller: &'a mut dyn LoadController,
    fleet_control: &'a FleetControl<'s>,
}

impl Progress for Steered<'_, '_> {
    fn window(&mut self, window: &Window) {
        self.controller.window(window, self.fleet_control);
    }
}

/// Steers all agents.
struct FleetControl<'a> {
    control: &'a Control,
    links: Vec<Arc<Link>>,
    /// The longest round trip to one of them.
    slowest: Nanos,
    /// Start and end of the measurement as announced to the agents, since the start of the load; none before.
    measured: Mutex<Option<(Nanos, Nanos)>>,
}

impl FleetControl<'_> {
    fn tell_all(&self, message: impl Fn(&Link) -> ToAgent) {
        for link in &self.links {
            // A lost agent does not hear it; that it is lost is known already.
            let _ = link.say(&message(link));
        }
    }
}

impl LoadControl for FleetControl<'_> {
    fn elapsed(&self) -> Nanos {
        self.control.elapsed().unwrap_or(0)
    }

    fn measure(&self, from: Nanos, until: Nanos) -> (Nanos, Nanos) {
        let notice = MEASURE_NOTICE + 2 * self.slowest;
        let late = (self.elapsed() + notice).saturating_sub(from);
        let (from, until) = self
            .control
            .measure(from + late, until.saturating_add(late));
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = Some((from, until));
        self.tell_all(|_| ToAgent::Measure(from, until));
        (from, until)
    }

    fn stop(&self) {
        self.control.stop();
    }
}
