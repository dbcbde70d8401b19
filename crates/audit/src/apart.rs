//! What tells systems apart whose names do not: the headings above, addresses, pages, scripts.

mod operations;

pub(crate) use operations::by_endpoint;

use crate::document::Document;
use crate::figures::Figure;
use crate::names::System;
use crate::read::command::{Command, is_this_machine, parts_of};
use std::collections::{BTreeMap, BTreeSet};

/// Names the systems of a document's outputs so that those that differ have different names, and puts what is not to be
/// compared into sections of its own.
pub(crate) fn tell_apart(document: &Document, figures: &mut [Figure]) {
    by_section(figures);
    by_own_section(figures);
    by_label(document, figures);
    by_workload(document, figures);
    by_address(document, figures);
    by_page(document, figures);
}

/// The section above one, and its own heading.
fn split(section: &str) -> (&str, &str) {
    section.rsplit_once(" / ").unwrap_or(("", section))
}

/// A heading with outputs of its own names a system, so that one a level below it is beside it, and no part of it: not
/// every page has its headings in order.
fn by_own_section(figures: &mut [Figure]) {
    // As deep as headings are nested.
    for _ in 0..6 {
        let systems: BTreeSet<(String, String)> = figures
            .iter()
            .map(|f| (f.system.section.to_string(), f.system.name.to_string()))
            .collect();
        // How many sections side by side have a system of this name.
        let mut beside: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (section, name) in &systems {
            *beside.entry((split(section).0, name)).or_default() += 1;
        }
        let has =
            |section: &str, name: &str| systems.contains(&(section.to_owned(), name.to_owned()));
        let is_system = |section: &str, name: &str| {
            let labelled = format!("{name}, ");
            let from = (section.to_owned(), labelled.clone());
            let next = systems.range(from..).next();
            let labelled = next.is_some_and(|(s, n)| s == section && n.starts_with(&labelled));
            !name.is_empty() && (labelled || has(section, name))
        };
        let mut moved = false;
        for figure in figures.iter_mut() {
            let system = &mut figure.system;
            let section = system.section.to_string();
            let (above, own) = split(&section);
            if !is_system(above, own) {
                continue;
            }
            moved = true;
            // Two of one name are parts of different systems.
            if has(above, &system.name) || beside[&(above, &*system.name)] > 1 {
                system.name = format!("{own}, {}", system.name).into();
            }
            system.section = above.into();
        }
        if !moved {
            break;
        }
    }
}

/// Where labels stand under several headings, the headings are sections: `simple queries`, with and without a cache, and
/// `complex queries`, with and without one.
fn by_label(document: &Document, figures: &mut [Figure]) {
    let place = |figure: &Figure| {
        let place = &document.outputs[figure.output?].place;
        let label = &place.label.as_ref()?.0;
        let heading = &place.headings.last()?.0;
        let both = format!("{heading}, {label}");
        (*figure.system.name == *both).then(|| (label.clone(), heading.clone()))
    };
    let mut under: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (label, heading) in figures.iter().filter_map(place) {
        labels
            .entry(heading.clone())
            .or_default()
            .insert(label.clone());
        under.entry(label).or_default().insert(heading);
    }
    let several = under.values().filter(|headings| headings.len() > 1);
    let sections: BTreeSet<&String> = several.flatten().collect();
    // A heading with one label is one system: its label says nothing.
    if sections.iter().any(|heading| labels[*heading].len() < 2) {
        return;
    }
    for figure in figures {
        if let Some((_, heading)) = place(figure).filter(|(_, heading)| sections.contains(heading))
        {
            let section = &figure.system.section;
            let section = match &**section {
                "" => heading,
                above => format!("{above} / {heading}"),
            };
            figure.system.section = section.into();
        }
    }
}

/// Where nothing is compared within a section, and the same headings stand in several, those name what was done, and
/// the sections who did it: `go / plain text`, `rust / plain text`.
fn by_workload(document: &Document, figures: &mut [Figure]) {
    let page = |figure: &Figure| {
        let output = &document.outputs[figure.output?];
        let url = output.block.url.as_ref().map(|url| url.what.as_str());
        let (.., path) = parts_of(url.or_else(|| output.command.as_ref()?.url())?)?;
        Some(path)
    };
    let mut within: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    let mut across: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for figure in figures.iter() {
        let system = &figure.system;
        let key = (&*system.section, figure.load, page(figure));
        within.entry(key).or_default().insert(&system.name);
        let key = (split(&system.section).0.to_owned(), system.name.to_string());
        across.entry(key).or_default().insert(&system.section);
    }
    if within.values().any(|names| names.len() > 1) {
        return;
    }
    let several: BTreeSet<(String, String)> = across
        .into_iter()
        .filter(|(_, sections)| sections.len() > 1 && !sections.contains(""))
        .map(|(key, _)| key)
        .collect();
    for figure in figures {
        let system = &mut figure.system;
        let section = system.section.to_string();
        let (above, own) = split(&section);
        if several.contains(&(above.to_owned(), system.name.to_string())) {
            let name = format!("{own}, {}", system.name);
            system.section = match above {
                "" => system.name.clone(),
                above => format!("{above} / {}", system.name).into(),
            };
            system.name = name.into();
        }
    }
}

