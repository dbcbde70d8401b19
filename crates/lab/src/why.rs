//! Rounds that show what a request costs each server, part by part, at a rate that all of them keep.
//!
//! In a round every server is started anew and warmed up. Then each is loaded in short segments, some of them plain, some
//! while its stacks are sampled, some while its system calls are counted, some while it is recorded when its threads wait, in a
//! random order and its reverse. None of this happens while a duel measures.

use crate::contract::Depth;
use crate::duel::{DuelError, LoadSpec, WINDOW, warm_up};
use crate::event::{Event, Observer};
use crate::rest::alone;
use crate::service::ServiceRoot;
use crate::side::Side;
use crate::tree::Root;
use crate::trial::{Beside, Lab, MeasuredTrial, Progress, TrialActivity, Up};
use crate::warmup::{ANSWERS, LEAD_IN};
use prony_anatomy::{Namer, PERIOD, Probe, THREADS, call_name};
pub use prony_anatomy::{ProbeMode, Refused};
use prony_engine::Nanos;
use prony_record::anatomy::{Dissection, Dissections, Spent};
use prony_record::{Design, Extent, Failure, Load, Span, inert};
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long each server is loaded in each half of a round, unless asked otherwise; the ways of looking have parts of it.
pub const LENGTH: Duration = Duration::from_secs(1);
/// Rounds unless asked otherwise.
pub const ROUNDS: u32 = 8;
/// Each way of looking, with its part of the time that a side is loaded in each half of a round. Samples need it most, and the whole,
/// which is told by what was plain.
const LOOKS: [(ProbeMode, f64); 4] = [
    (ProbeMode::Stacks, 0.8),
    PLAIN,
    (ProbeMode::Calls, 0.2),
    (ProbeMode::Waits, 0.25),
];
const PLAIN: (ProbeMode, f64) = (ProbeMode::Plain, 0.6);

/// Looks into servers.
pub trait Anatomist {
    /// Gets ready to look at the processes that come from this one, which run on these CPUs.
    ///
    /// # Errors
    /// When the system does not allow it.
    fn probe(
        &self,
        root: Root,
        cpus: &[usize],
        look: ProbeMode,
    ) -> Result<Box<dyn RunningProbe + '_>, Refused>;

    /// Removes what these processes, which have ended, have left behind for those who look into them.
    fn clean_up(&self, ended: &[libc::pid_t]);
}

/// A look at a server while it is measured.
pub trait RunningProbe {
    /// Says what is measured, before it begins, on the host's clock.
    fn measure(&self, from: Nanos, until: Nanos);

    /// Returns the observations; the server must still be there.
    fn finish(self: Box<Self>) -> Sight;
}

/// Observations of a server in one measurement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sight {
    /// Samples by folded stack; of [`ProbeMode::Waits`], nanoseconds.
    pub stacks: BTreeMap<String, u64>,
    /// System calls by name.
    pub calls: BTreeMap<String, u64>,
    /// Counts that the kernel keeps anyway, by name.
    pub counts: BTreeMap<String, f64>,
    /// Samples and system calls that were lost.
    pub lost: u64,
    /// Why functions have no names, in words.
    pub unnamed: Vec<String>,
}

/// Anatomist that uses this machine's kernel.
#[derive(Debug, Default)]
pub struct LocalAnatomist {
    namer: Namer,
}

struct LocalProbe<'a> {
    probe: Probe,
    namer: &'a Namer,
}

impl Anatomist for LocalAnatomist {
    fn probe(
        &self,
        root: Root,
        cpus: &[usize],
        look: ProbeMode,
    ) -> Result<Box<dyn RunningProbe + '_>, Refused> {
        let probe = Probe::open(root.pid.unsigned_abs(), root.belongs, cpus, look)?;
        Ok(Box::new(LocalProbe {
            probe,
            namer: &self.namer,
        }))
    }

    fn clean_up(&self, ended: &[libc::pid_t]) {
        prony_anatomy::forget(ended);
    }
}

