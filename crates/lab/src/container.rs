//! Servers in container images, which podman or Docker runs.
//!
//! What is started is the engine's command (`podman run …`), below a [supervisor](crate::supervisor) like any other. The
//! server's own processes are those below the container's first one, which the engine names. Podman's are below the
//! supervisor too; Docker's are its daemon's, so the container is also stopped by its name.

use crate::leftovers;
use crate::manifest::on_path;
use prony_record::{ServerLimits, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The engines that are looked for, in this order.
const ENGINES: [&str; 2] = ["podman", "docker"];
/// Command and first option of the engine with which a container is started.
const RUN: &str = " run --rm";
/// The label of every container of prony's.
const LABEL: &str = "prony";

/// A program that runs containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    program: String,
}

/// An image that is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Name, as the user gave it.
    pub name: String,
    /// The digest by which the engine knows it, in hexadecimal.
    pub id: String,
}

/// How the image of a server is built and run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageBuild {
    /// Dockerfile, as a path in the server's folder, which is the build's context.
    pub dockerfile: String,
    /// Arguments of the build.
    #[serde(default)]
    pub args: BTreeMap<String, String>,
    /// Options of the engine's `run`, in which placeholders are filled in.
    #[serde(default)]
    pub options: Vec<String>,
    /// Program of the container engine; absent: podman, or else docker.
    #[serde(default)]
    pub engine: Option<String>,
}

/// How the server in an image is told where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    /// Where `HOST` and `PORT` say: it shares this machine's network.
    WhereTold,
    /// On this port of a network of its own, to which the engine forwards.
    On(u16),
}

/// A container that will be started, once or more often, each time on another port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    engine: Engine,
    /// The prony that starts it.
    owner: u32,
    /// Command line that starts it, with placeholders.
    run: String,
}

/// A container that is being started or runs. Dropping it kills and removes it: the first process of a container ignores
/// SIGTERM unless it handles it, so that waiting for it would often be in vain.
#[derive(Debug)]
pub struct Running {
    engine: Engine,
    name: String,
}

impl Engine {
    /// The one that is asked for, or the first on the PATH. Containers that killed pronys have left are removed.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(asked: Option<&str>) -> Result<Self, String> {
        let program = match asked {
            Some(program) if on_path(program) => program,
            Some(program) => return Err(format!("there is no program {program} on the PATH")),
            None => ENGINES
                .into_iter()
                .find(|program| on_path(program))
                .ok_or("neither podman nor docker is on the PATH")?,
        };
        let this = Self {
            program: program.to_owned(),
        };
        this.remove_left()?;
        Ok(this)
    }

    /// The engine's program.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// An image of this machine.
    ///
    /// # Errors
    /// When it is not there, or the engine does not work.
    pub fn image(&self, name: &str) -> Result<Image, String> {
        let id = self.output(&["image", "inspect", "--format", "{{.Id}}", "--", name])?;
        Ok(Image {
            name: name.to_owned(),
            id: id.trim_start_matches("sha256:").to_owned(),
        })
    }

    /// The command line that starts a container, with placeholders as in manifests. `line` is what runs in it; empty: what the
    /// image says. `options` are the engine's.
    #[must_use]
    pub fn run(&self, image: &str, line: &str, listens: Listens, options: &[String]) -> String {
        let owner = std::process::id();
        let mut words = vec![
            self.program.clone(),
            "run".into(),
            "--rm".into(),
            "--name".into(),
            name(owner, "{port}"),
            "--label".into(),
            LABEL.into(),
            // What it prints comes here, and is not written anywhere else.
            "--log-driver".into(),
            "none".into(),
            // What is left of a killed prony is known by it.
            "--env".into(),
            leftovers::MARK.into(),
        ];
        if self.has_daemon() {
            // The daemon starts the container, so it does not inherit the supervisor's CPUs. And a first process
            // that does not handle SIGTERM would ignore it.
            words.extend(["--cpuset-cpus".into(), "{cpus}".into(), "--init".into()]);
        }
        let line = match listens {
            Listens::WhereTold => {
                for word in [
                    "--network",
                    "host",
                    "--env",
                    "HOST={host}",
                    "--env",
                    "PORT={port}",
                ] {
                    words.push(word.into());
                }
                line.to_owned()
            }
            Listens::On(port) => {
                let publish = format!("{{host}}:{{port}}:{port}");
                words.extend(["--publish".into(), publish]);
                words.extend(["--env".into(), "HOST=0.0.0.0".into()]);
                words.extend(["--env".into(), format!("PORT={port}")]);
                // Placeholders are about the container's own network there.
                line.replace("{host}", "0.0.0.0")
                    .replace("{port}", &port.to_string())
            }
        };
        words.extend(options.iter().cloned());
        words.push(image.to_owned());
        let quoted = words
            .iter()
            .map(|word| shlex::try_quote(word).map_or_else(|_| word.clone(), Into::into));
        let mut all: Vec<String> = quoted.collect();
        if !line.is_empty() {
            all.push(line);
        }
        all.join(" ")
    }

    /// A container of it, for this prony, which this command line starts.
    #[must_use]
    pub fn container(&self, run: String) -> Container {
        Container {
            engine: self.clone(),
            owner: std::process::id(),
            run,
        }
    }

    /// Container of a service, by the service's name.
    #[must_use]
    pub fn service(&self, service: &str) -> ServiceContainer {
        ServiceContainer {
            engine: self.clone(),
            name: name(std::process::id(), service),
        }
    }

    /// Does another process start the containers?
    fn has_daemon(&self) -> bool {
        let file = Path::new(&self.program).file_name();
        file.is_some_and(|name| name == "docker")
    }

    /// Removes the containers of pronys that are no more.
    fn remove_left(&self) -> Result<(), String> {
        let filter = format!("label={LABEL}");
        let list = ["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"];
        for name in self.output(&list)?.lines() {
            if owner(name).is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
                self.output(&["rm", "--force", name])?;
            }
        }
        Ok(())
    }

    /// Runs it and returns what it prints, without the line's end.
    fn output(&self, arguments: &[&str]) -> Result<String, String> {
        let ran = Command::new(&self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .output();
        let failed = |error: io::Error| format!("{}: {error}", self.program);
        let output = ran.map_err(failed)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "`{} {}`: {}",
                self.program,
                arguments.join(" "),
                said.trim()
            ));
        }
        Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned())
    }
}

