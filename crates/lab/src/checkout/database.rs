//! Databases of a checkout that prony has no service for. They run in containers of the checkout's images, and nothing
//! counts their statements.

use crate::builder::BuildError;
use crate::builder::image::build;
use crate::container::Engine;
use crate::contract::Contract;
use crate::contract::parts::Routes;
use crate::manifest::Manifest;
use crate::service::ServiceSpec;
use std::path::Path;

/// A database of TechEmpower's suite, in `toolset/databases`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnDatabase {
    MySql,
    MongoDb,
}

impl OwnDatabase {
    /// Name of its folder and its Dockerfile, and of the service.
    const fn name(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MongoDb => "mongodb",
        }
    }

    /// Command in its container that succeeds when it is ready. A script fills it first, with a server that is not.
    const fn ready(self) -> &'static str {
        match self {
            Self::MySql => "mysqladmin -s -h 127.0.0.1 ping",
            Self::MongoDb => "sh -c 'grep -q mongod /proc/1/comm && echo 1 | mongosh'",
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::MySql => 3306,
            Self::MongoDb => 27_017,
        }
    }

    /// Builds its image, unless the engine has it, and adds the service to a manifest in place of PostgreSQL.
    ///
    /// # Errors
    /// Why it cannot be built, with the end of the build's output.
    pub(super) fn attach(
        self,
        checkout: &Path,
        engine: &Engine,
        manifest: &mut Manifest,
    ) -> Result<(), String> {
        let name = self.name();
        let folder = checkout.join("toolset/databases").join(name);
        let image = super::image(&format!("{name}.dockerfile"));
        let (tag, _) = build(engine, name, &folder, &image).map_err(|error| match error {
            BuildError::Command {
                command, output, ..
            } => format!("`{command}` failed\n{output}"),
            other => other.to_string(),
        })?;
        let container = engine.service(name);
        let spec = ServiceSpec {
            command: Some(container.run(&tag)),
            ready: Some(container.exec(self.ready())),
            port: Some(self.port()),
            replaces: Some("postgres".into()),
            ..ServiceSpec::default()
        };
        manifest.services.insert(name.to_owned(), spec);
        manifest.cleanup = Some(container.remove());
        let contract = Contract::Techempower;
        let why = format!("prony does not ask {name}");
        let kept = manifest.parts.clone().unwrap_or_default();
        let routes = Routes::new(contract, &kept);
        for step in contract
            .steps_of_database()
            .filter(|step| !routes.lacks(step))
        {
            (manifest.expected_failures)
                .entry(step.to_owned())
                .or_insert_with(|| why.clone());
        }
        Ok(())
    }
}
