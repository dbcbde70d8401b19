//! prony against bare loops and against its peers, in one run.
//!
//! [`claims`] measures the figures that the documents claim; [`campaigns`] tries what might break.

mod campaigns;
mod child;
mod claims;
mod error;
mod load;
mod place;
mod prony;
mod quiet;
mod server;
mod spread;
mod status;
mod table;

use campaigns::{faults, hostile, hosts, soak};
use claims::{
    apps, attribution, busy, capacity, compat, instructions, memory, others, over, pairing, peers,
    plant, power, referee, send_delay, streams, truth, verdicts, view, why,
};
use clap::{Parser, Subcommand};
use error::{Error, Result};
use place::Rig;
use prony_record::load::Protocol;
use quiet::Quiet;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  prony-benches peers                          five rounds of 2 s each, some seven minutes
  prony-benches others                         what wrk, oha, hey, ab and httperf say of one server; four minutes
  prony-benches peers --over tls               over TLS, compared with wrk and oha; h2c and h2: with h2load; h3 and ws: with a bare loop
  prony-benches peers --rounds 20 --json       more rounds, every sample as JSON
  prony-benches send-delay --seconds 5         longer measurements, for the far percentiles
  prony-benches truth
  prony-benches streams                        events: truth, cost and memory; four minutes
  prony-benches compat                         after `cargo build --release`; two minutes
  prony-benches aa --duels 50                  after `cargo build --release`; 200 duels: some 25 minutes
  prony-benches power --duels 10
  prony-benches power --busy --hogs 0,3 --planted 5 --loads 0 --seconds 180
  prony-benches apps --smoke                   after `cargo build --release`; does each application start? three minutes
  prony-benches apps --times 10                needs what `scripts/campaign apps` installs; go on where it ended with the same command
  prony-benches apps --only php --questions duels,planted
  prony-benches attribution --times 20
  prony-benches pairing --rounds 20            both sides at once, and layouts: four minutes
  prony-benches view                           after `cargo build --release`; half a minute
  prony-benches capacity --hog --searches 10   after `cargo build --release`; a minute for each search
  prony-benches why --repeat 3 --only work     after `cargo build --release`; a minute for each duel; needs root and cc
  prony-benches hostile --short
  prony-benches hostile --over tls             through TLS; seven minutes
  prony-benches hostile --over h3 --short      servers of HTTP/3
  prony-benches faults --signals 20            after `cargo build --release`; some 20 faults in a minute
  prony-benches soak --minutes 10
  prony-benches instructions --before OLD      after `cargo build --release`; ten minutes; needs valgrind
  prony-benches memory --connections 5000      where fewer file descriptors are available
  prony-benches memory --over tls --connections 2000
  prony-benches memory --over h2c              per stream in flight
  prony-benches memory --over h3 --each --connections 2000
  prony-benches all > figures.txt              everything; progress goes to standard error

Servers run on the first CPU that this program may use, clients on the second, all on loopback.
The machine should be quiet; every result says how quiet it was.";

