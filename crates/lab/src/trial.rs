//! The one way in which a server is brought up, measured and recorded, whatever for.
//!
//! [`Lab::bring_up`] starts a server and verifies it, [`Up::warm_up`] and [`Up::measure`] load it,
//! [`Up::verify_again`] proves that it still keeps its contract, and
//! [`TrialHeader::recording`](crate::recording::TrialHeader::recording) puts down what was measured, with what the
//! checks found. A run does this once for each trial; duels,
//! calibrations and capacity searches measure the same server several times between.

use crate::as_given::AsGiven;
use crate::closing;
use crate::contract::Depth;
use crate::generator::{Generator, LoadControl, LoadController};
use crate::host::{Host, Started, VerifySpec, Watched, Watcher};
use crate::idle::HeldConnections;
use crate::interrupt::Interrupt;
use crate::requests::begun;
use crate::rest::Rest;
use crate::service::ServiceRoot;
use crate::side::{Candidate, HttpStreams, Side, What};
use crate::tree::Root;
use crate::warmup::{LEAD_IN, WarmUp, Warming, until};
use crate::workload::Workload;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Plan, clock};
use prony_record::{Durations, Extent, Failure, Load, Observation, Phase, Resources, Step, Window};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;
use std::time::{Duration, Instant};

/// With what measurements are made, and what ends them all.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    /// Where servers run.
    pub host: &'a dyn Host,
    /// Generator that loads them.
    pub generator: &'a dyn Generator,
    /// The user's.
    pub interrupt: &'a Interrupt,
}

impl fmt::Debug for Lab<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab").finish_non_exhaustive()
    }
}

/// Progress of a measurement while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// An activity begins.
    Doing(TrialActivity),
    /// When the measurement ends is settled: in nanoseconds since the load began, `Nanos::MAX` where a number of requests
    /// ends it.
    Measured {
        /// The end.
        until: Nanos,
    },
    /// A window has ended.
    Window {
        /// The window.
        window: &'a Window,
        /// How many CPUs the server used when it was last looked at; none before there are two looks.
        server: Option<f64>,
    },
}

/// Activity with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialActivity {
    /// A step of a trial.
    Step(Step),
    /// Finding out how it is to be measured.
    Pilot,
    /// Opening connections on which nothing is sent.
    Idle,
    /// Loading it until it is steady.
    WarmUp,
    /// Loading it as fast as answers come.
    Saturation,
    /// Loading it at a rate that it shares with others.
    CommonRate,
    /// Loading it at another rate, to see what a request costs there.
    OtherRate,
    /// Loading it at that rate to see what a request costs it, part by part.
    Anatomy,
}

impl TrialActivity {
    /// In words.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Step(step) => step.phrase(),
            Self::Pilot => "a pilot",
            Self::Idle => "opening idle connections",
            Self::WarmUp => "warming up",
            Self::Saturation => "as fast as it can",
            Self::CommonRate => "at the common rate",
            Self::OtherRate => "at another rate",
            Self::Anatomy => "the anatomy of a request",
        }
    }
}

/// Hears of progress.
pub type OnProgress<'t> = &'t mut dyn FnMut(Progress<'_>);

/// A server that is up and verified.
pub struct Up<'a> {
    lab: Lab<'a>,
    server: Box<dyn Started>,
    upstream: Option<Box<dyn Started>>,
    dialogue: Dialogue,
    workload: &'a Workload,
    as_given: Option<AsGiven>,
    http2: Option<HttpStreams>,
    seed: u64,
    /// Seeds of the arrivals of its loads, one after the other.
    loads: Xoshiro256PlusPlus,
    /// Whether connections that it is asked to close stay open; None: not tried yet.
    ignores_close: Option<bool>,
    /// Idle connections, from the first load on; None without --idle-connections.
    idle: Option<HeldConnections>,
    begun: Instant,
    verified: Duration,
    /// Result and windows of the warm-up, until they have been recorded.
    warmed: Option<(WarmUp, Vec<Window>)>,
}

