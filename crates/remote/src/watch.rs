//! Watching servers and services on other machines.

use crate::clocks::Offset;
use crate::link::Link;
use crate::message::{Call, Reply};
use prony_engine::Nanos;
use prony_lab::host::{Watched, Watcher};
use std::sync::Arc;
use std::time::Duration;

/// Watch of a server on another machine.
pub struct RemoteWatch {
    link: Arc<Link>,
    number: u32,
    /// None when it could not begin.
    offset: Option<Offset>,
    /// The generator is on another machine.
    apart: bool,
    /// Watch of its upstream, if that has a separate machine.
    pub(crate) upstream: Option<Box<Self>>,
    /// Watch of its services, if they have one.
    pub(crate) services: Option<Box<Self>>,
}

impl RemoteWatch {
    /// Watches what has this number on this machine.
    pub(crate) fn begin(
        (link, number): (&Arc<Link>, u32),
        beside: Option<u32>,
        period: Duration,
        apart: bool,
    ) -> Self {
        // A lost agent fails the load, which says so.
        let link = Arc::clone(link);
        let watching = link.call(Call::Watch(number, beside, period)).is_ok();
        Self {
            offset: link.offset().ok().filter(|_| watching),
            link,
            number,
            apart,
            upstream: None,
            services: None,
        }
    }
}

impl Watcher for RemoteWatch {
    fn measure(&self, from: Nanos, until: Nanos) {
        if let Some(offset) = self.offset {
            let (from, until) = (
                offset.there(from),
                match until {
                    Nanos::MAX => Nanos::MAX,
                    until => offset.there(until),
                },
            );
            let _ = self.link.call(Call::WatchFrom(self.number, from, until));
        }
        for other in self.upstream.iter().chain(&self.services) {
            other.measure(from, until);
        }
    }

    fn used(&self) -> Option<f64> {
        match self.link.call(Call::Used(self.number)) {
            Ok(Reply::Used(used)) => used,
            _ => None,
        }
    }

    fn finish(self: Box<Self>) -> Watched {
        let behind = self.upstream.map(Watcher::finish);
        let services = self.services.map(Watcher::finish);
        let (Some(offset), Ok(Reply::Watched(watched))) =
            (self.offset, self.link.call(Call::Watched(self.number)))
        else {
            return Watched::default();
        };
        let mut watched = *watched;
        for sample in &mut watched.samples {
            sample.at = offset.here(sample.at);
        }
        watched.apart = self.apart;
        if let Some(behind) = behind {
            watched.resources.upstream_cpu_ns = behind.resources.server_cpu_ns;
            let own = behind.resources.server_cpu_ns;
            add_machine(&mut watched, &behind, own);
        }
        if let Some(services) = services {
            let own = services.resources.services_cpu_ns();
            add_machine(&mut watched, &services, own);
            watched.resources.services = services.resources.services;
        }
        watched
    }
}

/// Adds the CPUs of another machine, whose watched processes used `own` of them.
fn add_machine(watched: &mut Watched, other: &Watched, own: Nanos) {
    // Of a machine that has a generator too, it is not known who used the rest.
    if other.apart {
        watched.all_cpus_busy += other.all_cpus_busy;
        watched.stolen += other.stolen;
        watched.cpus += other.cpus;
    } else {
        watched.all_cpus_busy += own;
    }
}
