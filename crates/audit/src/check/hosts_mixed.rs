//! `hosts-mixed`: runs of one system on several machines.

use super::{CheckInput, UnnamedFinding, warning};
use crate::command::{host_of, is_this_machine};
use prony_checks::{CheckId, Explanation};
use std::collections::BTreeMap;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::HostsMixed,
    cause: "The rows of one system come from several machines, so a difference between them may be a difference between machines.",
    evidence: "The hosts in the addresses of the outputs under one heading.",
    remedy: "Measure all rows on one machine, or all of them on each machine, and show both.",
};

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        // system → host → lines
        let mut systems: BTreeMap<&str, BTreeMap<&str, Vec<usize>>> = BTreeMap::new();
        let figures = seen
            .figures
            .iter()
            .filter(|figure| figure.document == index);
        for figure in figures {
            let Some(output) = figure.output else {
                continue;
            };
            let Some(url) = &document.outputs[output].block.url else {
                continue;
            };
            // This machine may have a name for each site.
            if let Some(host) = host_of(&url.what).filter(|host| !is_this_machine(host)) {
                let hosts = systems.entry(&figure.system.name).or_default();
                hosts.entry(host).or_default().push(url.line);
            }
        }
        let mixed: Vec<_> = systems
            .iter()
            .filter(|(_, hosts)| hosts.len() > 1)
            .collect();
        if mixed.is_empty() {
            continue;
        }
        let parts: Vec<String> = mixed
            .iter()
            .map(|(system, hosts)| {
                let hosts = hosts.iter();
                let hosts: Vec<String> = hosts
                    .map(|(host, lines)| match lines.len() {
                        1 => format!("{host} once"),
                        n => format!("{host} {n} times"),
                    })
                    .collect();
                format!("{system} ({})", hosts.join(", "))
            })
            .collect();
        let text = format!(
            "one system, several machines: {}. Its rows may differ because of the machine: \
             machines of one type differ, and virtual machines have neighbours",
            parts.join("; ")
        );
        let lines = mixed
            .iter()
            .flat_map(|(_, hosts)| hosts.values().flatten().copied());
        remarks.push(warning(document, lines, text));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};

    #[test]
    fn one_heading_two_hosts() {
        let other = wrk(&[("10.0.0.2", "10.0.0.3")]);
        let text = format!("# A\n\nc64-t4\n{}\nc64-t4\n{other}", wrk(&[]));
        assert_eq!(of(CheckId::HostsMixed, &text)[0].lines, [4, 19]);
        let text = format!("# A\n{}\n# B\n{other}", wrk(&[]));
        assert_eq!(of(CheckId::HostsMixed, &text), []);
    }

    #[test]
    fn sites_of_this_machine_are_systems() {
        let site = |name: &str| wrk(&[("10.0.0.2", &format!("{name}.localhost"))]);
        let text = format!(
            "box:/www$ ./benchmarks.sh\n{}\n{}",
            site("alpha"),
            site("beta")
        );
        assert_eq!(of(CheckId::HostsMixed, &text), []);
        assert_eq!(of(CheckId::TooFewRuns, &text).len(), 1);
    }
}