/// A measurement, made in one go or in several of the same kind.
#[derive(Debug, Clone)]
pub struct MeasuredTrial {
    /// Observation of the generator.
    pub seen: Observation,
    /// Resources that the server and the host used.
    pub used: Resources,
    /// How the warm-up went.
    pub warm_up: WarmUp,
    /// CPU time of the server while others were loaded.
    pub rested: Rest,
    /// Statements that its database executed for the right answers, at the least, as a file of requests says.
    pub least_statements: u64,
}

impl MeasuredTrial {
    /// Adds another measurement of the same kind.
    pub fn merge(&mut self, other: &Self) {
        self.seen.merge(&other.seen);
        self.used.merge(&other.used);
        self.rested.add(other.rested);
        self.least_statements += other.least_statements;
    }

    /// CPU time of the server per request that was served, in nanoseconds.
    #[must_use]
    pub fn cpu_per_request(&self) -> Option<f64> {
        self.used
            .cpu_per_request(self.seen.served(), self.seen.measured_ns)
    }
}

impl<'a> Lab<'a> {
    /// Starts a side, unless another program has, puts an upstream behind it if it is a gateway, and
    /// verifies it. `load` is the one that it will be under.
    ///
    /// # Errors
    /// When it does not start, or does not answer as it should.
    pub fn bring_up(
        self,
        side: &Side,
        workload: &'a Workload,
        upstream: Option<&Candidate<'_>>,
        load: &Load,
        depth: Depth,
        on_progress: OnProgress<'_>,
    ) -> Result<Up<'a>, Failure> {
        let begun = Instant::now();
        self.generator
            .reserve(u64::from(load.max_connections()) + u64::from(load.idle_connections))
            .map_err(|error| Failure::new(Step::Load, error.to_string()))?;
        on_progress(Progress::Doing(TrialActivity::Step(Step::Start)));
        let mut server = match &side.what {
            What::Running(running) => self.host.attach(running, workload)?,
            What::Started {
                server,
                built,
                workers,
            } => self.host.start(&Candidate {
                server,
                built,
                workers: *workers,
                contract: workload.contract(),
                role: side.role,
                over: side.over(),
                key: side.key.unwrap_or_default(),
            })?,
        };
        on_progress(Progress::Doing(TrialActivity::Step(Step::Verify)));
        let verifying = Instant::now();
        let seed = rand::random();
        let http2 = side.http2;
        let as_given = match &side.what {
            What::Running(running) => running.as_given.as_deref().cloned(),
            What::Started { .. } => None,
        };
        let proof = VerifySpec {
            workload,
            http2,
            depth,
            seed,
        };
        server.verify(Step::Verify, &proof)?;
        let verified = verifying.elapsed();
        // The upstream that verified it counts and changes what it says; a real one is what is loaded.
        let upstream = match upstream {
            None => None,
            Some(upstream) => Some(self.host.attach_upstream(&mut *server, upstream)?),
        };
        let dialogue = server.dialogue(&proof, load)?;
        Ok(Up {
            lab: self,
            server,
            upstream,
            dialogue,
            workload,
            as_given,
            http2,
            seed,
            loads: Xoshiro256PlusPlus::seed_from_u64(rand::random()),
            ignores_close: None,
            idle: None,
            begun,
            verified,
            warmed: None,
        })
    }
}

/// Callbacks beside a measurement.
pub struct Beside<'a> {
    /// Told what is measured before it begins, as times of the host's clock.
    pub measured: &'a dyn Fn(Nanos, Nanos),
    /// After a window: has enough been seen? Then the measurement ends before its time.
    pub enough: &'a dyn Fn(&Window) -> bool,
}

impl Default for Beside<'_> {
    fn default() -> Self {
        Self {
            measured: &|_, _| {},
            enough: &|_| false,
        }
    }
}

