//! `prony hosts`: what a user's machines are like.

use crate::CommandEnd;
use crate::args::{HostsAction, HostsArgs, HostsCheck};
use crate::place::on_signal;
use crate::remedy::unknown;
use miette::Result;
use prony_lab::interrupt::Interrupt;
use prony_remote::check::{Path, ReachedHost, host, pair};
use prony_report::show;
use prony_report::table::{Align, TextTable};
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;

pub fn main(args: &HostsArgs) -> Result<CommandEnd> {
    match &args.action {
        HostsAction::Check(args) => check(args),
    }
}

/// Results of `prony hosts check`.
struct HostChecks {
    hosts: Vec<(String, Result<ReachedHost, String>)>,
    /// Server, generator, and the network between them.
    pairs: Vec<(String, String, Result<Path, String>)>,
}

fn check(args: &HostsCheck) -> Result<CommandEnd> {
    let registry = args.machines.registry()?;
    let mut names = args.names.clone();
    if names.is_empty() {
        names = registry.hosts().all().map(|it| it.name.clone()).collect();
    }
    if names.is_empty() {
        return Err(usage!(
            help = "name one: prony hosts check --host api1 (docs/hosts.md)",
            "no machine is known: neither --host nor a file of hosts names one"
        ));
    }
    for name in &names {
        registry.known(name).map_err(|error| unknown(&error))?;
    }
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let mut found = HostChecks {
        hosts: Vec::new(),
        pairs: Vec::new(),
    };
    for name in &names {
        if interrupt.fired() {
            break;
        }
        eprintln!("reaching {name}");
        found.hosts.push((name.clone(), host(&registry, name)));
    }
    let there: Vec<&String> = found
        .hosts
        .iter()
        .filter(|(_, seen)| seen.is_ok())
        .map(|(name, _)| name)
        .collect();
    for server in there.iter().filter(|_| !args.no_pairs) {
        for generator in there.iter().filter(|name| *name != server) {
            if interrupt.fired() {
                break;
            }
            eprintln!("from {generator} to {server}");
            let path = pair(&registry, server, generator, &interrupt);
            let (server, generator) = ((*server).clone(), (*generator).clone());
            found.pairs.push((server, generator, path));
        }
    }
    match args.json {
        true => println!("{:#}", found.json()),
        false => crate::out::report(|width| found.text(width)),
    }
    Ok(match found.all_well() && !interrupt.fired() {
        true => CommandEnd::Done,
        false => CommandEnd::Incomplete,
    })
}

impl HostChecks {
    fn all_well(&self) -> bool {
        self.hosts.iter().all(|(_, seen)| seen.is_ok())
            && self.pairs.iter().all(|(_, _, path)| path.is_ok())
    }

    fn text(&self, width: usize) -> String {
        let right = |name| (name, Align::Right);
        let mut table = TextTable::new([
            ("host", Align::Left),
            right("CPUs"),
            right("memory"),
            right("conns"),
            right("started in"),
            right("round trip"),
            right("clock ±"),
            ("machine", Align::Left),
        ]);
        for (name, seen) in &self.hosts {
            let Ok(seen) = seen else { continue };
            let hello = &seen.hello;
            table.row([
                name.clone(),
                show::count(hello.topology.cpus().len() as u64),
                format!(
                    "{:.0} GiB",
                    hello.machine.memory as f64 / f64::from(1 << 30)
                ),
                show::count(hello.descriptors),
                show::time(seen.started.as_nanos() as f64),
                show::time(seen.clock.round_trip as f64),
                show::time(seen.clock.error as f64),
                hello.machine.short(),
            ]);
        }
        let mut out = table.fit(width);
        if !self.pairs.is_empty() {
            let mut table = TextTable::new([
                ("server", Align::Left),
                ("generator", Align::Left),
                ("address", Align::Left),
                right("echo p50"),
                right("p99"),
                right("each way"),
            ]);
            for (server, generator, path) in &self.pairs {
                let Ok(path) = path else { continue };
                table.row([
                    server.clone(),
                    generator.clone(),
                    path.address.to_string(),
                    show::time(path.p50 as f64),
                    show::time_or_dash(path.p99),
                    format!("{:.2} Gbit/s", path.bytes_per_second * 8.0 / 1e9),
                ]);
            }
            let _ = write!(out, "\n{}", table.fit(width));
        }
        let hosts = self.hosts.iter().filter_map(|(_, it)| it.as_ref().err());
        let pairs = self.pairs.iter().filter_map(|(_, _, it)| it.as_ref().err());
        for error in hosts.chain(pairs) {
            let _ = write!(out, "\nfailed  {error}\n");
        }
        out
    }

    fn json(&self) -> serde_json::Value {
        let hosts = self.hosts.iter().map(|(name, seen)| match seen {
            Ok(seen) => json!({
                "host": name,
                "version": seen.hello.version,
                "machine": seen.hello.machine,
                "cpus": seen.hello.topology.numbers(),
                "connections": seen.hello.descriptors,
                "started_ns": seen.started.as_nanos() as u64,
                "clock": {
                    "offset_ns": seen.clock.by,
                    "error_ns": seen.clock.error,
                    "round_trip_ns": seen.clock.round_trip,
                },
            }),
            Err(error) => json!({ "host": name, "error": error }),
        });
        let pairs = self
            .pairs
            .iter()
            .map(|(server, generator, path)| match path {
                Ok(path) => json!({
                    "server": server,
                    "generator": generator,
                    "address": path.address,
                    "echo_p50_ns": path.p50,
                    "echo_p99_ns": path.p99,
                    "bytes_per_second": path.bytes_per_second,
                }),
                Err(error) => json!({ "server": server, "generator": generator, "error": error }),
            });
        json!({ "hosts": hosts.collect::<Vec<_>>(), "pairs": pairs.collect::<Vec<_>>() })
    }
}
