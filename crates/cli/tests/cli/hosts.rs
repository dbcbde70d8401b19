//! Loads and servers on other machines. Here the machines are this one, reached through a launcher that is a program like
//! any other; over SSH and Slurm they are tried by `scripts/test-hosts`.

use crate::http::{After, Constant};
use crate::support::{Background, Place, Served, until};
use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::process::CommandExt;
use std::path::Path;

/// The words of a command line, and then `more`, in which there may be spaces.
fn words<'a>(line: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    line.split_whitespace()
        .chain(more.iter().copied())
        .collect()
}

/// A launcher that writes down the id of the process that becomes the agent.
fn noted(place: &Place, name: &str) -> (String, std::path::PathBuf) {
    let pid = place.path().join(format!("{name}.pid"));
    let script = place.file(
        &format!("{name}.sh"),
        &format!("echo $$ > '{}'\nexec \"$@\"\n", pid.display()),
    );
    (format!("{name}=sh {}", script.display()), pid)
}

fn agent(pid: &Path) -> i32 {
    let mut found = None;
    until("the launcher has started", || {
        found = fs::read_to_string(pid)
            .ok()
            .and_then(|text| text.trim().parse().ok());
        found.is_some()
    });
    found.unwrap()
}

fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !matches!(
        stat.rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next()),
        None | Some('Z')
    )
}

fn sum(of: &Value, what: &str) -> u64 {
    let all = of["generators"].as_array().unwrap();
    all.iter()
        .map(|one| one["outcomes"][what].as_u64().unwrap())
        .sum()
}

#[test]
fn a_load_is_divided_among_machines_and_added_up() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let url = server.tcp();
    let arguments = words(
        "load --json --no-keep -n 1001 -c 5 --client-host a,b --host a=env --host b=env",
        &[&url],
    );
    let first = place.prony(&arguments).with(0);
    assert!(first.stderr.contains("copying prony to a"), "{first}");
    assert!(!first.stderr.contains("copying prony to b"), "{first}");
    let report = first.json();
    assert_eq!(report["outcomes"]["ok"], 1_001);
    assert_eq!(sum(&report, "ok"), 1_001);
    assert_eq!(report["generators"][0]["connections"], 3);
    assert_eq!(report["generators"][1]["connections"], 2);
    let n: u64 = (0..2)
        .map(|i| report["generators"][i]["response"]["n"].as_u64().unwrap())
        .sum();
    assert_eq!(report["latency"]["response"]["n"], n);
    let second = place.prony(&arguments).with(0);
    assert!(!second.stderr.contains("copying"), "{second}");
    // One connection is one machine's.
    let few = place.prony(&words(
        "load --json --no-keep -n 10 -c 1 --client-host a,b --host a=env --host b=env",
        &[&url],
    ));
    let few = few.with(0).json();
    assert_eq!(few["outcomes"]["ok"], 10);
    assert_eq!(few["generators"].as_array().unwrap().len(), 1, "{few:#}");
    let text = place.prony(&words(
        "load --no-keep -n 50 -c 2 --client-host local",
        &[&url],
    ));
    let text = text.with(0).stdout;
    assert!(text.contains("from ") && text.contains("local"), "{text}");
}

// Slow: a load of 2 s, from 3 agents that are processes of their own.
#[test]
fn a_rate_is_that_of_all_machines_together() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let report = place
        .prony(&words(
            "load --json --no-keep --rate 200 -d 2s -c 4 --client-host a,b,c \
             --host a=env --host b=env --host c=env",
            &[&server.tcp()],
        ))
        .with(0)
        .json();
    // At 200 per second for 2 s the three generators together are due exactly 400 requests.
    let outcomes = &report["outcomes"];
    let due: u64 = ["ok", "timeout", "in_flight_at_end", "unsent_at_end"]
        .iter()
        .map(|what| outcomes[what].as_u64().unwrap())
        .sum();
    assert_eq!(due, 400, "{report:#}");
    assert_eq!(report["latency"]["response"]["n"], 400);
}

