//! How long threads wait, and where: from when they leave their CPU until they come back.

use crate::Nanos;
use crate::family::Family;
use crate::probe::Stack;
use crate::records::Sample;
use crate::tracepoint::SwitchFields;
use std::collections::HashMap;

/// States of a thread that leaves for good, as `sched_switch` tells them: dead, zombie.
const GONE: u64 = 0x10 | 0x20;
/// The states in which it waits for something; without any of them it could go on running.
const WAITING: u64 = 0xff;

/// A thread leaves a CPU, and another one comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Switch {
    time: Nanos,
    pid: u32,
    /// Threads as the kernel numbers them, whatever number they have in a container.
    leaves: u32,
    comes: u32,
    state: u64,
    kernel: Vec<u64>,
    user: Vec<u64>,
}

impl Switch {
    /// From a record of `sched_switch`.
    pub(crate) fn of(sample: Sample, fields: SwitchFields) -> Option<Self> {
        Some(Self {
            time: sample.time,
            pid: sample.pid,
            leaves: sample.u32(fields.leaves)?,
            comes: sample.u32(fields.comes)?,
            state: sample.u64(fields.state)?,
            kernel: sample.kernel,
            user: sample.user,
        })
    }
}

/// The threads that are waiting, and what came of those that have waited.
#[derive(Debug)]
pub(crate) struct Waits {
    /// Records of all CPUs that have not been put in order yet.
    switches: Vec<Switch>,
    waiting: HashMap<u32, (Nanos, Stack)>,
    from: Nanos,
    until: Nanos,
}

impl Waits {
    /// Waits in a measurement from `from` until `until`.
    pub(crate) fn new(from: Nanos, until: Nanos) -> Self {
        Self {
            switches: Vec::new(),
            waiting: HashMap::new(),
            from,
            until,
        }
    }

    pub(crate) fn add(&mut self, switch: Switch) {
        self.switches.push(switch);
    }

    /// Goes through what has happened on all CPUs before `now`: later records of another CPU may still be on their way.
    /// `waited` is told of each wait that has ended, within the measurement.
    pub(crate) fn go_on(
        &mut self,
        now: Nanos,
        family: &Family,
        waited: &mut impl FnMut(Stack, Nanos),
    ) {
        self.switches.sort_by_key(|switch| switch.time);
        let known = self.switches.partition_point(|switch| switch.time < now);
        for switch in self.switches.drain(..known) {
            if let Some((since, stack)) = self.waiting.remove(&switch.comes) {
                let time = within(since, switch.time, self.from, self.until);
                if time > 0 {
                    waited(stack, time);
                }
            }
            if family.has(switch.pid) && switch.state & GONE == 0 {
                let stack = Stack {
                    pid: switch.pid,
                    kernel: switch.kernel,
                    user: switch.user,
                    runnable: switch.state & WAITING == 0,
                };
                self.waiting.insert(switch.leaves, (switch.time, stack));
            }
        }
    }

    /// The measurement has ended: those that still wait have waited until then.
    pub(crate) fn end(&mut self, waited: &mut impl FnMut(Stack, Nanos)) {
        for (since, stack) in std::mem::take(&mut self.waiting).into_values() {
            let time = within(since, self.until, self.from, self.until);
            if time > 0 {
                waited(stack, time);
            }
        }
    }
}

/// How much of the time from `since` to `to` lies in the measurement.
fn within(since: Nanos, to: Nanos, from: Nanos, until: Nanos) -> Nanos {
    to.min(until).saturating_sub(since.max(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const OURS: u32 = 10;

    fn switch(time: Nanos, leaves: u32, state: u64, comes: u32) -> Switch {
        Switch {
            time,
            pid: if leaves >= OURS { OURS } else { 1 },
            leaves,
            comes,
            state,
            kernel: vec![u64::from(leaves)],
            user: Vec::new(),
        }
    }

    /// Time by thread and whether it could have run, of a measurement from 100 to 200.
    fn waited(turns: &[(Nanos, Vec<Switch>)]) -> BTreeMap<(u64, bool), Nanos> {
        let family = Family::of([OURS]);
        let mut waits = Waits::new(100, 200);
        let mut all = BTreeMap::new();
        let mut told = |stack: Stack, time: Nanos| {
            *all.entry((stack.kernel[0], stack.runnable)).or_default() += time;
        };
        for (now, switches) in turns {
            for switch in switches {
                waits.add(switch.clone());
            }
            waits.go_on(*now, &family, &mut told);
        }
        waits.end(&mut told);
        all
    }

    #[test]
    fn a_wait_is_from_leaving_until_coming_back_within_the_measurement() {
        let turns = [(
            1_000,
            vec![
                // Before the measurement until into it; within; beyond its end.
                switch(90, 11, 1, 0),
                switch(110, 0, 0, 11),
                switch(120, 11, 1, 0),
                switch(150, 0, 0, 11),
                switch(190, 11, 1, 0),
                switch(210, 0, 0, 11),
            ],
        )];
        assert_eq!(
            waited(&turns),
            BTreeMap::from([((11, false), 10 + 30 + 10)])
        );
    }

    #[test]
    fn records_of_several_cpus_are_put_in_order() {
        // The thread leaves one CPU and comes back on another, whose records are read first.
        let turns = [
            (115, vec![switch(120, 0, 0, 11), switch(110, 11, 2, 0)]),
            (130, Vec::new()),
        ];
        assert_eq!(waited(&turns), BTreeMap::from([((11, false), 10)]));
    }

    #[test]
    fn who_could_run_who_is_gone_and_who_is_not_ours() {
        let turns = [(
            1_000,
            vec![
                switch(110, 11, 0x100, 12),
                switch(130, 12, 1, 11),
                switch(140, 11, 0x20, 12),
                switch(150, 5, 1, 0),
                switch(190, 0, 0, 5),
            ],
        )];
        let expected = BTreeMap::from([((11, true), 20), ((12, false), 10)]);
        assert_eq!(waited(&turns), expected);
    }

    #[test]
    fn who_waits_all_the_time_has_waited_all_of_it() {
        let turns = [(1_000, vec![switch(50, 11, 1, 0)])];
        assert_eq!(waited(&turns), BTreeMap::from([((11, false), 100)]));
    }
}
