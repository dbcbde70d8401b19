//! Addresses and pages, which tell apart what headings do not: two servers on two ports, two pages of one server.

use crate::command::{Command, is_this_machine, parts_of};
use crate::figures::Figure;
use crate::model::Document;
use crate::names::System;
use std::collections::{BTreeMap, BTreeSet};

/// Where an output was asked for.
#[derive(Clone)]
struct UrlParts {
    host: String,
    port: String,
    /// The path, or the script of k6 or wrk that says what is asked for.
    page: String,
}

impl UrlParts {
    fn of(document: &Document, figure: &Figure) -> Option<Self> {
        let output = &document.outputs[figure.output?];
        let command = output.command.as_ref();
        let url = output.block.url.as_ref().map(|url| url.what.as_str());
        let parts = url.or_else(|| command?.url()).and_then(parts_of);
        let script = command.and_then(Command::script).map(str::to_owned);
        let (host, port, path) = match (parts, &script) {
            (Some(parts), _) => parts,
            (None, Some(_)) => Default::default(),
            (None, None) => return None,
        };
        let page = script.unwrap_or(path);
        Some(Self { host, port, page })
    }

    /// Host and port. With and without TLS it is the same server.
    fn server(&self) -> String {
        match self.port.as_str() {
            "80" | "443" | "" => self.host.clone(),
            port => format!("{}:{port}", self.host),
        }
    }

    /// Returns the host; empty for this machine, which has several names. Names below `localhost` are those of sites.
    fn machine(&self) -> &str {
        let here = is_this_machine(&self.host) && !self.host.ends_with(".localhost");
        if here { "" } else { &self.host }
    }
}

/// Puts the pages of a server into sections of their own, and adds hosts and ports to the names of systems that have several.
pub(crate) fn tell_apart(document: &Document, figures: &mut [Figure]) {
    let addresses: Vec<Option<UrlParts>> = figures
        .iter()
        .map(|figure| UrlParts::of(document, figure))
        .collect();
    let mut pages: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for address in addresses.iter().flatten() {
        pages
            .entry(address.server())
            .or_default()
            .insert(&address.page);
    }
    for (figure, address) in figures.iter_mut().zip(&addresses) {
        if let Some(address) = address.as_ref().filter(|it| pages[&it.server()].len() > 1) {
            let section = format!("{}{}", figure.system.section, address.page);
            figure.system.section = section.into();
        }
    }
    let mut ports: BTreeMap<System, BTreeSet<&str>> = BTreeMap::new();
    let mut machines: BTreeMap<System, BTreeSet<&str>> = BTreeMap::new();
    for (figure, address) in figures.iter().zip(&addresses) {
        if let Some(address) = address {
            let system = figure.system.clone();
            ports
                .entry(system.clone())
                .or_default()
                .insert(&address.port);
            machines
                .entry(system)
                .or_default()
                .insert(address.machine());
        }
    }
    for (figure, address) in figures.iter_mut().zip(&addresses) {
        let Some(address) = address else { continue };
        let system = &figure.system;
        let mut more = Vec::new();
        // Under a heading that names a system, several machines are a finding of their own.
        let file = system.origin.rsplit('/').next().unwrap_or("");
        let unnamed = *system.name == *file || address.host.ends_with(".localhost");
        if machines[system].len() > 1 && unnamed {
            more.push(address.host.clone());
        }
        if ports[system].len() > 1 {
            more.push(format!("port {}", address.port));
        }
        if !more.is_empty() {
            figure.system.name = format!("{}, {}", system.name, more.join(" ")).into();
        }
    }
}

/// Moves the page in the name of a figure to its section, so that only figures for the same page are compared.
pub(crate) fn by_page(figures: &mut [Figure]) {
    for figure in figures {
        let system = &mut figure.system;
        if let Some(page) = page(&system.name)
            && !system.section.ends_with(page)
        {
            system.section = format!("{} {page}", system.section).into();
        }
    }
}

/// The last page in a name: `GET /users`, `Header (/header)`, `/rooms`.
fn page(name: &str) -> Option<&str> {
    const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    let mut method = false;
    let mut last = None;
    for word in name.split_whitespace() {
        let word = word.trim_matches(['`', '(', ')', '"', '\'', ',', ';', '[', ']']);
        let path = word.strip_prefix('/').is_some_and(|rest| {
            let named = rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, ':' | '{'));
            named && !matches!(rest, "s" | "sec" | "second") || method && rest.is_empty()
        });
        if path {
            last = Some(word);
        }
        method = METHODS.contains(&word);
        if method && last.is_none() {
            last = Some(word);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::figures::figures;
    use crate::read;

    fn under(heading: &str, url: &str) -> String {
        format!(
            "## {heading}\n\nRunning 1s test @ {url}\n  1 threads and 2 connections\n\
             Requests/sec: 5.0\nTransfer/sec: 1KB\n\n"
        )
    }

    fn sections(text: &str) -> Vec<String> {
        let figures = figures(&[read("x", text)]);
        let sections = figures.iter().map(|f| f.system.section.to_string());
        sections.collect()
    }

    #[test]
    fn pages_of_one_server_are_in_sections_of_their_own() {
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
    fn pages_are_no_systems() {
        for (name, expected) in [
            ("GET /users", Some("/users")),
            ("Header (/header)", Some("/header")),
            ("express GET", Some("GET")),
            ("nginx", None),
            ("requests /s", None),
        ] {
            assert_eq!(page(name), expected, "{name}");
        }
    }
}