// Slow: loads of 1 s and twice 0.3 s from 2 agents, and 5 that are refused.
#[test]
fn a_slow_client_measures_beside_the_load_and_is_no_part_of_it() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let url = server.tcp();
    let hosts = "--host a=env --host b=env";
    let load = |more: &str| {
        let line = format!("load --no-keep {hosts} {more}");
        place.prony(&words(&line, &[&url]))
    };
    let from_a = |more: &str| load(&format!("-c 4 --client-host a {more}"));
    // A number of requests, which says when both end; 20 per second for a second.
    let report = from_a("--json --rate 2000 -n 2000 --probe-host b --probe-rate 20")
        .with(0)
        .json();
    assert_eq!(report["outcomes"]["ok"], 2_000, "{report:#}");
    assert_eq!(report["latency"]["response"]["n"], 2_000);
    let [sender, slow] = &report["generators"].as_array().unwrap()[..] else {
        panic!("{report:#}");
    };
    assert_eq!(
        (&sender["measuring"], &slow["measuring"]),
        (&false.into(), &true.into())
    );
    assert_eq!(sender["outcomes"]["ok"], 2_000);
    assert_eq!(
        (&slow["host"], &slow["connections"]),
        (&"b".into(), &4.into())
    );
    // Of a Poisson process of mean 20, fewer than 3 or more than 60 come once in millions of times.
    let sent = slow["outcomes"]["ok"].as_u64().unwrap();
    assert!((3..=60).contains(&sent), "{slow:#}");
    let text = from_a("-d 300ms --probe-host b").with(0).stdout;
    assert!(text.contains("b (slow client)"), "{text}");
    // A closed loop has no schedule, however late the slow client is in its own.
    let closed = from_a("--json -d 300ms --probe-host b").with(0).json();
    let raised = crate::support::raised(&closed["checks"]);
    assert!(!raised.contains("schedule-lag"), "{closed:#}");
    for (more, why) in [
        ("--probe-host a", "that machine sends the load"),
        ("--probe-host c", "there is no host \"c\""),
        ("--probe-host b --probe-rate 0", "0.1 to 10000 requests"),
        ("--probe-rate 5", "--probe-host"),
    ] {
        let refused = from_a(more);
        assert!(
            refused.code != Some(0) && refused.stderr.contains(why),
            "{refused}"
        );
    }
    let refused = load("-d 100ms --probe-host b").with(2);
    assert!(refused.stderr.contains("needs --client-host"), "{refused}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn servers_run_on_one_machine_and_the_load_comes_from_others() {
    let place = Place::with_references();
    let done = place
        .prony(&words(
            "duel --json --rounds 2 --duration 100ms --warmup 100ms --contract tcp-echo \
             --server-host a --client-host b,c --host a=env --host b=env --host c=env quick plain",
            &[],
        ))
        .with(0);
    let sides = done.json()["sides"].as_array().unwrap().len();
    assert_eq!(sides, 2, "{done}");
    let experiment = place.experiment(
        "small",
        "title = 'small'\ncontract = 'tcp-echo'\nrounds = 1\nservers = ['quick', 'plain']\n\
         baseline = 'quick'\n[load]\nconnections = 2\nrequests = 200\nwarmup = '0s'\n",
    );
    let report = place
        .prony(&[
            "run",
            &experiment,
            "--server-host",
            "a",
            "--host",
            "a=env",
            "--no-html",
        ])
        .with(0)
        .stdout;
    assert!(
        report.contains("server on a (") && report.contains("generator on this machine"),
        "{report}"
    );
}