/// prony's generator against bare loops, other load generators and a server that is known exactly.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    what: What,
    /// Rounds: each repeats everything once [default: peers, others and send-delay 5, memory and truth 3,
    /// compat 10, instructions 5]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: Option<u32>,
    /// Length of each measurement, after a warm-up of a fifth of it [default: peers, send-delay and
    /// compat 2, others 3, memory 3, truth 5]
    #[arg(long, global = true, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// Connections of `memory`'s larger process
    #[arg(long, global = true, value_name = "N", default_value_t = 10_000)]
    connections: u32,
    /// Print JSON with every sample instead of tables
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Rate and CPU per request, compared with bare loops, wrk, h2load and ab, at 1 to 1,024 connections
    Peers {
        /// Over TLS (against wrk, and oha if it is installed), HTTP/2 (against h2load) or WebSocket (against a bare loop, and gcannon if it is
        /// installed) instead: tls, h2c, h2, h3 or ws
        #[arg(long)]
        over: Option<over::Spoken>,
    },
    /// Rates and response times as wrk, oha, hey, ab, httperf and prony report them of one server
    Others,
    /// How late requests are sent, open loop at 10, 50 and 80% of the capacity
    #[command(alias = "lag")]
    SendDelay,
    /// Streams of events: truth of first events and gaps, CPU per event, memory of 10,000 open streams
    Streams,
    /// Memory per connection at 10,000 connections
    Memory {
        /// Over TLS instead, or per stream of HTTP/2 or HTTP/3, in flight on 10 connections: tls, h2c, h2 or h3
        #[arg(long)]
        over: Option<Protocol>,
        /// Over HTTP/2 and HTTP/3 too per connection, each with one request in flight
        #[arg(long)]
        each: bool,
    },
    /// Reported percentiles, compared with those that a scripted server implies
    Truth {
        /// Only over this protocol: plain, tls, h2c or h3
        #[arg(long)]
        over: Option<Protocol>,
    },
    /// `prony wrk` compared with `prony load`, and with a script compared with wrk
    #[command(alias = "faces")]
    Compat,
    /// Loads from 3 and from many agents: the coordinator's CPU time, bytes, windows, starts; the clockwork from 2; and more
    /// connections than one process may have
    Hosts {
        /// The most agents
        #[arg(long, value_name = "N", default_value_t = 32)]
        agents: u32,
        /// Connections from 3 agents together
        #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(31..))]
        connections: u32,
    },
    /// Duels of identical servers: how often do they report a difference?
    Aa {
        /// Number of duels, each of at most `--seconds` [default: 8]
        #[arg(long, value_name = "N", default_value_t = 200)]
        duels: u32,
    },
    /// Duels with a server that is slower by a known amount, and the same by two runs of wrk
    Power {
        /// Number of duels for each amount, each of at most `--seconds` [default: 60]
        #[arg(long, value_name = "N", default_value_t = 20)]
        duels: u32,
        /// Instead, 40 µs of work for each request and a little more on the second side, at several loads,
        /// quiet and beside hogs: is more work ever called an improvement?
        #[arg(long)]
        busy: bool,
        /// Processes that never sleep, on the CPUs in turns; 0: a quiet machine
        #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [0, 3], requires = "busy")]
        hogs: Vec<u32>,
        /// More work on the second side, in percent
        #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_values_t = [1.0, 3.0, 5.0], requires = "busy")]
        planted: Vec<f64>,
        /// Rates, in percent of what the first side reaches; 0: as the duel chooses
        #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_values_t = [10.0, 50.0, 80.0], requires = "busy")]
        loads: Vec<f64>,
    },
    /// Duels, loads and capacity searches of slow servers of which the truth is known
    Referee {
        /// How often each is asked
        #[arg(long, value_name = "N", default_value_t = 2)]
        times: u32,
        /// Only this; may be repeated
        #[arg(long, value_name = "QUESTION", value_enum)]
        only: Vec<referee::Question>,
    },
    /// Twelve real applications, asked about with default options; set up on first use, answers kept: hours
    Apps(apps::Options),
    /// Planted faults: is the right check raised, and no check without a fault?
    Attribution {
        /// How often to run each situation
        #[arg(long, value_name = "N", default_value_t = 5)]
        times: u32,
    },
    /// Do comparisons scatter less if both sides are loaded at the same moment, or start with another layout of memory?
    /// Pairs: `--rounds` [default: 20]; segments: `--seconds` [default: 0.5]
    Pairing,
    /// The first page of `prony view`, and others, cold and warm
    View {
        /// Trials in the notebook
        #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        trials: u32,
    },
    /// Instructions per request of two builds of the command, counted by valgrind
    Instructions {
        /// The command as it was before; what it is compared with lies beside this program
        #[arg(long, value_name = "PROGRAM")]
        before: PathBuf,
        /// Only URLs of this scheme; may be repeated
        #[arg(long, value_name = "SCHEME", value_parser = ["tcp", "http", "h2c", "https"])]
        only: Vec<String>,
    },
    /// Capacity searches of one server: do they agree, and do they say so when they cannot know?
    Capacity {
        /// Searches, each of trials of `--seconds` [default: 1]
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        searches: u32,
        /// Repeat the searches while another process uses half of the server's CPU time
        #[arg(long)]
        hog: bool,
        /// CPU time of the server for each request, in microseconds
        #[arg(long, value_name = "US", default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=100_000))]
        busy: u64,
    },
    /// Duels of a server with one that has a cause of a higher cost planted: does `--why` name it?
    Why {
        /// Duels for each cause in each language, with as many rounds of `--why` (`--rounds`) and parts as long (`--seconds`) as
        /// the cause needs
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        repeat: u32,
        /// Only this cause; may be repeated
        #[arg(long, value_name = "CAUSE", value_enum)]
        only: Vec<why::Cause>,
        /// Only servers in this language; may be repeated
        #[arg(long, value_name = "LANGUAGE", value_enum)]
        language: Vec<why::Language>,
        /// Requests per second
        #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(1..))]
        rate: u32,
    },
    /// Some 400 servers that break the protocol, in ten ways each: is what they do told as it is? Six minutes
    Hostile {
        /// In one way each, a different one for each server: some 20 seconds
        #[arg(long)]
        short: bool,
        /// All of them through TLS, or others of HTTP/3 instead: tls or h3
        #[arg(long)]
        over: Option<hostile::Over>,
    },
    /// Signals at random moments, notebooks and outputs that cannot be written, too little of everything, clocks
    /// that jump: is every finished trial kept and every process ended, and does the next run work?
    Faults {
        /// Signals, to prony, a supervisor, a server or its helper, in run, duel, capacity, view, and a run on other
        /// machines, there to agents and launchers too
        #[arg(long, value_name = "N", default_value_t = 200)]
        signals: u32,
        /// Signals only in runs on other machines
        #[arg(long)]
        apart: bool,
        /// Times of each other fault
        #[arg(long, value_name = "N", default_value_t = 5)]
        times: u32,
        /// Draws moments, signals and their targets from this number, to repeat them
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// A load at a rate of a server that is killed and started again all the while: does memory grow, does
    /// the schedule drift, is a window lost? Two hours, after `cargo build --release`
    Soak {
        /// Length of the load
        #[arg(long, value_name = "MINUTES", default_value_t = 120.0, value_parser = minutes)]
        minutes: f64,
        /// Requests per second
        #[arg(long, value_name = "N", default_value_t = 20_000)]
        rate: u32,
        /// How often the server is killed
        #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
        restart: f64,
    },
    /// The first four
    All,
    /// A server or neighbour with a fault, as a process of its own.
    #[command(hide = true)]
    Plant(plant::PlantArgs),
    /// The ceiling as a process of its own.
    #[command(hide = true)]
    Serve {
        contract: prony_reference::Contract,
        /// CPU work for each request, in nanoseconds
        #[arg(long, default_value_t = 0)]
        busy: u64,
        #[command(flatten)]
        spoken: server::SpokenArgs,
    },
    /// The clockwork as a process of its own.
    #[command(hide = true)]
    Clockwork(server::ClockworkArgs),
    /// The generator as a process of its own.
    #[command(hide = true)]
    Generate(memory::GenerateArgs),
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode> {
    let served = match &cli.what {
        What::Serve {
            contract,
            busy,
            spoken,
        } => {
            let busy = Duration::from_nanos(*busy);
            Some(server::serve_ceiling(*contract, busy, spoken))
        }
        What::Clockwork(args) => Some(server::serve_clockwork(args)),
        What::Generate(args) => Some(memory::generate(args)),
        What::Plant(args) => Some(plant::grow(args)),
        _ => None,
    };
    if let Some(result) = served {
        return result.map(|()| ExitCode::SUCCESS);
    }
    let mut bench = Bench::new(cli)?;
    let all = matches!(cli.what, What::All);
    let rounds = |default| cli.rounds.unwrap_or(default);
    let seconds = |default| cli.seconds.unwrap_or(default);
    if let What::Peers { over: Some(over) } = cli.what {
        bench.run("peers over", |rig| {
            over::run(rig, rounds(5), seconds(2.0), over)
        })?;
    } else if all || matches!(cli.what, What::Peers { .. }) {
        bench.run("peers", |rig| peers::run(rig, rounds(5), seconds(2.0)))?;
    }
    if all || matches!(cli.what, What::SendDelay) {
        bench.run("send-delay", |rig| {
            send_delay::run(rig, rounds(5), seconds(2.0))
        })?;
    }
    if all || matches!(cli.what, What::Memory { .. }) {
        let over = match cli.what {
            What::Memory { over, each } => (over.unwrap_or(Protocol::Plain), each),
            _ => (Protocol::Plain, false),
        };
        bench.run("memory", |rig| {
            memory::run(rig, rounds(3), seconds(3.0), cli.connections, over)
        })?;
    }
    if all || matches!(cli.what, What::Streams) {
        bench.run("streams", |rig| streams::run(rig, rounds(3), seconds(3.0)))?;
    }
    if all || matches!(cli.what, What::Truth { .. }) {
        let over = match cli.what {
            What::Truth { over } => over,
            _ => None,
        };
        bench.run("truth", |rig| {
            truth::run(rig, rounds(3), seconds(5.0), over)
        })?;
    }
    match cli.what {
        What::Compat => bench.run("compat", |rig| compat::run(rig, rounds(10), seconds(2.0)))?,
        What::Hosts {
            agents,
            connections,
        } => {
            bench.run("hosts", |rig| {
                hosts::run(rig, rounds(5), seconds(5.0), agents, connections)
            })?;
        }
        What::Aa { duels } => bench.run("aa", |rig| verdicts::aa(rig, duels, seconds(8.0)))?,
        What::Power {
            duels,
            busy: true,
            ref hogs,
            ref planted,
            ref loads,
        } => {
            let options = busy::Options {
                duels,
                seconds: seconds(60.0),
                hogs: hogs.clone(),
                planted: planted.clone(),
                loads: loads.clone(),
            };
            bench.run("busy", |rig| busy::run(rig, &options))?;
        }
        What::Power { duels, .. } => {
            bench.run("power", |rig| power::run(rig, duels, seconds(60.0)))?;
        }
        What::Referee { times, ref only } => {
            use referee::Question::{Capacities, Pairs, Rates, Simulated};
            let questions: &[_] = match only.as_slice() {
                [] => &[Simulated, Rates, Pairs, Capacities],
                only => only,
            };
            bench.run("referee", |_| referee::run(questions, times))?;
        }
        What::Apps(ref options) => bench.run("apps", |_| apps::run(options))?,
        What::Attribution { times } => {
            bench.run("attribution", |rig| attribution::run(rig, times))?;
        }
        What::Pairing => {
            bench.run("pairing", |rig| pairing::run(rig, rounds(20), seconds(0.5)))?;
        }
        What::Others => bench.run("others", |rig| others::run(rig, rounds(5), seconds(3.0)))?,
        What::View { trials } => bench.run("view", |rig| view::run(rig, trials, rounds(5)))?,
        What::Instructions {
            ref before,
            ref only,
        } => bench.run("instructions", |rig| {
            instructions::run(rig, before, only, rounds(5))
        })?,
        What::Capacity {
            searches,
            hog,
            busy,
        } => {
            let options = capacity::Options {
                searches,
                seconds: seconds(1.0),
                hog,
                busy_us: busy,
            };
            bench.run("capacity", |rig| capacity::run(rig, options))?;
        }
        What::Why {
            repeat,
            ref only,
            ref language,
            rate,
        } => {
            let options = why::Options {
                repeat,
                only: only.clone(),
                languages: language.clone(),
                rate: f64::from(rate),
                rounds: cli.rounds,
                seconds: cli.seconds,
            };
            bench.run("why", |_| why::run(&options))?;
        }
        What::Hostile { short, over } => bench.run("hostile", |_| hostile::run(short, over))?,
        What::Faults {
            signals,
            apart,
            times,
            seed,
        } => {
            let options = faults::Options {
                signals,
                apart,
                times,
                seed,
            };
            bench.run("faults", |_| faults::run(options))?;
        }
        What::Soak {
            minutes,
            rate,
            restart,
        } => {
            let options = soak::Options {
                minutes,
                rate,
                restart,
            };
            bench.run("soak", |rig| soak::run(rig, options))?;
        }
        _ => {}
    }
    bench.finish()
}

/// Runs benchmarks, watches the machine meanwhile, and prints what they have shown. One that fails
/// does not keep the others from running.
struct Bench {
    rig: Rig,
    /// Results that are printed as JSON at the end, by benchmark; none when tables are printed as they come.
    json: Option<Map<String, Value>>,
    failed: bool,
}

impl Bench {
    fn new(cli: &Cli) -> Result<Self> {
        let rig = Rig::here().map_err(Error::io("cannot see the CPUs"))?;
        Ok(Self {
            rig,
            json: cli.json.then(Map::new),
            failed: false,
        })
    }

    fn run<T: Serialize + Display>(
        &mut self,
        name: &str,
        bench: impl FnOnce(Rig) -> Result<T>,
    ) -> Result<()> {
        let unseen = || Error::io("cannot see what else the machine does");
        let before = quiet::now(self.rig).map_err(unseen())?;
        eprintln!("{name}: {}", self.rig);
        eprintln!("{name}: before: {}", before.line(false));
        let watch = quiet::Watch::begin(self.rig).map_err(unseen())?;
        let result = bench(self.rig);
        let during = watch.end().map_err(unseen())?;
        eprintln!("{name}: during: {}", during.line(true));
        if let Err(error) = &result {
            eprintln!("{name}: error: {error}");
            self.failed = true;
        }
        if let Some(json) = &mut self.json {
            let entry = entry(self.rig, before, during, &result);
            let entry = entry.map_err(|error| Error::Unusable(error.to_string()))?;
            json.insert(name.into(), entry);
        } else if let Ok(shown) = result {
            println!("{}: {}\n", name.to_uppercase(), self.rig);
            println!("{shown}");
            println!("Machine before: {}", before.line(false));
            println!("Machine during: {}\n", during.line(true));
        }
        Ok(())
    }

    fn finish(self) -> Result<ExitCode> {
        if let Some(json) = self.json {
            server::say(&json)?;
        }
        Ok(if self.failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// One benchmark in JSON: its result, or its error, beside the circumstances.
fn entry<T: Serialize>(
    rig: Rig,
    before: Quiet,
    during: Quiet,
    result: &Result<T>,
) -> serde_json::Result<Value> {
    let mut entry = Map::new();
    entry.insert("server_cpu".into(), rig.server.into());
    entry.insert("client_cpu".into(), rig.client.into());
    entry.insert("quiet_before".into(), serde_json::to_value(before)?);
    entry.insert("quiet_during".into(), serde_json::to_value(during)?);
    match result {
        Ok(shown) => entry.insert("result".into(), serde_json::to_value(shown)?),
        Err(error) => entry.insert("error".into(), error.to_string().into()),
    };
    Ok(entry.into())
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.1 to 600 is expected".into()),
    }
}

fn minutes(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(minutes) if (0.1..=1_440.0).contains(&minutes) => Ok(minutes),
        _ => Err("a number of minutes from 0.1 to 1440 is expected".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn seconds_are_bounded() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for text in ["0", "-1", "NaN", "inf", "601", "2s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
