//! Services that a server is started with: its own, and those of its contract.

use super::Manifest;
use crate::contract::Contract;
use crate::service::ServiceSpecs;
use std::collections::BTreeMap;

impl Manifest {
    /// Services that it is started with under this contract: those of the contract that a part of it needs, and its own.
    /// An own one without content has that of the contract's.
    pub fn services(&self, contract: Contract) -> ServiceSpecs {
        let mut all = match self.needs_database(contract) {
            true => contract.services(),
            false => ServiceSpecs::new(),
        };
        for (name, spec) in &self.services {
            let spec = match all.remove(name) {
                Some(of_contract) => spec.clone().with_content_of(of_contract),
                None => spec.clone(),
            };
            if let Some(other) = &spec.replaces {
                all.remove(other);
            }
            all.insert(name.clone(), spec);
        }
        all
    }

    /// Does a part of the contract that it keeps need a database?
    fn needs_database(&self, contract: Contract) -> bool {
        let kept = |part: &str| {
            self.parts
                .as_ref()
                .is_none_or(|kept| kept.contains_key(part))
        };
        let mut parts = contract.parts().iter();
        contract.parts().is_empty() || parts.any(|part| part.database && kept(part.name))
    }

    /// Names of its services and of those of its contracts, with no URLs yet.
    pub fn known_services(&self) -> BTreeMap<String, String> {
        let services = self.contracts.iter().flat_map(|&it| self.services(it));
        let own = self.services.keys().cloned();
        let names = services.map(|(name, _)| name).chain(own);
        names.map(|name| (name, String::new())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn services(more: &str) -> ServiceSpecs {
        let text = format!(
            "title='t'\nlanguage='l'\nmodel='m'\ncontracts=['techempower']\nrun='x'\n{more}"
        );
        let manifest = Manifest::parse(&Source::new("server.toml", text)).unwrap();
        manifest.services(Contract::Techempower)
    }

    #[test]
    fn services_of_the_contract_are_changed_and_replaced() {
        let of_contract = Contract::Techempower.services();
        assert_eq!(services(""), of_contract);
        assert!(services("[parts]\njson = '/json'").is_empty());
        assert_eq!(services("[parts]\ndb = '/one'"), of_contract);
        let own = services("[services.postgres]\nport = 5432\nuser = 'u'");
        assert_eq!(own["postgres"].port, Some(5432));
        assert_eq!(own["postgres"].seed_text, of_contract["postgres"].seed_text);
        let text = "[services.mysql]\ncommand = 'x {port}'\nreplaces = 'postgres'";
        let other = services(text);
        assert_eq!(other.keys().collect::<Vec<_>>(), ["mysql"]);
    }
}