impl Up<'_> {
    /// Command line of the server; empty when another program has started it.
    pub fn command(&self) -> String {
        self.server.command().join(" ")
    }

    /// The process that all of its processes come from; None when it is not known.
    pub fn root(&self) -> Option<Root> {
        self.server.root()
    }

    /// Services that it was started with; none where they run on another machine.
    pub fn services(&self) -> Vec<ServiceRoot> {
        self.server.services()
    }

    /// CPU time that its processes have used so far, in nanoseconds; None when they are not known.
    pub fn cpu_time(&self) -> Option<u64> {
        self.server.cpu_time()
    }

    /// Stops it, and its upstream, while it rests, where that can be done.
    pub fn pause(&mut self) {
        self.server.pause();
        if let Some(upstream) = &mut self.upstream {
            upstream.pause();
        }
    }

    /// Lets it go on.
    pub fn resume(&mut self) {
        if let Some(upstream) = &mut self.upstream {
            upstream.resume();
        }
        self.server.resume();
    }

    /// CPUs that threads of the generator have to themselves; 0 where it shares them with the server, or is elsewhere.
    pub fn generator_cpus(&self) -> u32 {
        self.lab.host.placement().pinned().len() as u32
    }

    /// The end of what it printed.
    pub fn output(&self) -> String {
        self.server.output()
    }

    /// From here on, requests of a rate come when this seed says: servers that are compared get the same arrivals.
    pub fn draw_from(&mut self, seed: u64) {
        self.loads = Xoshiro256PlusPlus::seed_from_u64(seed);
    }

    /// Loads it unmeasured until it is steady, at the longest for the load's warm-up.
    ///
    /// # Errors
    /// When it ends under the load, or the generator cannot go on.
    pub fn warm_up(&mut self, load: &Load, on_progress: OnProgress<'_>) -> Result<(), Failure> {
        self.hold(load, on_progress)?;
        on_progress(Progress::Doing(TrialActivity::WarmUp));
        let length = Extent::Duration(load.window);
        let mut warming = Warming::new(load.warmup, length);
        let plan = self.plan(load, rand::random());
        let mut controller = Until {
            warming: &mut warming,
            on_progress,
            server: &mut *self.server,
        };
        let seen = self
            .lab
            .generator
            .load(&plan, self.lab.interrupt, &mut controller);
        let seen = self.survived(seen)?;
        let windows = seen.windows.into_iter().map(|window| Window {
            phase: Phase::Warmup,
            ..window
        });
        self.warmed = Some((warming.result(), windows.collect()));
        Ok(())
    }

    /// Loads it and measures: after a warm-up if the load has one and it is not warm yet, else at once.
    ///
    /// # Errors
    /// When it, or its upstream, ends under the load, or the generator cannot go on.
    pub fn measure(
        &mut self,
        load: &Load,
        on_progress: OnProgress<'_>,
    ) -> Result<MeasuredTrial, Failure> {
        self.measure_beside(load, on_progress, &Beside::default())
    }

    /// The same, with something else that goes on meanwhile.
    ///
    /// # Errors
    /// As [`measure`](Self::measure).
    pub fn measure_beside(
        &mut self,
        load: &Load,
        on_progress: OnProgress<'_>,
        beside: &Beside<'_>,
    ) -> Result<MeasuredTrial, Failure> {
        self.hold(load, on_progress)?;
        let watch = self
            .lab
            .host
            .watch(&*self.server, self.upstream.as_deref(), load.window.0);
        let cold = load.warmup.0.is_zero() || self.warmed.is_some();
        let seed = self.loads.next_u64();
        let plan = self.plan(load, seed);
        let mut controller = Steering {
            extent: load.extent,
            lead_in: clock::nanos(load.lead_in.0),
            warming: (!cold).then(|| Warming::new(load.warmup, load.extent)),
            start: 0,
            watch: &*watch,
            beside,
            on_progress,
            server: &mut *self.server,
        };
        let seen = self
            .lab
            .generator
            .load(&plan, self.lab.interrupt, &mut controller);
        let warm_up = controller.warming.map(|warming| warming.result());
        let start = controller.start;
        let watched = watch.finish();
        let mut seen = self.survived(seen)?;
        // Of a server that is loaded from elsewhere this machine may see nothing.
        if !load.keepalive && seen.by_host.is_empty() && !self.lab.interrupt.fired() {
            let ignores = self.ignores_close;
            seen.close_ignored = ignores.unwrap_or_else(|| closing::is_ignored(&plan));
            self.ignores_close = Some(seen.close_ignored);
        }
        seen.idle = self.idle.as_ref().map(HeldConnections::seen);
        attribute(&mut seen.windows, start, &watched);
        let generator = seen.generator.work_ns + seen.generator.spin_ns;
        let used = watched
            .resources(generator)
            .counted_within(seen.measured_ns);
        let warm_up = match (warm_up, &mut self.warmed) {
            (Some(own), _) => own,
            // Of a server that is measured several times the warm-up stands before the first.
            (None, Some((warm_up, windows))) => {
                let measured = std::mem::take(&mut seen.windows);
                seen.windows = prony_record::window::followed_by(std::mem::take(windows), measured);
                *warm_up
            }
            // A load without a warm-up was not to have one.
            (None, None) => WarmUp {
                length: 0,
                steady: true,
            },
        };
        let least_statements = match &self.dialogue {
            Dialogue::Mix(mix) => mix.least_statements(&seen.by_request),
            _ => 0,
        };
        Ok(MeasuredTrial {
            seen,
            used,
            warm_up,
            rested: Rest::default(),
            least_statements,
        })
    }

    /// Opens the idle connections, unless they are open.
    fn hold(&mut self, load: &Load, on_progress: OnProgress<'_>) -> Result<(), Failure> {
        if load.idle_connections == 0 || self.idle.is_some() {
            return Ok(());
        }
        let failure = |message: String| Failure::new(Step::Load, message);
        let tls = self.server.tls();
        let http3 = tls.as_ref().is_some_and(TlsOptions::is_http3);
        let refused = match self.lab.generator.is_here() {
            false => Some(
                "prony opens idle connections from this machine, and the load comes from others",
            ),
            true if http3 => Some("prony opens idle connections over TCP, and HTTP/3 uses UDP"),
            true => None,
        };
        if let Some(why) = refused {
            return Err(failure(why.to_owned()));
        }
        on_progress(Progress::Doing(TrialActivity::Idle));
        let held = HeldConnections::open(
            load.idle_connections,
            (&self.server.target(), tls.as_ref()),
            load.timeout.0,
            self.server.root().as_ref(),
            &|| self.lab.interrupt.fired(),
        );
        self.idle = Some(held.map_err(failure)?);
        Ok(())
    }

    /// The plan of a load. Its requests come when `seed` says, unless the user has given another one.
    fn plan(&self, load: &Load, seed: u64) -> Plan {
        let as_given = self.as_given.as_ref();
        let load = match &self.dialogue {
            // The rate of a load as given speaks of sessions already.
            Dialogue::Mix(mix) if as_given.is_none() => begun::for_requests(load.clone(), mix),
            _ => load.clone(),
        };
        let tls = self.server.tls().map(|options| TlsOptions {
            resumption: options.resumption && load.resumption,
            ..options
        });
        let (addresses, name) = self.server.addresses();
        Plan {
            tls,
            addresses,
            name,
            proxy: self.server.proxy(),
            seed: as_given.map_or(seed, |it| it.seed),
            values: as_given.is_none().then(rand::random),
            spread: clock::nanos(load.lead_in.0) / LEAD_IN,
            cpus: match as_given {
                Some(as_given) => as_given.cpus.clone(),
                None => self.lab.host.placement().pinned().to_vec(),
            },
            ..Plan::new(load, self.server.target(), self.dialogue.clone())
        }
    }

    /// The load is over: it must not have killed the server or its upstream.
    fn survived(
        &mut self,
        result: Result<Observation, prony_engine::Error>,
    ) -> Result<Observation, Failure> {
        let all = [
            ("it", Some(&mut self.server)),
            ("its upstream", self.upstream.as_mut()),
        ];
        for (which, server) in all {
            let Some(server) = server else { continue };
            if let Some(exit) = server.exited() {
                let message = format!("{which} {exit} under the load");
                return Err(Failure::new(Step::Load, message).with_output(server.output()));
            }
        }
        result.map_err(|error| {
            Failure::new(Step::Load, error.to_string()).with_output(self.server.output())
        })
    }

    /// Proves, after a load, that it still keeps its contract.
    ///
    /// # Errors
    /// What was expected and what was found.
    pub fn verify_again(&mut self, on_progress: OnProgress<'_>) -> Result<(), Failure> {
        on_progress(Progress::Doing(TrialActivity::Step(Step::VerifyAgain)));
        let verifying = Instant::now();
        let proof = VerifySpec {
            workload: self.workload,
            http2: self.http2,
            depth: Depth::Quick,
            // Other values than before the load, which it may have kept.
            seed: self.seed.wrapping_add(1),
        };
        self.server.verify(Step::VerifyAgain, &proof)?;
        self.verified += verifying.elapsed();
        Ok(())
    }

    /// Ends it; gives how long everything took, of a measurement of this length after such a warm-up.
    pub fn take_down(self) -> Durations {
        let ready_ns = self.server.ready_ns();
        let stopping = Instant::now();
        self.server.stop();
        if let Some(upstream) = self.upstream {
            upstream.stop();
        }
        Durations {
            ready_ns,
            verify_ns: clock::nanos(self.verified),
            warmup_ns: 0,
            measured_ns: 0,
            stop_ns: clock::nanos(stopping.elapsed()),
            total_ns: clock::nanos(self.begun.elapsed()),
        }
    }
}

