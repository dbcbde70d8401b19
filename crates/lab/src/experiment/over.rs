//! HTTP variants and parts of contracts that an experiment's loads need, and the servers that take part in them.

use super::{Cell, Entrant, Experiment, ExperimentLoad};
use crate::contract::Contract;
use prony_record::Load;
use prony_record::load::{KeyKind, Protocol};

/// Why something cannot be spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unspoken {
    /// The loads ask for what the contract cannot be spoken over.
    Load(String),
    /// The server with this place among the entrants speaks none of the loads' HTTP variants.
    Server(usize, String),
}

impl Entrant {
    /// Can it be loaded like this, with these requests?
    fn takes(&self, load: &ExperimentLoad) -> bool {
        self.speaks(&load.shape) && self.lacking(load).is_none()
    }

    /// Part of its contract that the load needs and it does not keep.
    #[must_use]
    pub fn lacking(&self, load: &ExperimentLoad) -> Option<&'static str> {
        let kept = self.server.manifest.parts.as_ref()?;
        let requests = load.requests.as_ref().map(|asked| &asked.mix);
        let needed = self.contract.parts_of(requests).into_iter();
        let mut names = needed.map(|part| part.name);
        names.find(|name| !kept.contains_key(*name))
    }

    /// Can it be loaded like this?
    #[must_use]
    pub fn speaks(&self, load: &Load) -> bool {
        self.server
            .manifest
            .speaks(self.contract)
            .contains(&load.over)
    }
}

/// Can these servers be loaded like this? Those that were not named and speak nothing of it are left out.
pub(super) fn fit(
    contract: Contract,
    loads: &[ExperimentLoad],
    entrants: &mut Vec<Entrant>,
) -> Result<(), Unspoken> {
    if !contract.is_http() && loads.iter().any(|load| !load.shape.over.is_plain()) {
        let why = format!("{contract} is spoken in one way alone: over is for contracts of HTTP");
        return Err(Unspoken::Load(why));
    }
    let speaks = |entrant: &Entrant| loads.iter().any(|load| entrant.speaks(&load.shape));
    if let Some(at) = entrants
        .iter()
        .position(|entrant| entrant.named && !speaks(entrant))
    {
        let entrant = &entrants[at];
        let spoken = entrant.server.manifest.speaks(entrant.contract);
        let why = format!(
            "{} speaks {} alone, and no load is over that",
            entrant.server.name,
            list(spoken)
        );
        return Err(Unspoken::Server(at, why));
    }
    entrants.retain(speaks);
    Ok(())
}

/// In words: `plain, tls`.
fn list(over: &[Protocol]) -> String {
    let words: Vec<&str> = over.iter().map(|over| over.word()).collect();
    words.join(", ")
}

impl Experiment {
    /// Every entrant under every load that it speaks and whose requests it has.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let of = |load: usize| {
            let takes = move |&entrant: &usize| self.entrants[entrant].takes(&self.loads[load]);
            let all = (0..self.entrants.len()).filter(takes);
            all.map(move |entrant| Cell { entrant, load })
        };
        (0..self.loads.len()).flat_map(of).collect()
    }

    /// Asks for every load over these instead of what the file says; gives the labels of those that speak none of them, and
    /// take no part any more.
    ///
    /// # Errors
    /// When that cannot be done, in words.
    pub fn speak(&mut self, over: &[Protocol]) -> Result<Vec<String>, String> {
        let mut loads: Vec<ExperimentLoad> = Vec::new();
        for ExperimentLoad {
            shape,
            requests,
            weight,
        } in &self.loads
        {
            for &over in over {
                let name = shape.name.as_ref();
                let shape = Load {
                    name: name.map(|name| match over {
                        Protocol::Plain => name.clone(),
                        over => format!("{name} {over}"),
                    }),
                    over,
                    // A key is nothing to what is not encrypted.
                    key: if over.is_tls() {
                        shape.key
                    } else {
                        KeyKind::default()
                    },
                    ..shape.clone()
                };
                if !loads
                    .iter()
                    .any(|other| other.to_string() == shape.to_string())
                {
                    loads.push(ExperimentLoad {
                        shape,
                        requests: requests.clone(),
                        weight: *weight,
                    });
                }
            }
        }
        // Who was named in the file was not asked for what is spoken now.
        let mut entrants = self.entrants.clone();
        for entrant in &mut entrants {
            entrant.named = false;
        }
        fit(self.contract, &loads, &mut entrants).map_err(|unspoken| match unspoken {
            Unspoken::Load(why) | Unspoken::Server(_, why) => why,
        })?;
        if entrants.is_empty() {
            return Err(format!("no server of {} speaks {}", self.name, list(over)));
        }
        if entrants
            .iter()
            .all(|entrant| entrant.label() != self.baseline)
        {
            self.baseline = entrants[0].label();
        }
        let is_gone = |one: &&Entrant| entrants.iter().all(|it| it.label() != one.label());
        let left_out = self.entrants.iter().filter(is_gone).map(Entrant::label);
        let left_out = left_out.collect();
        self.entrants
            .retain(|one| entrants.iter().any(|it| it.label() == one.label()));
        self.loads = loads;
        Ok(left_out)
    }
}
