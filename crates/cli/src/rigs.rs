//! Several rigs, among which the rounds of a run are divided.

use crate::args::Places;
use crate::args::machines::{Apart, LoadFrom, Machines};
use crate::machines::{Rig, ServerShare, rig};
use miette::{Result, miette};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::topology::Topology;
use prony_remote::Registry;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

/// The word for every node of the Slurm job.
const SLURM: &str = "slurm";

/// Machines that measure together: the first has the server, the others send the load; of one alone it has both.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spec {
    name: String,
    machines: Vec<String>,
}

impl Spec {
    fn parse(text: &str) -> Result<Self> {
        let machines: Vec<String> = text.split('+').map(|it| it.trim().to_owned()).collect();
        if machines.iter().any(String::is_empty) {
            return Err(usage!(
                help = "a rig is HOST, or SERVER+GENERATOR with a machine for each; rigs are separated by commas: --shard-rounds h1+h2,h3+h4",
                "--shard-rounds: {text:?} is no rig"
            ));
        }
        Ok(Self {
            name: machines.join("+"),
            machines,
        })
    }

    /// Where its server runs and where its load comes from.
    fn apart(&self, machines: &Machines, given: &Apart) -> Apart {
        let client_host = match self.machines.as_slice() {
            [alone] => vec![alone.clone()],
            [_, generators @ ..] => generators.to_vec(),
            [] => Vec::new(),
        };
        Apart {
            server_host: self.machines.first().cloned(),
            server_cpus: given.server_cpus,
            limited: given.limited,
            from: LoadFrom {
                client_host,
                machines: machines.clone(),
                ..LoadFrom::default()
            },
            ..Apart::default()
        }
    }
}

/// Parses the rigs that the command line names, and refuses a machine that is named twice.
fn specs(words: &[String], registry: &Registry) -> Result<Vec<Spec>> {
    let specs: Vec<Spec> = match words {
        [word] if word == SLURM => {
            let nodes = registry.hosts().all();
            nodes
                .map(|node| Spec::parse(&node.name))
                .collect::<Result<_>>()?
        }
        words => words
            .iter()
            .map(|word| Spec::parse(word))
            .collect::<Result<_>>()?,
    };
    let mut known = BTreeSet::new();
    for machine in specs.iter().flat_map(|spec| &spec.machines) {
        registry
            .known(machine)
            .map_err(|error| miette!("{error}"))?;
        if !known.insert(machine) {
            return Err(usage!(
                help = "two rigs on one machine would disturb each other: name each machine once",
                "--shard-rounds names {machine} twice"
            ));
        }
    }
    Ok(specs)
}

/// Reaches the machines of all rigs, side by side. `words` is what `--shard-rounds` says, `apart` the rest of what the command line
/// says of machines; a gateway has an `upstream`, for loads of so many threads.
pub fn rigs(
    places: &Places,
    interrupt: &Arc<Interrupt>,
    words: &[String],
    apart: &Apart,
    upstream: bool,
    threads: u32,
) -> Result<Vec<(String, Rig)>> {
    let mut machines = apart.from.machines.clone();
    if words.iter().any(|word| word == SLURM) {
        if words.len() > 1 {
            return Err(usage!(
                "--shard-rounds slurm names every node: leave out the other rigs"
            ));
        }
        machines.hosts = Some(SLURM.to_owned());
    }
    let registry = machines.registry()?;
    let specs = specs(words, &registry)?;
    let reached: Vec<Result<(String, Rig)>> = thread::scope(|scope| {
        let (machines, registry) = (&machines, &registry);
        let reach = |spec: Spec| {
            scope.spawn(move || {
                let apart = spec.apart(machines, apart);
                let elsewhere = apart.reach_by(registry, true, upstream)?;
                // Nothing runs on this machine: how its CPUs are divided does not matter.
                let placement = Placement::shared(&Topology::default());
                let rig = rig(
                    places,
                    interrupt,
                    placement,
                    threads,
                    Some(elsewhere),
                    ServerShare::default(),
                )?;
                Ok((spec.name, rig))
            })
        };
        let all: Vec<_> = specs.into_iter().map(reach).collect();
        all.into_iter()
            .map(|one| {
                one.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    reached.into_iter().collect()
}

/// Where what is where, in words.
pub fn placement<'a>(rigs: impl Iterator<Item = &'a Rig>) -> String {
    let each: Vec<&str> = rigs.map(|rig| rig.placement.as_str()).collect();
    format!("{} rigs: {}", each.len(), each.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rig_is_one_machine_or_a_server_and_its_generators() {
        let of = |text: &str| {
            let given = Apart {
                server_cpus: Some(2),
                ..Apart::default()
            };
            let apart = Spec::parse(text)
                .unwrap()
                .apart(&Machines::default(), &given);
            assert_eq!(apart.server_cpus, Some(2));
            (apart.server_host.unwrap(), apart.from.client_host.join(" "))
        };
        assert_eq!(of("h1"), ("h1".into(), "h1".into()));
        assert_eq!(of("h1+h2"), ("h1".into(), "h2".into()));
        assert_eq!(of("h1 + h2+h3"), ("h1".into(), "h2 h3".into()));
        for text in ["", "h1+", "+h2"] {
            assert!(Spec::parse(text).is_err(), "{text}");
        }
    }
}