/// Outputs of several addresses that nothing else tells apart are of several systems: two servers on
/// two ports, two pages of one.
fn by_address(document: &Document, figures: &mut [Figure]) {
    let address = |figure: &Figure| {
        let output = &document.outputs[figure.output?];
        let url = output.block.url.as_ref().map(|url| url.what.as_str());
        parts_of(url.or_else(|| output.command.as_ref()?.url())?)
    };
    let mut seen: BTreeMap<System, BTreeSet<(String, String)>> = BTreeMap::new();
    let mut hosts: BTreeMap<System, BTreeSet<String>> = BTreeMap::new();
    for figure in figures.iter() {
        if let Some((host, port, path)) = address(figure) {
            let others = seen.entry(figure.system.clone()).or_default();
            others.insert((port, path));
            // The same machine has several names. Those below `localhost` are of sites.
            let host = if is_this_machine(&host) && !host.ends_with(".localhost") {
                String::new()
            } else {
                host
            };
            hosts.entry(figure.system.clone()).or_default().insert(host);
        }
    }
    for figure in figures {
        let system = &figure.system;
        let Some((host, port, path)) = address(figure) else {
            continue;
        };
        let several = |set: &BTreeSet<String>| set.len() > 1;
        let own = &seen[system];
        let ports: BTreeSet<String> = own.iter().map(|(port, _)| port.clone()).collect();
        let paths: BTreeSet<String> = own.iter().map(|(_, path)| path.clone()).collect();
        let mut more = Vec::new();
        // Under a heading that names a system, several machines are a finding of their own.
        let file = system.origin.rsplit('/').next().unwrap_or("");
        let site = host.ends_with(".localhost");
        if several(&hosts[system]) && (*system.name == *file || site) {
            more.push(host);
        }
        if several(&ports) {
            more.push(format!("port {port}"));
        }
        let mut section = system.section.clone();
        if several(&paths) {
            // Pages of one server are not compared with each other.
            section = format!("{section}{path}").into();
            more.push(path);
        }
        if !more.is_empty() {
            let name = format!("{}, {}", system.name, more.join(" "));
            figure.system.name = name.into();
            figure.system.section = section;
        }
    }
}

/// Under headings of the same name, the headings above tell systems apart: `Actix / Hello world`,
/// `Rocket / Hello world`.
fn by_section(figures: &mut [Figure]) {
    let Some(first) = figures.first() else { return };
    let alike = figures
        .iter()
        .all(|figure| figure.system.name == first.system.name);
    let sections: BTreeSet<&str> = figures.iter().map(|f| &*f.system.section).collect();
    let above = |section: &str| split(section).0.to_owned();
    let parents: BTreeSet<String> = sections.iter().map(|section| above(section)).collect();
    if !alike || sections.len() < 2 || parents.len() > 1 || sections.contains("") {
        return;
    }
    for figure in figures {
        let system = &mut figure.system;
        let own = system.section.rsplit(" / ").next().unwrap_or_default();
        system.name = format!("{own}, {}", system.name).into();
        system.section = above(&system.section).into();
    }
}

