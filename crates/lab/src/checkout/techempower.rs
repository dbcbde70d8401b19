//! Entries of TechEmpower's suite: `frameworks/LANGUAGE/FOLDER/benchmark_config.json`, each with one test or more.

use super::{Entries, OwnDatabase, SuiteEntry, folders, image, json, manifest, name_of};
use crate::catalog::Server;
use crate::container::ImageBuild;
use crate::contract::Contract;
use crate::contract::parts::Parts;
use crate::manifest::{Fill, command, is_target};
use crate::service::ServiceSpec;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

const CONTRACT: Contract = Contract::Techempower;

/// Host under which entries look for their database, and its login.
const HOST: &str = "tfb-database";
const USER: &str = "benchmarkdbuser";
const PASSWORD: &str = "benchmarkdbpass";
const DATABASE: &str = "hello_world";
const PORT: u16 = 5432;

/// SQL after that of the contract's tables: their names in mixed case, which some entries quote, and the suite's limit of
/// connections.
const SEED: &str = "
CREATE VIEW \"World\" AS SELECT id, randomnumber FROM world;
CREATE VIEW \"Fortune\" AS SELECT id, message FROM fortune;
ALTER SYSTEM SET max_connections = 2000;
";

/// Keys of a test with the beginning of a target, and the parts of the contract.
const URLS: [(&str, &str); 7] = [
    ("json_url", "json"),
    ("plaintext_url", "plaintext"),
    ("db_url", "db"),
    ("query_url", "queries"),
    ("fortune_url", "fortunes"),
    ("update_url", "updates"),
    ("cached_query_url", "cached-queries"),
];

#[derive(Deserialize)]
struct Config {
    framework: Option<String>,
    tests: Vec<BTreeMap<String, Map<String, Value>>>,
}

/// Database of a test.
enum TestDatabase {
    None,
    Postgres,
    Own(OwnDatabase),
}

pub(super) fn entries(checkout: &Path) -> Entries {
    let mut all = Entries::new();
    let languages = folders(&checkout.join("frameworks"));
    for folder in languages.iter().flat_map(|language| folders(language)) {
        let file = folder.join("benchmark_config.json");
        if !file.is_file() {
            continue;
        }
        match json::<Config>(&file) {
            Ok(config) => {
                let framework = config.framework.unwrap_or_else(|| name_of(&folder));
                for (variant, test) in config.tests.iter().flatten() {
                    let name = match variant.as_str() {
                        "default" => framework.clone(),
                        variant => format!("{framework}-{variant}"),
                    };
                    let entry = entry(&name, &folder, test);
                    all.insert(name, entry);
                }
            }
            Err(why) => {
                all.insert(name_of(&folder), Err(why));
            }
        }
    }
    all
}

/// An entry, or the reason why it cannot take part.
fn entry(name: &str, folder: &Path, test: &Map<String, Value>) -> Result<SuiteEntry, String> {
    let text = |key: &str| test.get(key).and_then(Value::as_str).map(str::trim);
    let tags = test.get("tags").and_then(Value::as_array);
    if tags.is_some_and(|tags| tags.iter().any(|tag| tag == "broken")) {
        return Err("the suite marks it as broken".into());
    }
    let port = port(test.get("port"))?;
    let dockerfile = dockerfile(name, folder, text("dockerfile"))?;
    let database = database(text("database"))?;
    let parts = parts(test, &database);
    if parts.is_empty() {
        return Err("it has none of the contract's tests".into());
    }
    let run = text("docker_cmd").unwrap_or_default();
    if !run.is_empty() {
        let checked = command(run, &Fill::default());
        checked.map_err(|error| format!("docker_cmd: {error}"))?;
    }
    let hosts = ["tfb-server", HOST].map(|host| format!("{host}:127.0.0.1"));
    let own = |key: &str| text(key).unwrap_or_default();
    let kind = [own("approach"), own("classification"), own("database")];
    let title = text("display_name").unwrap_or(name);
    let mut manifest = manifest(CONTRACT, title, own("language"), &kind.join(", "));
    manifest.image = Some(ImageBuild {
        args: [
            ("BENCHMARK_ENV".to_owned(), "prony".to_owned()),
            ("TFB_TEST_NAME".to_owned(), name.to_owned()),
            ("TFB_TEST_DATABASE".to_owned(), own("database").to_owned()),
        ]
        .into(),
        options: hosts
            .into_iter()
            .flat_map(|host| ["--add-host".to_owned(), host])
            .collect(),
        ..image(&dockerfile)
    });
    run.clone_into(&mut manifest.run);
    manifest.port = Some(port);
    if parts.contains_key("cached-queries") {
        let why = "the suite has no table for it: entries cache rows of World, which change";
        manifest
            .expected_failures
            .insert("cached-rows".into(), why.into());
    }
    manifest.parts = Some(parts);
    if matches!(database, TestDatabase::Postgres) {
        manifest.services.insert("postgres".into(), postgres());
    }
    Ok(SuiteEntry {
        server: Server {
            name: name.to_owned(),
            folder: folder.to_owned(),
            manifest,
        },
        database: match database {
            TestDatabase::Own(own) => Some(own),
            TestDatabase::None | TestDatabase::Postgres => None,
        },
    })
}

/// PostgreSQL as the entries expect it.
fn postgres() -> ServiceSpec {
    let tables = CONTRACT.services().remove("postgres");
    let tables = tables.and_then(|spec| spec.seed_text).unwrap_or_default();
    ServiceSpec {
        seed_text: Some(tables + SEED),
        port: Some(PORT),
        user: Some(USER.into()),
        password: Some(PASSWORD.into()),
        database: Some(DATABASE.into()),
        ..ServiceSpec::default()
    }
}

/// A port as a number or a text.
fn port(value: Option<&Value>) -> Result<u16, String> {
    let number = match value {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_u64().and_then(|number| u16::try_from(number).ok()),
        None => None,
    };
    let port = number.filter(|port| *port > 0);
    port.ok_or_else(|| "its configuration has no port".to_owned())
}

fn dockerfile(name: &str, folder: &Path, own: Option<&str>) -> Result<String, String> {
    let file = match own {
        Some(own) => own.to_owned(),
        None => format!("{name}.dockerfile"),
    };
    let lower = file.to_lowercase();
    let mut there = [file.clone(), lower].into_iter();
    let found = there.find(|file| folder.join(file).is_file());
    found.ok_or_else(|| format!("there is no {}", folder.join(file).display()))
}

fn database(name: Option<&str>) -> Result<TestDatabase, String> {
    Ok(match name.unwrap_or_default().to_lowercase().as_str() {
        "" | "none" => TestDatabase::None,
        "postgres" => TestDatabase::Postgres,
        "mysql" => TestDatabase::Own(OwnDatabase::MySql),
        "mongodb" => TestDatabase::Own(OwnDatabase::MongoDb),
        other => return Err(format!("its database is {other}")),
    })
}

/// Parts of the contract that a test has, with the beginnings of their targets.
fn parts(test: &Map<String, Value>, database: &TestDatabase) -> Parts {
    let needs = |part: &str| {
        let parts = CONTRACT.parts().iter();
        parts
            .filter(|known| known.name == part)
            .any(|known| known.database)
    };
    let none = matches!(database, TestDatabase::None);
    let urls = URLS.iter().filter_map(|(key, part)| {
        let url = test.get(*key)?.as_str()?.trim();
        (is_target(url) && !(none && needs(part))).then(|| ((*part).to_owned(), url.to_owned()))
    });
    urls.collect()
}
