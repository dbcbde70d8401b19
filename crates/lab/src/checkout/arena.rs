//! Entries of HttpArena: `frameworks/NAME/meta.json` and a Dockerfile.

use super::{Entries, SuiteEntry, folders, image, json, manifest, name_of};
use crate::catalog::Server;
use crate::container::ImageBuild;
use crate::contract::Contract;
use crate::contract::parts::Parts;
use crate::service::ServiceSpec;
use serde::Deserialize;
use std::path::Path;

const CONTRACT: Contract = Contract::Arena;

/// Port of every entry.
const PORT: u16 = 8080;

/// SQL after that of the contract's table: entries read tags as JSON.
const SEED: &str = "
ALTER TABLE items ALTER COLUMN tags DROP DEFAULT;
ALTER TABLE items ALTER COLUMN tags TYPE jsonb USING to_jsonb(tags);
";

/// Profiles of the suite, and the parts of the contract. Items of its crud profile differ from the contract's.
const PROFILES: [(&str, &str); 7] = [
    ("baseline", "baseline"),
    ("pipelined", "pipeline"),
    ("json", "json"),
    ("json-comp", "json-compressed"),
    ("upload", "upload"),
    ("static", "static"),
    ("async-db", "async-db"),
];

/// Options of the engine's `run`, as the suite has them: for io_uring, the dataset, the files, and the database's
/// address.
const OPTIONS: [&str; 10] = [
    "--security-opt",
    "seccomp=unconfined",
    "--volume",
    "{docroot}/dataset.json:/data/dataset.json:ro",
    "--volume",
    "{docroot}/static:/data/static:ro",
    "--env",
    "DATABASE_URL",
    "--env",
    "DATABASE_MAX_CONN",
];

#[derive(Deserialize)]
struct Meta {
    display_name: Option<String>,
    language: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    engine: Option<String>,
    enabled: Option<bool>,
    #[serde(default)]
    tests: Vec<String>,
}

pub(super) fn entries(checkout: &Path) -> Entries {
    let folders = folders(&checkout.join("frameworks"));
    let with_meta = folders.iter().filter(|it| it.join("meta.json").is_file());
    with_meta.map(|it| (name_of(it), entry(it))).collect()
}

/// An entry, or the reason why it cannot take part.
fn entry(folder: &Path) -> Result<SuiteEntry, String> {
    let name = name_of(folder);
    let meta: Meta = json(&folder.join("meta.json"))?;
    if meta.enabled == Some(false) {
        return Err("the suite has it switched off".into());
    }
    if !folder.join("Dockerfile").is_file() {
        return Err(format!(
            "there is no {}",
            folder.join("Dockerfile").display()
        ));
    }
    if folder.join("build.sh").is_file() {
        return Err("its image is built by a script, build.sh".into());
    }
    let of = |part: &str| CONTRACT.parts().iter().find(|known| known.name == part);
    let kept = PROFILES
        .iter()
        .filter(|(test, _)| meta.tests.iter().any(|it| it == test));
    let kept = kept.filter_map(|(_, part)| of(part));
    let parts: Parts = kept
        .map(|it| (it.name.to_owned(), it.path.to_owned()))
        .collect();
    if parts.is_empty() {
        return Err("it has none of the contract's profiles".into());
    }
    let title = meta.display_name.as_deref().unwrap_or(&name);
    let kind = [
        meta.kind.unwrap_or_default(),
        meta.engine.unwrap_or_default(),
    ]
    .join(", ");
    let mut manifest = manifest(CONTRACT, title, &meta.language.unwrap_or_default(), &kind);
    manifest.image = Some(ImageBuild {
        options: OPTIONS.map(ToOwned::to_owned).to_vec(),
        ..image("Dockerfile")
    });
    manifest.port = Some(PORT);
    if parts.contains_key("async-db") {
        let why = "the suite's query has no order";
        manifest
            .expected_failures
            .insert("async-db-now".into(), why.into());
        manifest.services.insert("postgres".into(), postgres());
    }
    manifest.parts = Some(parts);
    Ok(SuiteEntry {
        server: Server {
            name,
            folder: folder.to_owned(),
            manifest,
        },
        database: None,
    })
}

/// PostgreSQL with the table as the entries expect it.
fn postgres() -> ServiceSpec {
    let table = CONTRACT.services().remove("postgres");
    let table = table.and_then(|spec| spec.seed_text).unwrap_or_default();
    ServiceSpec {
        seed_text: Some(table + SEED),
        ..ServiceSpec::default()
    }
}