// Slow: 3 runs on agents that are processes of their own, and 2 that are refused.
#[test]
fn an_experiment_says_where_it_is_measured_and_the_command_line_says_otherwise() {
    let place = Place::with_references();
    let hosts = place.file("hosts.toml", "[a]\nlaunch = 'env'\n[b]\nlaunch = 'env'\n");
    let experiment = place.experiment(
        "apart",
        "title = 'apart'\ncontract = 'tcp-echo'\nrounds = 1\nservers = ['quick']\n\
         [place]\nserver_host = 'a'\nclient_host = ['b']\n\
         [load]\nconnections = 2\nrequests = 200\nwarmup = '0s'\n",
    );
    let hosts = hosts.display().to_string();
    let run = |more: &[&str]| {
        let first = ["run", &experiment, "--hosts", &hosts, "--no-html"];
        place.prony(&[&first, more].concat())
    };
    let report = run(&[]).with(0).stdout;
    assert!(
        report.contains("server on a (") && report.contains("generators on b"),
        "{report}"
    );
    let (_, machines) = report
        .split_once("where the load came from")
        .expect("a table");
    let row = machines
        .lines()
        .find(|line| line.contains(" b "))
        .expect("a row");
    assert!(row.contains("100.0%"), "{row}");
    let report = run(&["--probe-host", "local"]).with(0).stdout;
    assert!(
        report.contains("generators on b, slow client on local")
            && report.contains("local (slow client)"),
        "{report}"
    );
    let refused = run(&["--probe-host", "a"]).with(2).stderr;
    assert!(refused.contains("the servers run there"), "{refused}");
    let report = run(&["--client-host", "a"]).with(0).stdout;
    assert!(
        report.contains("server on a (") && report.contains("generators on a"),
        "{report}"
    );
    let unknown = place.experiment(
        "nowhere",
        "title = 'nowhere'\ncontract = 'tcp-echo'\nservers = ['quick']\n[place]\nserver = 'a'\n",
    );
    let refused = place.prony(&["run", &unknown, "--no-html"]).with(1).stderr;
    assert!(refused.contains("server_host"), "{refused}");
}

// Slow: 12 trials on fresh starts, on 3 agents, and 9 runs that are refused.
#[test]
fn rounds_are_divided_among_rigs() {
    let place = Place::with_references();
    let experiment = place.experiment(
        "divided",
        "title = 'divided'\ncontract = 'tcp-echo'\nrounds = 6\nservers = ['quick', 'plain']\n\
         baseline = 'quick'\n[load]\nconnections = 2\nrequests = 200\nwarmup = '0s'\n",
    );
    let run = |more: &str| {
        let line = "run --no-html --quiet --host a=env --host b=env --host c=env";
        place.prony(&[&words(line, &[&experiment])[..], &words(more, &[])].concat())
    };
    let report = run("--json --shard-rounds a,b+c").with(0).json();
    let placement = report["run"]["placement"].as_str().unwrap();
    assert!(
        placement.starts_with("2 rigs: server on a (")
            && placement.contains("; server on b (")
            && placement.contains("generators on c"),
        "{placement}"
    );
    for cell in report["cells"].as_array().unwrap() {
        assert_eq!(cell["trials"], 6, "{report:#}");
        assert_eq!(cell["ratio"]["n"], 6, "{report:#}");
    }
    // One of them may have been fast enough to take all rounds.
    let rigs = report["rigs"].as_array().unwrap();
    let known = |rig: &serde_json::Value| ["a", "b+c"].iter().any(|name| rig["rig"] == *name);
    assert!(rigs.iter().all(known), "{report:#}");
    let rounds: u64 = rigs.iter().map(|it| it["rounds"].as_u64().unwrap()).sum();
    assert!(rigs.is_empty() || rounds == 6, "{report:#}");
    for (more, code, said) in [
        ("--shard-rounds a,a+b", 2, "names a twice"),
        ("--shard-rounds a+", 2, "is no rig"),
        ("--shard-rounds a,d", 1, "there is no host \"d\""),
        ("--shard-rounds slurm", 1, "this is no Slurm job"),
        ("--shard-rounds a --why", 2, "without --why"),
        ("--server-host a --why", 2, "cannot be used with"),
        ("--shard-rounds a --server-host b", 2, "cannot be used with"),
        ("--server-host a --upstream-host b", 2, "no upstream here"),
        ("--server-cpus 4096", 1, "for the server"),
    ] {
        let refused = run(more).with(code);
        assert!(refused.stderr.contains(said), "{more}: {refused}");
    }
}

