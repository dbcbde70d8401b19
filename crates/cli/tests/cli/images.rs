//! Duels of container images, by a real podman where it can start containers.

use crate::support::Place;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Answers each connection in a process of its own.
const SERVER: &str = include_str!("images/server.c");

/// A podman with a store and settings of its own. Where control groups of both versions are mounted, which some runtimes
/// refuse, it sees those of the first version only.
const PODMAN: &str = r#"#!/bin/sh
exec unshare --mount sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$0" "$@"' REAL "$@"
"#;
const CONTAINERS: &str = r#"[containers]
cgroups = "disabled"
default_ulimits = ["nofile=1024:2048", "nproc=4096:4096"]
[engine]
events_logger = "none"
"#;

struct Podman {
    place: Place,
    settings: [(&'static str, PathBuf); 3],
}

impl Podman {
    /// None where there is no podman that can start a container, with the reason on standard error.
    fn new() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let real = std::env::split_paths(&path)
            .map(|folder| folder.join("podman"))
            .find(|program| program.is_file());
        let Some(real) = real else {
            eprintln!("left out: podman is not installed");
            return None;
        };
        let place = Place::new();
        let script = PODMAN.replace("REAL", &real.display().to_string());
        let program = place.file("bin/podman", &script);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = place.path().display();
        let store = format!(
            "[storage]\ndriver = 'vfs'\ngraphroot = '{folder}/graph'\nrunroot = '{folder}/run'\n"
        );
        let folders = [program.parent().unwrap().to_owned()];
        let all = folders.into_iter().chain(std::env::split_paths(&path));
        let settings = [
            ("CONTAINERS_CONF", place.file("containers.conf", CONTAINERS)),
            (
                "CONTAINERS_STORAGE_CONF",
                place.file("storage.conf", &store),
            ),
            ("PATH", PathBuf::from(std::env::join_paths(all).unwrap())),
        ];
        let this = Self { place, settings };
        this.build();
        let tried = this.podman(&["run", "--rm", "--network", "host", "shop:1", "version"]);
        if !tried.status.success() {
            let why = String::from_utf8_lossy(&tried.stderr);
            eprintln!("left out: podman starts no container here: {why}");
            return None;
        }
        Some(this)
    }

    fn podman(&self, arguments: &[&str]) -> Output {
        let mut podman = Command::new("podman");
        podman.args(arguments).envs(self.settings.clone());
        podman.output().unwrap()
    }

    /// `shop:1` and `shop:2`.
    fn build(&self) {
        let folder = self.place.path();
        self.place.file("server.c", SERVER);
        let cc = ["-O2", "-static", "-o", "server", "server.c"];
        let built = Command::new("cc").args(cc).current_dir(folder).status();
        assert!(built.unwrap().success());
        let tar = ["cf", "image.tar", "server"];
        let packed = Command::new("tar").args(tar).current_dir(folder).status();
        assert!(packed.unwrap().success());
        let archive = folder.join("image.tar");
        for tag in ["shop:1", "shop:2"] {
            let entry = "ENTRYPOINT [\"/server\"]";
            let import = ["import", "--change", entry, archive.to_str().unwrap(), tag];
            let done = self.podman(&import);
            assert!(done.status.success(), "{done:?}");
        }
    }

    fn prony(&self, arguments: &[&str]) -> crate::support::Done {
        let mut command = self.place.command(arguments);
        command.envs(self.settings.clone());
        self.place.finish(&mut command)
    }
}

#[test]
#[ignore = "scripts/campaign compat: needs podman"]
fn two_images_are_compared() {
    let Some(podman) = Podman::new() else {
        return;
    };
    let duel = ["duel", "--image", "shop:1", "--image", "shop:2"];
    let short = ["--rounds", "2", "-d", "200ms", "-c", "2", "--json"];
    let line = [&duel[..], &short].concat();
    let done = crate::duel::with_common_rate(|| podman.prony(&line).with(0).json());
    let sides = done["sides"].as_array().unwrap();
    assert_eq!(sides[0]["name"], "shop:1", "{done}");
    assert_eq!(sides[1]["name"], "shop:2", "{done}");
    for side in sides {
        let figures = side["figures"].as_array().unwrap();
        let cpu = figures.iter().find(|figure| figure["quantity"] == "cpu");
        assert!(cpu.is_some(), "{done}");
        // The server's own processes are watched, and not podman's, which have some 40 MiB.
        let memory = side["rss_peak_bytes"].as_u64().unwrap();
        assert!((1..20 << 20).contains(&memory), "{done}");
    }
    let left = podman.podman(&["ps", "--all", "--quiet"]);
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "{done}");

    let unknown = podman.prony(&["duel", "--image", "shop:1", "--image", "shop:9"]);
    let unknown = unknown.with(1);
    assert!(
        unknown.stderr.contains("there is no image \"shop:9\" here"),
        "{unknown}"
    );
    assert!(unknown.stderr.contains("podman pull"), "{unknown}");
}

/// Answers two of the contract's tests on port 18080, each connection in a separate process.
const ENTRY: &str = include_str!("images/entry.c");

#[test]
#[ignore = "scripts/campaign compat: needs podman"]
fn an_entry_of_a_suite_is_built_and_run() {
    let Some(podman) = Podman::new() else {
        return;
    };
    let folder = "suite/frameworks/C/entry";
    let test =
        r#"{"json_url": "/json", "plaintext_url": "/text", "port": 18080, "database": "None"}"#;
    for (name, text) in [
        ("entry.c", ENTRY),
        (
            "entry.dockerfile",
            "FROM scratch\nCOPY entry /entry\nENTRYPOINT [\"/entry\"]\n",
        ),
        (
            "benchmark_config.json",
            &format!(r#"{{"framework": "entry", "tests": [{{"default": {test}}}]}}"#),
        ),
    ] {
        podman.place.file(&format!("{folder}/{name}"), text);
    }
    let cc = ["-O2", "-static", "-o", "entry", "entry.c"];
    let folder = podman.place.path().join(folder);
    let built = Command::new("cc").args(cc).current_dir(folder).status();
    assert!(built.unwrap().success());
    let line = ["run", "techempower", "--from", "suite", "--only", "entry"];
    let short = ["--quick", "--load", "json", "--load", "plaintext", "--json"];
    let done = podman.prony(&[&line[..], &short].concat()).with(0).json();
    let cells = done["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2, "{done}");
    for cell in cells {
        assert_eq!(cell["verified"], true, "{done}");
    }
    let left = podman.podman(&["ps", "--all", "--quiet"]);
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "{done}");
}

#[test]
fn an_engine_that_is_not_there_is_told() {
    let place = Place::new();
    let engine = ["--container-engine", "prony-no-engine"];
    let duel = ["duel", "--image", "a", "--image", "b"];
    let done = place.fails(&[&duel[..], &engine].concat()).with(1);
    let why = "there is no program prony-no-engine on the PATH";
    assert!(done.stderr.contains(why), "{done}");
    place.fails(&["duel", "--image", "a", "serve", "--port", "{port}"]);
}