impl RunningProbe for LocalProbe<'_> {
    fn measure(&self, from: Nanos, until: Nanos) {
        self.probe.measure(from, until);
    }

    fn finish(self: Box<Self>) -> Sight {
        let taken = self.probe.finish();
        let mut stacks = BTreeMap::new();
        for (stack, n) in self.namer.folded(&taken) {
            // The names are the program's, which may call its functions anything.
            *stacks.entry(inert::line(&stack).into_owned()).or_default() += n;
        }
        Sight {
            stacks,
            unnamed: self.namer.unnamed(),
            calls: (taken.calls.iter())
                .map(|(number, n)| (call_name(*number), *n))
                .collect(),
            counts: (taken.counts.iter())
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect(),
            lost: taken.lost,
        }
    }
}

/// Rounds that show what a request costs.
pub struct Why<'a> {
    /// With what it is measured.
    pub lab: Lab<'a>,
    /// Looks into the servers.
    pub anatomist: &'a dyn Anatomist,
    /// The servers.
    pub sides: &'a [Side],
    /// How they are loaded.
    pub spec: &'a LoadSpec,
    /// How they are measured, as a pilot has shown, which has verified them.
    pub design: &'a Design,
    /// How long each is loaded in each half of a round, one way of looking; the others have a part of that.
    pub duration: Duration,
    /// Requests per second.
    pub rate: f64,
    /// How many rounds.
    pub rounds: u32,
}

/// Result of the rounds, and why there are fewer than were asked for.
#[derive(Debug)]
pub struct WhyResult {
    /// The whole rounds; perhaps none.
    pub seen: Dissections,
    /// The server that failed in the round after them, if one did.
    pub failure: Option<DuelError>,
}