#[test]
fn what_cannot_be_started_is_told() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let url = server.tcp();
    let refused = |host: &str, more: &[&str]| {
        let name = host.split('=').next().unwrap();
        let mut arguments = vec![
            "load",
            "--no-keep",
            "-n",
            "1",
            "-c",
            "1",
            "--client-host",
            name,
        ];
        arguments.extend(["--host", host]);
        arguments.extend(more);
        arguments.push(&url);
        place.prony(&arguments).with(1).stderr
    };
    let text = refused("a=false", &[]);
    assert!(text.contains("started no shell (exit status 1)"), "{text}");
    let text = refused("a=sh -c 'echo no route to a >&2; exit 255'", &[]);
    assert!(text.contains("no route to a"), "{text}");
    let text = refused("a=/there/is/no/such/program", &[]);
    assert!(text.contains("cannot run"), "{text}");
    let text = refused("b=env", &["--client-host", "c"]);
    assert!(
        text.contains("there is no host \"c\"") && text.contains("--host 'c="),
        "{text}"
    );
    // An installed program that says nothing, and a cache that cannot be written.
    let hosts = place.file(
        "hosts.toml",
        &format!(
            "[silent]\nlaunch = 'env'\nprony = '/bin/true'\n[other]\nlaunch = 'sh {}'\n",
            place
                .file("wrong.sh", "PRONY_CACHE=/dev/null exec \"$@\"\n")
                .display()
        ),
    );
    let hosts = hosts.display().to_string();
    for (name, said) in [
        ("silent", "in the same version"),
        ("other", "could not be copied"),
    ] {
        let text = place
            .prony(&words(
                "load --no-keep -n 1 -c 1 --hosts",
                &[&hosts, "--client-host", name, &url],
            ))
            .with(1)
            .stderr;
        assert!(text.contains(said), "{name}: {text}");
    }
    let text = place
        .prony(&["load", "--hosts", "slurm", "--client-host", "a", &url])
        .with(1)
        .stderr;
    assert!(text.contains("this is no Slurm job"), "{text}");
}

#[test]
fn an_agent_that_is_killed_ends_the_load_without_figures() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let ((a, pid_a), (b, pid_b)) = (noted(&place, "a"), noted(&place, "b"));
    let mut load = Background::start(&mut place.command(&words(
        "load --json --no-keep --plain -d 1000s -c 2 --client-host a,b --host",
        &[&a, "--host", &b, &server.tcp()],
    )));
    // A window of the load has ended.
    load.line("/s");
    let (a, b) = (agent(&pid_a), agent(&pid_b));
    // SAFETY: a plain system call.
    unsafe { libc::kill(b, libc::SIGKILL) };
    let done = load.end();
    assert_eq!(done.code, Some(1), "{done}");
    assert!(done.stderr.contains("agent-lost: host b"), "{done}");
    assert_eq!(done.stdout, "", "{done}");
    until("the other agent has ended", || !is_alive(a));
}

#[test]
fn agents_end_with_a_killed_coordinator() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let (a, pid) = noted(&place, "a");
    let mut load = Background::start(&mut place.command(&words(
        "load --no-keep --plain -d 1000s -c 2 --client-host a --host",
        &[&a, &server.tcp()],
    )));
    load.line("/s");
    load.signal(9);
    drop(load);
    let pid = agent(&pid);
    until("the agent has ended", || !is_alive(pid));
}

#[test]
fn an_interrupted_load_keeps_what_was_measured() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let mut command = place.command(&words(
        "load --json --no-keep --plain -d 1000s -c 4 --client-host a,b --host a=env --host b=env",
        &[&server.tcp()],
    ));
    let mut load = Background::start(command.process_group(0));
    load.line("/s");
    // As a terminal does: to every process of the group.
    load.signal_group(libc::SIGINT);
    let done = load.end();
    let report = done.json();
    assert_eq!(report["interrupted"], true, "{done}");
    assert!(report["outcomes"]["ok"].as_u64().unwrap() > 0, "{done}");
    assert_eq!(
        sum(&report, "ok"),
        report["outcomes"]["ok"].as_u64().unwrap()
    );
}

