//! `prony why` names the functions of servers: of code that is generated while they run, and of Go.

use crate::support::{Background, Place};
use crate::why::{SHORT, anatomy};
use std::fs;
use std::process::Command;
use std::sync::Mutex;

/// The server `busy`, whose answers are made by `aBusyFunction`.
const MANIFEST: &str = r#"
title = "a busy function"
language = "any"
model = "any"
contracts = ["http-echo"]
"#;

const NODE: &str = r#"
run = "node {src}/busy.cjs {host} {port}"
[profile]
env = { NODE_OPTIONS = "--perf-basic-prof-only-functions" }
"#;
const NODE_SOURCE: &str = r"
const [host, port] = process.argv.slice(2);
function aBusyFunction() { const end = process.hrtime.bigint() + 1000000n; let n = 0; while (process.hrtime.bigint() < end) n++; return n; }
require('http').createServer((_, answer) => { aBusyFunction(); answer.end('ok'); }).listen(port, host);
";

const JAVA: &str = r#"
build = "javac -d {build} Busy.java"
run = "java -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Busy.aBusyFunction -cp {build} Busy {host} {port}"
[profile]
env = { JAVA_TOOL_OPTIONS = "-XX:+PreserveFramePointer" }
"#;
const JAVA_SOURCE: &str = r#"
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
public class Busy {
    static long kept;
    static long aBusyFunction(long n) { long x = n; for (int i = 0; i < 1000; i++) x = x * 31 + i; return x; }
    public static void main(String[] where) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(where[0], Integer.parseInt(where[1])), 64);
        server.createContext("/", it -> {
            for (int i = 0; i < 1000; i++) kept += aBusyFunction(i);
            byte[] ok = "ok".getBytes();
            it.sendResponseHeaders(200, ok.length);
            it.getResponseBody().write(ok);
            it.close();
        });
        server.start();
    }
}
"#;

/// With `[profile]` only because the test asks for what it costs.
const GO: &str = r#"
build = "go build -o {build}/busy {src}/busy.go"
run = "{build}/busy {host} {port}"
[profile]
env = { GODEBUG = "" }
"#;
const GO_SOURCE: &str = r#"
package main

import ("net"; "net/http"; "os"; "time")

//go:noinline
func aBusyFunction() (n int) {
	for begun := time.Now(); time.Since(begun) < time.Millisecond; {
		for i := range 10_000 { n = n*31 + i }
	}
	return
}

var kept int

func main() {
	answer := func(to http.ResponseWriter, _ *http.Request) { kept += aBusyFunction(); to.Write([]byte("ok")) }
	http.ListenAndServe(net.JoinHostPort(os.Args[1], os.Args[2]), http.HandlerFunc(answer))
}
"#;

#[test]
#[ignore = "scripts/campaign compat: a duel for each language"]
fn functions_of_go_have_their_names() {
    if there("go") {
        names(GO, ("busy.go", GO_SOURCE), "main.aBusyFunction");
    }
}

#[test]
#[ignore = "scripts/campaign compat: a duel for each language"]
fn functions_of_node_have_their_names() {
    if there("node") {
        names(NODE, ("busy.cjs", NODE_SOURCE), "aBusyFunction");
    }
}

#[test]
#[ignore = "scripts/campaign compat: a duel for each language"]
fn functions_of_java_have_their_names() {
    if there("javac") {
        names(JAVA, ("Busy.java", JAVA_SOURCE), "Busy.aBusyFunction");
    }
}

/// Is a program there? In the campaign it has to be.
fn there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    match found {
        Ok(_) => true,
        Err(error) => {
            assert!(
                std::env::var_os("PRONY_TEST_ALL").is_none(),
                "{program}: {error}"
            );
            println!("SKIPPED: {program}: {error}");
            false
        }
    }
}

/// One test at a time looks for maps.
static MAPS: Mutex<()> = Mutex::new(());

/// The server's function has this name, and no map of it is left.
fn names(manifest: &str, (file, source): (&str, &str), function: &str) {
    let _alone = MAPS.lock();
    let before = maps_left();
    let place = Place::new();
    place.file("catalog/busy/server.toml", &[MANIFEST, manifest].concat());
    place.file(&format!("catalog/busy/{file}"), source);
    if let Some(found) = functions(&place) {
        assert!(found.iter().any(|name| name == function), "{found:?}");
    }
    let mut left = maps_left();
    left.retain(|map| !before.contains(map));
    assert_eq!(left, Vec::<String>::new());
}

/// The functions that `prony why` names of the server; None where stacks may not be sampled.
fn functions(place: &Place) -> Option<Vec<String>> {
    let catalog = place.path().join("catalog").display().to_string();
    let line = ["why", "busy", "--only-catalog", &catalog, "--json"];
    // On a machine that is busy enough, the rate is kept in no round, and nothing is known of the server.
    let report = (0..5).find_map(|_| {
        // Compilers and virtual machines take long on a busy machine: what counts is that rounds go on.
        let mut why = Background::start(&mut place.command(&[&line[..], &SHORT].concat()));
        for round in 1..=3 {
            why.line(&format!("round {round} of 3"));
        }
        let report = why.end().with(0).json();
        let cost = anatomy(&report)["sides"][0]["profile"]["value"].as_f64();
        cost.is_some_and(|cost| cost > 0.0).then_some(report)
    });
    let report = report.expect("nothing is known of the server's CPU time in any of five");
    let side = &anatomy(&report)["sides"][0];
    if side["samples"] == 0 {
        println!("SKIPPED: {}", report["why"]["refused"]);
        return None;
    }
    let parts = side["parts"].as_array().unwrap().iter();
    let functions = parts
        .map(|part| &part[0])
        .filter(|part| part["kind"] == "function");
    let names = functions.map(|part| part["name"].as_str().unwrap().to_owned());
    Some(names.collect())
}

/// Maps that processes have left which have ended.
fn maps_left() -> Vec<String> {
    let files = fs::read_dir("/tmp").unwrap().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| {
            let pid = name
                .strip_prefix("perf-")
                .and_then(|name| name.strip_suffix(".map"));
            pid.is_some_and(|pid| !fs::exists(format!("/proc/{pid}")).unwrap())
        })
        .collect()
}