/// Pages of one server are not compared with each other, nor are scripts of k6 or wrk: each is in a section of
/// its own, whatever the headings are.
fn by_page(document: &Document, figures: &mut [Figure]) {
    let page = |figure: &Figure| {
        let output = &document.outputs[figure.output?];
        let command = output.command.as_ref();
        let url = output.block.url.as_ref().map(|url| url.what.as_str());
        let parts = url.or_else(|| command?.url()).and_then(parts_of);
        // With and without TLS it is the same server.
        let server = parts.as_ref().map(|(host, port, _)| match port.as_str() {
            "80" | "443" => host.clone(),
            port => format!("{host}:{port}"),
        });
        let path = parts.map(|(.., path)| path);
        // What a script asks for is in no address.
        match (command.and_then(Command::script), path) {
            (Some(script), _) => Some((server.unwrap_or_default(), script.to_owned())),
            (None, Some(path)) => Some((server?, path)),
            (None, None) => None,
        }
    };
    let mut pages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (server, path) in figures.iter().filter_map(page) {
        pages.entry(server).or_default().insert(path);
    }
    for figure in figures {
        if let Some((server, path)) = page(figure)
            && pages[&server].len() > 1
            && !figure.system.section.ends_with(&path)
        {
            figure.system.section = format!("{}{path}", figure.system.section).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::figures::figures;
    use crate::read::read;

    fn run() -> &'static str {
        "Running 1s test @ http://h/\n  1 threads and 2 connections\nRequests/sec: 5.0\nTransfer/sec: 1KB\n\n"
    }

    fn named(text: &str) -> Vec<(String, String)> {
        let figures = figures(&[read("x", text)]);
        let named = figures
            .iter()
            .map(|f| (f.system.name.to_string(), f.system.section.to_string()));
        named.collect()
    }

    fn expected(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, section)| ((*name).to_owned(), (*section).to_owned()))
            .collect()
    }

    #[test]
    fn a_heading_below_one_with_outputs_is_beside_it() {
        let text = format!(
            "# Servers\n## go\n{}### node\n{}#### deno\n{}",
            run(),
            run(),
            run()
        );
        let beside = [("go", "Servers"), ("node", "Servers"), ("deno", "Servers")];
        assert_eq!(named(&text), expected(&beside));
        let text = format!(
            "# Servers\n## go\n{r}### tuned\n{r}## node\n{r}### tuned\n{r}",
            r = run()
        );
        let parts = ["go", "go, tuned", "node", "node, tuned"].map(|name| (name, "Servers"));
        assert_eq!(named(&text), expected(&parts));
    }

    #[test]
    fn labels_under_several_headings_make_these_sections() {
        let text = format!(
            "# T\n## simple\ncached\n\n{r}plain\n\n{r}## complex\ncached\n\n{r}bare\n\n{r}",
            r = run()
        );
        let systems = [
            ("simple, cached", "T / simple"),
            ("simple, plain", "T / simple"),
            ("complex, cached", "T / complex"),
            ("complex, bare", "T / complex"),
        ];
        assert_eq!(named(&text), expected(&systems));
    }

    #[test]
    fn headings_that_stand_in_several_sections_name_workloads() {
        let text = format!(
            "# T\n## go\n### plain\n{r}## rust\n### plain\n{r}### json\n{r}",
            r = run().replace("h/", "h/p")
        );
        let text = text.replacen(
            "### json\nRunning 1s test @ http://h/p",
            "### json\nRunning 1s test @ http://h/j",
            1,
        );
        let systems = [
            ("go, plain", "T / plain/p"),
            ("rust, plain", "T / plain/p"),
            ("json", "T / rust/j"),
        ];
        assert_eq!(named(&text), expected(&systems));
    }

    #[test]
    fn pages_of_one_server_are_in_sections_of_their_own() {
        let under = |heading: &str, url: &str| {
            format!(
                "## {heading}\n\nRunning 1s test @ {url}\n  1 threads and 2 connections\n\
                 Requests/sec: 5.0\nTransfer/sec: 1KB\n\n"
            )
        };
        let sections = |text: &str| -> Vec<String> {
            let figures = figures(&[read("x", text)]);
            let sections = figures.iter().map(|f| f.system.section.to_string());
            sections.collect()
        };
        let pages = under("text", "http://h/") + &under("queries", "http://h/db");
        assert_eq!(sections(&pages), ["/", "/db"]);
        let servers = under("go", "http://h/") + &under("node", "http://h/");
        assert_eq!(sections(&servers), ["", ""]);
        let tls = under("plain", "http://h/coffee") + &under("tls", "https://h/tea");
        assert_eq!(sections(&tls), ["/coffee", "/tea"]);
        let scripts = "## One\n\n    k6 run one.js\n    http_reqs.....: 180 4.3/s\n\n\
            ## Two\n\n    k6 run two.js\n    http_reqs.....: 190 4.4/s\n";
        assert_eq!(sections(scripts), ["one.js", "two.js"]);
    }

    #[test]
    fn headings_above_those_that_are_alike_name_systems() {
        let run = |name: &str| {
            format!(
                "## {name}\n\n### Hello world\n\nRunning 1s test @ http://h/\n  \
                 1 threads and 2 connections\nRequests/sec: 5.0\nTransfer/sec: 1KB\n\n"
            )
        };
        let text = format!("# Servers\n\n{}{}", run("actix"), run("rocket"));
        let figures = figures(&[read("x", &text)]);
        let named: Vec<(&str, &str)> = figures
            .iter()
            .map(|f| (&*f.system.name, &*f.system.section))
            .collect();
        let expected = [
            ("actix, Hello world", "Servers"),
            ("rocket, Hello world", "Servers"),
        ];
        assert_eq!(named, expected);
    }
}