/// Steers a load until it is steady.
struct Until<'a, 't> {
    warming: &'a mut Warming,
    on_progress: OnProgress<'t>,
    server: &'a mut dyn Started,
}

impl LoadController for Until<'_, '_> {
    fn began(&mut self, _start: Nanos, _control: &dyn LoadControl) {}

    fn window(&mut self, window: &Window, control: &dyn LoadControl) {
        (self.on_progress)(Progress::Window {
            window,
            server: None,
        });
        let over = self.warming.after(window, control.elapsed()).is_some();
        if over || self.server.exited().is_some() {
            control.stop();
        }
    }
}

/// Steers a load that is measured: at once, or after a lead-in or a warm-up.
struct Steering<'a, 't> {
    extent: Extent,
    /// Where there is no warm-up.
    lead_in: Nanos,
    warming: Option<Warming>,
    /// When the load began, on the generator's clock.
    start: Nanos,
    watch: &'a dyn Watcher,
    beside: &'a Beside<'a>,
    on_progress: OnProgress<'t>,
    server: &'a mut dyn Started,
}

impl Steering<'_, '_> {
    fn watch(&mut self, from: Nanos, until: Nanos) {
        (self.on_progress)(Progress::Measured { until });
        let (from, until) = (self.start + from, self.start.saturating_add(until));
        self.watch.measure(from, until);
        (self.beside.measured)(from, until);
    }
}

