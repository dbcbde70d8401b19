//! The addresses that the connections of a load come from, as a user names them.

use crate::generator::{Generator, LoadController};
use crate::interfaces::interfaces;
use crate::interrupt::Interrupt;
use prony_engine::descriptors::TooFewDescriptors;
use prony_engine::{Error, Plan, Target};
use prony_record::Observation;
use prony_record::load::Invalid;
use std::net::IpAddr;

/// Source addresses, and interfaces whose addresses they are. None: the kernel chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Each word with its addresses, at least one.
    words: Vec<(String, Vec<IpAddr>)>,
}

impl Sources {
    /// Addresses, and names of this machine's interfaces.
    ///
    /// # Errors
    /// When there is no such interface, or it has no address; in words.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let one = |word: &String| {
            let text = word.trim();
            let addresses = match text.parse() {
                Ok(ip) => vec![ip],
                Err(_) => of_interface(text)?,
            };
            Ok((text.to_owned(), addresses))
        };
        let words = words.iter().map(one).collect::<Result<_, String>>()?;
        Ok(Self { words })
    }

    /// Every address, of whatever family.
    pub fn all(&self) -> Vec<IpAddr> {
        let words = self.words.iter();
        words.flat_map(|(_, ips)| ips.iter().copied()).collect()
    }

    /// The sources of connections to this target: the addresses, and those of the interfaces that are of its family.
    ///
    /// # Errors
    /// When an interface has none of that family.
    pub fn toward(&self, target: &Target) -> Result<Vec<IpAddr>, Invalid> {
        let mut all: Vec<IpAddr> = Vec::new();
        for (word, addresses) in &self.words {
            let fits = |ip: &IpAddr| match target {
                Target::Tcp(addr) => addr.is_ipv6() == ip.is_ipv6(),
                Target::Unix(_) => true,
            };
            let is_address = word.parse::<IpAddr>().is_ok();
            let before = all.len();
            // What does not fit and was given as an address, the engine refuses.
            all.extend(addresses.iter().filter(|ip| is_address || fits(ip)));
            if all.len() == before {
                return Err(Invalid {
                    option: "interface",
                    must: "one that has an address of the server's family, IPv4 or IPv6",
                    found: format!("{word}, which has none for {target}"),
                });
            }
        }
        let mut known = Vec::new();
        all.retain(|ip| {
            !known.contains(ip) && {
                known.push(*ip);
                true
            }
        });
        Ok(all)
    }
}

/// The addresses of an interface. Those of link-local IPv6 need their interface with every use, which an address alone
/// does not say.
fn of_interface(name: &str) -> Result<Vec<IpAddr>, String> {
    let all = interfaces().map_err(|error| format!("cannot list the interfaces: {error}"))?;
    let known = all.iter().any(|it| it.interface == name);
    let usable = |ip: &IpAddr| match ip {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    let its = all.iter().filter(|it| it.interface == name);
    let addresses: Vec<IpAddr> = its.map(|it| it.ip).filter(usable).collect();
    match (addresses.is_empty(), known) {
        (false, _) => Ok(addresses),
        (true, true) => Err(format!(
            "the interface {name} has no address to connect from"
        )),
        (true, false) => {
            let mut names: Vec<&str> = all.iter().map(|it| it.interface.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            Err(format!(
                "{name:?} is neither an IP address nor an interface with one: there are {}",
                names.join(", ")
            ))
        }
    }
}

/// A generator whose connections come from these.
pub struct SentFrom {
    /// Generator that carries out the loads.
    pub generator: Box<dyn Generator>,
    /// Where its connections come from.
    pub sources: Sources,
}

impl Generator for SentFrom {
    fn load(
        &self,
        plan: &Plan,
        interrupt: &Interrupt,
        controller: &mut dyn LoadController,
    ) -> Result<Observation, Error> {
        // A plan may have large bodies: it is not copied for nothing.
        if self.sources == Sources::default() {
            return self.generator.load(plan, interrupt, controller);
        }
        let plan = Plan {
            sources: self.sources.toward(&plan.target)?,
            ..plan.clone()
        };
        self.generator.load(&plan, interrupt, controller)
    }

    fn is_here(&self) -> bool {
        self.generator.is_here()
    }

    fn reserve(&self, connections: u64) -> Result<(), TooFewDescriptors> {
        self.generator.reserve(connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(words: &[&str]) -> Result<Sources, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Sources::parse(&words)
    }

    #[test]
    fn addresses_and_interfaces() {
        let target = Target::Tcp(([127, 0, 0, 1], 80).into());
        let all = sources(&["127.0.0.2", "lo", "127.0.0.1"]).unwrap();
        let expected: [IpAddr; 2] = [[127, 0, 0, 2].into(), [127, 0, 0, 1].into()];
        assert_eq!(all.toward(&target).unwrap(), expected);
        assert_eq!(Sources::default().toward(&target), Ok(Vec::new()));
        let error = sources(&["no-such"]).unwrap_err();
        assert!(
            error.contains("no-such") && error.contains("there are"),
            "{error}"
        );
        assert!(error.contains("lo"), "{error}");
    }
}