impl Why<'_> {
    /// Carries it out. What the system does not allow is left out, and said in the result. An interrupt or a server that
    /// fails ends it; whole rounds are kept.
    pub fn carry_out(&self, observer: Observer<'_>) -> WhyResult {
        let mut seen = Dissections {
            names: self.sides.iter().map(|side| side.name.clone()).collect(),
            rate: self.rate,
            ..Dissections::default()
        };
        let profiled: Vec<Option<Side>> = self.sides.iter().map(Side::profiled).collect();
        let mut looks = LOOKS.to_vec();
        let mut failure = None;
        for number in 0..self.rounds {
            observer(Event::Anatomy(number, self.rounds));
            let round = self.round(&profiled, &mut looks, &mut seen.refused, observer);
            let round = round.and_then(|round| match round {
                Some(mut round) => self
                    .without(&profiled, &mut round, observer)
                    .map(|whole| whole.then_some(round)),
                None => Ok(None),
            });
            match round {
                Ok(Some(round)) => seen.rounds.push(round),
                Ok(None) => break,
                Err(_) if self.lab.interrupt.fired() => break,
                Err((side, why)) => {
                    failure = Some(DuelError::Side { side, failure: why });
                    break;
                }
            }
        }
        WhyResult { seen, failure }
    }

    /// Loads the servers to which their manifests add something also without it, one after the other; false: interrupted.
    fn without(
        &self,
        profiled: &[Option<Side>],
        round: &mut [Dissection],
        observer: Observer<'_>,
    ) -> Result<bool, (String, Failure)> {
        let added = self.sides.iter().zip(profiled).zip(round);
        for ((side, _), into) in added.filter(|((_, profiled), _)| profiled.is_some()) {
            if self.lab.interrupt.fired() {
                return Ok(false);
            }
            let mut on_progress =
                |progress: Progress<'_>| observer(Event::Progress(&side.name, progress));
            let plain = self.unprofiled(side, &mut on_progress);
            into.unprofiled = Some(plain.map_err(|failure| (side.name.clone(), failure))?);
        }
        Ok(true)
    }

    /// Measures what requests cost a server without its manifest's additions.
    fn unprofiled(
        &self,
        side: &Side,
        on_progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Spent, Failure> {
        let warm = warm_up(self.design, &self.spec.load);
        let workload = &self.spec.workload;
        let mut up = (self.lab).bring_up(side, workload, None, &warm, Depth::Quick, on_progress)?;
        up.warm_up(&warm, on_progress)?;
        let mut seen = Dissection::default();
        for _ in 0..2 {
            on_progress(Progress::Doing(TrialActivity::Anatomy));
            self.segment(&mut up, PLAIN, &mut seen, on_progress)?;
        }
        up.take_down();
        Ok(seen.plain)
    }

    fn round(
        &self,
        profiled: &[Option<Side>],
        looks: &mut Vec<(ProbeMode, f64)>,
        refused: &mut Vec<String>,
        observer: Observer<'_>,
    ) -> Result<Option<Vec<Dissection>>, (String, Failure)> {
        let failed = |i: usize| move |failure| (self.sides[i].name.clone(), failure);
        let warm = warm_up(self.design, &self.spec.load);
        let mut up = Vec::new();
        for (i, side) in self.sides.iter().enumerate() {
            let mut on_progress =
                |progress: Progress<'_>| observer(Event::Progress(&side.name, progress));
            let workload = &self.spec.workload;
            let side = profiled[i].as_ref().unwrap_or(side);
            let one =
                self.lab
                    .bring_up(side, workload, None, &warm, Depth::Quick, &mut on_progress);
            up.push(one.map_err(failed(i))?);
        }
        for (i, (side, up)) in self.sides.iter().zip(&mut up).enumerate() {
            let mut on_progress =
                |progress: Progress<'_>| observer(Event::Progress(&side.name, progress));
            up.warm_up(&warm, &mut on_progress).map_err(failed(i))?;
        }
        self.leave_out(&up, looks, refused);
        let mut order: Vec<(usize, (ProbeMode, f64))> = (0..up.len())
            .flat_map(|side| looks.iter().map(move |look| (side, *look)))
            .collect();
        order.shuffle(&mut rand::rng());
        let mut round = vec![
            Dissection {
                period_ns: PERIOD,
                ..Dissection::default()
            };
            up.len()
        ];
        for &(i, look) in order.iter().chain(order.iter().rev()) {
            if self.lab.interrupt.fired() {
                return Ok(None);
            }
            let name = &self.sides[i].name;
            observer(Event::Progress(
                name,
                Progress::Doing(TrialActivity::Anatomy),
            ));
            let mut on_progress =
                |progress: Progress<'_>| observer(Event::Progress(name, progress));
            let (unnamed, _) = alone(&mut up, i, self.design.paused, |one| {
                self.segment(one, look, &mut round[i], &mut on_progress)
            });
            for why in unnamed.map_err(failed(i))? {
                if !refused.contains(&why) {
                    refused.push(why);
                }
            }
        }
        for (up, profiled) in up.into_iter().zip(profiled) {
            let root = up.root().filter(|_| profiled.is_some());
            let processes = root.map_or_else(Vec::new, Root::processes);
            up.take_down();
            self.anatomist.clean_up(&processes);
        }
        Ok(Some(round))
    }

    /// Leaves out what the system does not allow, and says so once.
    fn leave_out(
        &self,
        up: &[Up<'_>],
        looks: &mut Vec<(ProbeMode, f64)>,
        refused: &mut Vec<String>,
    ) {
        let unknown = up.iter().any(|up| up.root().is_none());
        looks.retain(|(look, _)| {
            let Some(root) = up.first().and_then(Up::root).filter(|_| !unknown) else {
                return *look == ProbeMode::Plain;
            };
            match self.anatomist.probe(root, &self.cpus(root), *look) {
                Ok(_) => true,
                Err(why) => {
                    refused.push(why.to_string());
                    false
                }
            }
        });
    }

    /// CPUs that a server runs on: those of its placement, or, when another program has started it, those that its
    /// threads may use.
    fn cpus(&self, root: Root) -> Vec<usize> {
        match root.belongs {
            true => root.cpus(),
            false => self.lab.host.placement().server.clone(),
        }
    }

    /// No shorter than a window, and than a segment has to be: what is shorter says nothing.
    fn length(&self, part: f64) -> Duration {
        let lead_in = self.design.at_rate.lead_in.0;
        let least = lead_in * (ANSWERS / LEAD_IN) as u32;
        self.duration.mul_f64(part).max(least).max(WINDOW)
    }

    /// One measurement, seen in one way; gives why functions have no names.
    fn segment(
        &self,
        up: &mut Up<'_>,
        (look, part): (ProbeMode, f64),
        into: &mut Dissection,
        on_progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<String>, Failure> {
        let load = Load {
            extent: Extent::Duration(Span(self.length(part))),
            ..self.design.load(&self.spec.load, Some(self.rate))
        };
        let probe = up
            .root()
            .and_then(|root| self.anatomist.probe(root, &self.cpus(root), look).ok());
        let behind = match look {
            ProbeMode::Calls => self.behind(up),
            _ => Vec::new(),
        };
        let probed = |from, until| {
            let services = behind.iter().map(|(_, probe)| probe);
            for probe in probe.iter().chain(services) {
                probe.measure(from, until);
            }
        };
        let beside = Beside {
            measured: &probed,
            ..Beside::default()
        };
        let measured = up.measure_beside(&load, on_progress, &beside)?;
        let mut sight = probe.map(RunningProbe::finish).unwrap_or_default();
        for (name, probe) in behind {
            let seen = probe.finish();
            sight.lost += seen.lost;
            let calls = seen.calls.into_iter();
            (sight.calls).extend(calls.map(|(call, n)| (format!("{name}: {call}"), n)));
        }
        add(into, look, &measured, &sight);
        Ok(sight.unnamed)
    }

    /// Probes of a server's services, by name, that count their system calls.
    fn behind(&self, up: &Up<'_>) -> Vec<(String, Box<dyn RunningProbe + '_>)> {
        let cpus = self.lab.host.placement().for_services();
        let probe = |it: ServiceRoot| {
            let probe = self.anatomist.probe(it.root, cpus, ProbeMode::Calls).ok()?;
            Some((it.name, probe))
        };
        up.services().into_iter().filter_map(probe).collect()
    }
}

fn add(into: &mut Dissection, look: ProbeMode, measured: &MeasuredTrial, sight: &Sight) {
    let spent = Spent {
        requests: measured.seen.served(),
        cpu_ns: measured.used.server_cpu_ns,
    };
    into.lost += sight.lost;
    let outcomes = &measured.seen.outcomes;
    into.requests += outcomes.finished();
    into.failed += outcomes.failed();
    into.unsent += outcomes.unsent_at_end;
    match look {
        ProbeMode::Plain => {
            into.plain.add(spent);
            // A thread that works in both segments is one thread.
            let threads = |counts: &BTreeMap<String, f64>| counts.get(THREADS).copied();
            let most = threads(&into.counts)
                .into_iter()
                .chain(threads(&sight.counts));
            let most = most.reduce(f64::max);
            sum(&mut into.counts, &sight.counts);
            into.counts
                .extend(most.map(|most| (THREADS.to_owned(), most)));
            sum(&mut into.counts, &of_services(measured));
        }
        ProbeMode::Stacks => {
            into.sampled.add(spent);
            into.samples += sight.stacks.values().sum::<u64>();
            sum(&mut into.stacks, &sight.stacks);
        }
        ProbeMode::Calls => {
            into.counted.add(spent);
            sum(&mut into.calls, &sight.calls);
        }
        ProbeMode::Waits => {
            into.waited.add(spent);
            sum(&mut into.waits, &sight.stacks);
        }
    }
}

/// Work of the server's services for the requests of a measurement, by name.
fn of_services(measured: &MeasuredTrial) -> BTreeMap<String, f64> {
    let (served, length) = (measured.seen.served(), measured.seen.measured_ns);
    let costs = measured.used.service_costs(served, length);
    let each = costs.into_iter().flat_map(|cost| {
        let named = |what: &str, per_request: f64| {
            (format!("{what} in {}", cost.name), per_request * served)
        };
        let counted = [("statements", cost.statements), ("rows", cost.rows)];
        let counted = counted.map(|(what, n)| n.map(|n| named(what, n)));
        let cpu = named("µs of CPU", cost.cpu_ns / 1e3);
        counted
            .into_iter()
            .flatten()
            .chain([cpu])
            .collect::<Vec<_>>()
    });
    each.collect()
}

fn sum<V: Copy + Default + std::ops::AddAssign>(
    into: &mut BTreeMap<String, V>,
    more: &BTreeMap<String, V>,
) {
    for (key, value) in more {
        *into.entry(key.clone()).or_default() += *value;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_that_waits_for_a_cpu_has_one_mark() {
        assert_eq!(prony_anatomy::RUNNABLE, prony_record::anatomy::RUNNABLE);
    }
}
