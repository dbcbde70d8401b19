//! `numa-crossed`: server and generator are on different NUMA nodes.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::NumaCrossed,
    cause: "The CPUs of the server or its upstream and those of the generator are not all on one NUMA node. What they exchange goes through another node's memory, which takes longer, and how often depends on where the kernel puts which thread: figures are worse, and vary more from start to start.",
    evidence: "The CPUs that were assigned to the server, its upstream and the generator, and their nodes, as the kernel lists them.",
    remedy: "Let prony use two cores or more of one node, and give the server no more CPUs than half of a node has (--server-cpus, the cpus of a host, placement in experiments). If the server is to have more than that, send the load from another machine (--client-host).",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let (server, generator) = (&seen.server_nodes, &seen.generator_nodes);
    let first = server.first()?;
    // Several nodes of a server that is alone on its machine are its own affair.
    if generator.is_empty() || server.iter().chain(generator).all(|node| node == first) {
        return None;
    }
    let told = |nodes: &[usize]| {
        let each: Vec<String> = nodes.iter().map(usize::to_string).collect();
        let s = if nodes.len() == 1 { "" } else { "s" };
        format!("NUMA node{s} {}", each.join(","))
    };
    let text = format!(
        "the server is on {} and the generator on {}, so that what they exchange goes through another node's memory: use \
         CPUs of one node, or send the load from another machine",
        told(server),
        told(generator)
    );
    finding(CheckId::NumaCrossed, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_across_nodes() {
        let on = |server: &[usize], generator: &[usize]| {
            check(&Evidence {
                server_nodes: server.to_vec(),
                generator_nodes: generator.to_vec(),
                ..Evidence::clean()
            })
        };
        let found = on(&[0], &[1]).unwrap();
        assert!(
            found
                .text
                .starts_with("the server is on NUMA node 0 and the generator on NUMA node 1,"),
            "{}",
            found.text
        );
        assert!(on(&[0, 1], &[0, 1]).unwrap().text.contains("nodes 0,1"));
        for (server, generator) in [
            (&[][..], &[][..]),
            (&[1], &[1]),
            (&[0, 1], &[]),
            (&[], &[0]),
        ] {
            assert_eq!(on(server, generator), None);
        }
    }
}