impl LoadController for Steering<'_, '_> {
    fn at_once(&self) -> Option<Nanos> {
        (self.warming.is_none() && self.lead_in == 0).then(|| until(0, self.extent))
    }

    fn began(&mut self, start: Nanos, control: &dyn LoadControl) {
        self.start = start;
        if let Some(length) = self.at_once() {
            self.watch(0, length);
        } else if self.warming.is_none() {
            let (from, until) = control.measure(self.lead_in, until(self.lead_in, self.extent));
            self.watch(from, until);
        }
    }

    fn window(&mut self, window: &Window, control: &dyn LoadControl) {
        (self.on_progress)(Progress::Window {
            window,
            server: self.watch.used(),
        });
        if let Some((from, until)) = self
            .warming
            .as_mut()
            .and_then(|warming| warming.after(window, control.elapsed()))
        {
            let (from, until) = control.measure(from, until);
            self.watch(from, until);
        }
        // A number of requests would take for ever to fail one by one.
        if self.server.exited().is_some() || (self.beside.enough)(window) {
            control.stop();
        }
    }
}

/// Gives each window what the server used in it. The watch looks at the ends of measured windows; a
/// look belongs to the window that it is nearest to the end of.
fn attribute(windows: &mut [Window], start: Nanos, watched: &Watched) {
    for window in windows {
        let end = start + window.end_ns();
        let look = watched
            .samples
            .windows(2)
            .find(|pair| pair[1].at.abs_diff(end) < window.length_ns / 2);
        if let Some([before, after]) = look {
            window.server_cpu_ns = Some(after.cpu.saturating_sub(before.cpu));
            window.rss_bytes = Some(after.rss);
        }
    }
}