/// A launcher behind whose first bytes, in which the conversation begins, a filter written in Python changes `data`.
fn filtered(place: &Place, name: &str, change: &str) -> String {
    let filter = place.file(
        &format!("{name}.py"),
        &format!(
            "import sys\ntotal, end = 0, False\nwhile not end and (data := sys.stdin.buffer.read1(65536)):\n    \
             total += len(data)\n    if total > 2500:\n        {change}\n    sys.stdout.buffer.write(data)\n    \
             sys.stdout.buffer.flush()\n"
        ),
    );
    let script = place.file(
        &format!("{name}.sh"),
        &format!("\"$@\" | python3 -u '{}'\n", filter.display()),
    );
    format!("{name}=sh {}", script.display())
}

// Slow: 3 loads, each from an agent behind a filter in Python, until that damages what it says.
#[test]
fn what_is_damaged_on_its_way_is_never_a_figure() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    for (name, change, said) in [
        (
            "damages",
            "data = data[:-9] + bytes([data[-9] ^ 4]) + data[-8:]",
            "damaged",
        ),
        ("cuts", "data, end = data[:-9], True", "ended"),
        ("doubles", "data = data + data", "damaged"),
    ] {
        let host = filtered(&place, name, change);
        let done = place.prony(&words(
            "load --json --no-keep -d 5s -c 2 --client-host",
            &[name, "--host", &host, &server.tcp()],
        ));
        assert_eq!(done.code, Some(1), "{name}: {done}");
        assert_eq!(done.stdout, "", "{name}: {done}");
        assert!(done.stderr.contains(said), "{name}: {done}");
        assert!(done.stderr.contains("agent-lost"), "{name}: {done}");
    }
}

#[test]
fn machines_are_checked_and_the_network_between_them() {
    let place = Place::new();
    let found = place
        .prony(&[
            "hosts", "check", "--json", "--host", "a=env", "--host", "b=false",
        ])
        .with(1)
        .json();
    assert_eq!(found["hosts"][0]["host"], "a");
    assert!(found["hosts"][0]["clock"]["error_ns"].as_u64().unwrap() > 0);
    assert!(
        found["hosts"][1]["error"]
            .as_str()
            .unwrap()
            .contains("started no shell")
    );
    assert_eq!(found["pairs"].as_array().unwrap().len(), 0);
    let none = place
        .command(&["hosts", "check"])
        .env("HOME", place.path())
        .output()
        .unwrap();
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn a_program_that_is_no_prony_is_shown() {
    let (place, server) = (Place::new(), Served::start(&["tcp-echo"]));
    let hosts = place.file("hosts.toml", "[greets]\nlaunch = 'env'\nprony = 'echo'\n");
    let text = place
        .prony(&[
            "load",
            "--no-keep",
            "--hosts",
            hosts.to_str().unwrap(),
            "--client-host",
            "greets",
            &server.tcp(),
        ])
        .with(1)
        .stderr;
    assert!(
        text.contains("no prony answered there, but \"agent\""),
        "{text}"
    );
}

#[test]
fn requests_of_a_file_are_tried_from_here_too() {
    let place = Place::new();
    let text = "[[request]]\nname = 'home'\npath = '/'\nexpect.contains = 'bye'\n";
    let file = place.file("shop.toml", text).display().to_string();
    let server = Constant::new(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        After::Keep,
    );
    let load = |address: std::net::SocketAddr| {
        let url = format!("http://{address}");
        let line = "load --no-keep -n 40 -c 2 --client-host a --host a=env -f";
        place.prony(&words(line, &[&file, &url]))
    };
    let here = server.tcp();
    let done = load(here).with(0);
    let why = format!("are not tried before the load: {here} is another place on each machine");
    assert!(done.stderr.contains(&why), "{done}");
    // The address by which others know this machine, if it has one: nothing is sent to find it out.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    if socket.connect("192.0.2.1:9").is_err() {
        return;
    }
    let done = load(server.on(socket.local_addr().unwrap().ip())).with(1);
    assert!(done.stderr.contains("1 of 1 in"), "{done}");
    assert!(!done.stderr.contains("are not tried"), "{done}");
}