/// Name of the container that a prony starts for a port; `owner` is the number of prony's process.
fn name(owner: u32, port: &str) -> String {
    format!("prony-{owner}-{port}")
}

/// The number of the prony that has started the container of this name.
fn owner(name: &str) -> Option<&str> {
    let owner = name.strip_prefix("prony-")?.split_once('-')?.0;
    owner.parse::<u32>().is_ok().then_some(owner)
}

impl Container {
    /// Command line that starts it within these limits, with placeholders as in manifests.
    #[must_use]
    pub fn line(&self, limits: &ServerLimits) -> String {
        let mut options = String::new();
        if let Some(cpus) = limits.cpus {
            options += &format!(" --cpus {}", cpus.cpus());
        }
        if let Some(Size(bytes)) = limits.memory {
            // As much with swap as without: none.
            options += &format!(" --memory {bytes}b --memory-swap {bytes}b");
        }
        self.run.replacen(RUN, &format!("{RUN}{options}"), 1)
    }

    /// The container whose server is on this port.
    #[must_use]
    pub fn on(&self, port: u16) -> Running {
        Running {
            engine: self.engine.clone(),
            name: name(self.owner, &port.to_string()),
        }
    }
}

/// A container of a service, which shares this machine's network.
#[derive(Debug)]
pub struct ServiceContainer {
    engine: Engine,
    name: String,
}

impl ServiceContainer {
    /// The command line that starts it, from an image. One of the same name that was killed may be left.
    #[must_use]
    pub fn run(&self, image: &str) -> String {
        let (program, name) = (self.engine.program(), &self.name);
        let remove = self.remove();
        let run = format!(
            "exec {program} run --rm --name {name} --label {LABEL} --log-driver none --env {} --network host {image}",
            leftovers::MARK
        );
        format!("sh -c \"{remove}; {run}\"")
    }

    /// The shell command that runs a command in it.
    #[must_use]
    pub fn exec(&self, line: &str) -> String {
        format!("{} exec {} {line}", self.engine.program(), self.name)
    }

    /// The shell command that ends and removes it.
    #[must_use]
    pub fn remove(&self) -> String {
        let (program, name) = (self.engine.program(), &self.name);
        format!("{program} rm --force --volumes {name} >/dev/null 2>&1 || true")
    }
}

impl Running {
    /// The container's first process, as this machine numbers it; None before it runs.
    #[must_use]
    pub fn pid(&self) -> Option<libc::pid_t> {
        let format = "{{.State.Pid}}";
        let inspect = ["container", "inspect", "--format", format, &self.name];
        let pid = self.engine.output(&inspect).ok()?.parse().ok()?;
        (pid > 0).then_some(pid)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended, or never begun.
        let _ = self.engine.output(&["kill", &self.name]);
        let _ = self.engine.output(&["rm", "--force", &self.name]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(program: &str) -> Engine {
        Engine {
            program: program.into(),
        }
    }

    #[test]
    fn a_server_that_is_told_where_to_listen_shares_the_network() {
        let line = engine("podman").run("shop:1", "serve --port {port}", Listens::WhereTold, &[]);
        assert!(line.contains("--network host"), "{line}");
        assert!(line.contains("PORT={port}"), "{line}");
        assert!(line.ends_with(" shop:1 serve --port {port}"), "{line}");
        assert!(!line.contains("--cpuset-cpus"), "{line}");
    }

    #[test]
    fn a_port_of_its_own_is_forwarded_to() {
        let docker = engine("/usr/bin/docker");
        let options = ["--add-host".to_owned(), "db:127.0.0.1".to_owned()];
        let line = docker.run("shop:1", "serve {host}:{port}", Listens::On(80), &options);
        assert!(line.contains("{host}:{port}:80"), "{line}");
        assert!(line.contains(" --add-host db:127.0.0.1 shop:1 "), "{line}");
        assert!(line.contains("--cpuset-cpus"), "{line}");
        assert!(line.ends_with(" shop:1 serve 0.0.0.0:80"), "{line}");
    }

    #[test]
    fn limits_are_the_engines_options() {
        let engine = engine("podman");
        let run = engine.run("shop:1", "serve", Listens::WhereTold, &[]);
        let container = engine.container(run.clone());
        assert_eq!(container.line(&ServerLimits::default()), run);
        let limits = ServerLimits {
            cpus: "0.5".parse().ok(),
            memory: "1KiB".parse().ok(),
        };
        let line = container.line(&limits);
        let begin = "podman run --rm --cpus 0.5 --memory 1024b --memory-swap 1024b --name ";
        assert!(line.starts_with(begin), "{line}");
    }

    #[test]
    fn the_owner_is_in_the_name() {
        assert_eq!(owner(&name(4711, "8000")), Some("4711"));
        assert_eq!(owner("prony-shop"), None);
        assert_eq!(owner("prony-shop-1"), None);
    }

    #[test]
    fn an_engine_that_is_not_there_is_told() {
        let error = Engine::find(Some("prony-no-such-engine")).unwrap_err();
        assert_eq!(
            error,
            "there is no program prony-no-such-engine on the PATH"
        );
    }
}
