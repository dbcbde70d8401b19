use super::*;
use std::fs;

/// A checkout in a temporary folder, with these files.
fn checkout(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// A test's configuration with these further keys.
fn config(more: &str) -> String {
    format!(
        r#"{{"framework": "Swift-ly", "maintainers": ["x"], "tests": [{{"default": {{
            "json_url": "/json", "port": 8080, "database": "None", "language": "L", "unknown": [1] {more}
        }}}}]}}"#
    )
}

const CONFIG: &str = "frameworks/L/swiftly/benchmark_config.json";
const DOCKERFILE: &str = "frameworks/L/swiftly/swift-ly.dockerfile";

fn opened(files: &[(&str, &str)]) -> (tempfile::TempDir, Checkout) {
    let dir = checkout(files);
    let checkout = Checkout::open(dir.path(), Contract::Techempower).unwrap();
    (dir, checkout)
}

/// The manifest of an entry.
fn of<'a>(checkout: &'a Checkout, name: &str) -> &'a Manifest {
    let entry = checkout.entries[name].as_ref();
    &entry
        .unwrap_or_else(|why| panic!("{name}: {why}"))
        .server
        .manifest
}

#[test]
fn an_entry_is_a_server_in_an_image() {
    let text = config("");
    let (_dir, all) = opened(&[(CONFIG, &text), (DOCKERFILE, "")]);
    let manifest = of(&all, "Swift-ly");
    let image = manifest.image.as_ref().unwrap();
    assert_eq!(image.dockerfile, "swift-ly.dockerfile");
    assert_eq!(image.args["TFB_TEST_NAME"], "Swift-ly");
    let hosts = "--add-host tfb-server:127.0.0.1 --add-host tfb-database:127.0.0.1";
    assert_eq!(image.options.join(" "), hosts);
    assert_eq!((manifest.port, manifest.run.as_str()), (Some(8080), ""));
    assert_eq!(manifest.parts.as_ref().unwrap()["json"], "/json");
    assert!(manifest.services(Contract::Techempower).is_empty());
}

#[test]
fn a_test_has_a_database_urls_and_a_command_of_its_own() {
    let text = r#"{"framework": "a", "tests": [
        {"default": {"db_url": "/one", "query_url": "/many/", "cached_query_url": "/kept?n=", "update_url": "",
            "port": "9000", "database": "Postgres", "docker_cmd": "/app/a --fast", "display_name": "A"}},
        {"raw": {"db_url": "/db", "plaintext_url": "/plaintext", "port": 8080, "database": "mysql",
            "dockerfile": "other.dockerfile"}}]}"#;
    let (_dir, all) = opened(&[
        (CONFIG, text),
        ("frameworks/L/swiftly/a.dockerfile", ""),
        ("frameworks/L/swiftly/other.dockerfile", ""),
    ]);
    assert_eq!(all.usable().collect::<Vec<_>>(), ["a", "a-raw"]);
    let manifest = of(&all, "a");
    let parts: Vec<_> = manifest.parts.iter().flatten().collect();
    let pair = |name: &str, url: &str| (name.to_owned(), url.to_owned());
    let expected = [
        pair("cached-queries", "/kept?n="),
        pair("db", "/one"),
        pair("queries", "/many/"),
    ];
    assert_eq!(
        parts,
        expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>()
    );
    assert_eq!(manifest.run, "/app/a --fast");
    assert_eq!(manifest.port, Some(9000));
    assert!(manifest.expected_failures.contains_key("cached-rows"));
    let services = manifest.services(Contract::Techempower);
    let postgres = &services["postgres"];
    assert_eq!(postgres.port, Some(5432));
    assert_eq!(postgres.user.as_deref(), Some("benchmarkdbuser"));
    let seed = postgres.seed_text.as_deref().unwrap();
    assert!(seed.contains("CREATE TABLE world") && seed.contains("CREATE VIEW \"World\""));
    let raw = all.entries["a-raw"].as_ref().unwrap();
    assert_eq!(raw.database, Some(OwnDatabase::MySql));
    assert_eq!(
        raw.server.manifest.image.as_ref().unwrap().dockerfile,
        "other.dockerfile"
    );
}

#[test]
fn entries_that_cannot_take_part_have_a_reason() {
    for (text, why) in [
        (config(r#", "tags": ["broken"]"#), "marks it as broken"),
        (config("").replace("8080", "null"), "no port"),
        (config("").replace("8080", "80800"), "no port"),
        (
            config("").replace("\"None\"", "\"Oracle\""),
            "its database is oracle",
        ),
        (
            config("").replace("\"/json\"", "null"),
            "none of the contract's tests",
        ),
        (config(r#", "dockerfile": "x.dockerfile""#), "there is no "),
        (config(r#", "docker_cmd": "a 'b""#), "docker_cmd: "),
    ] {
        let (_dir, all) = opened(&[(CONFIG, &text), (DOCKERFILE, "")]);
        let reasons: Vec<&str> = all.left_out().into_keys().collect();
        assert!(
            reasons.len() == 1 && reasons[0].contains(why),
            "{why}: {reasons:?}"
        );
        assert_eq!((all.count(), all.usable().count()), (1, 0));
    }
    for (text, why) in [
        ("{\n\n", "benchmark_config.json:3: EOF"),
        ("{\"tests\":\n 3}", "benchmark_config.json:2: invalid type"),
        ("", "benchmark_config.json:1: EOF"),
        ("{}", "missing field `tests`"),
    ] {
        let (_dir, all) = opened(&[(CONFIG, text)]);
        let left_out = all.left_out();
        let (reason, names) = left_out.iter().next().unwrap();
        assert!(reason.contains(why), "{reason}");
        assert_eq!(names, &["swiftly"]);
    }
}

#[test]
fn an_entry_of_the_other_suite_keeps_its_profiles() {
    let meta = r#"{"display_name": "b", "language": "C", "type": "engine", "enabled": true,
        "tests": ["baseline", "json-comp", "async-db", "echo-ws"]}"#;
    let dir = checkout(&[
        ("frameworks/b/meta.json", meta),
        ("frameworks/b/Dockerfile", ""),
        ("frameworks/c/meta.json", r#"{"tests": ["echo-ws"]}"#),
        ("frameworks/c/Dockerfile", ""),
        ("frameworks/d/meta.json", meta),
        ("frameworks/d/Dockerfile", ""),
        ("frameworks/d/build.sh", ""),
        ("frameworks/e/meta.json", meta),
        ("frameworks/f/meta.json", "[1,"),
    ]);
    let all = Checkout::open(dir.path(), Contract::Arena).unwrap();
    let manifest = of(&all, "b");
    let parts: Vec<&String> = manifest
        .parts
        .iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(parts, ["async-db", "baseline", "json-compressed"]);
    let services = manifest.services(Contract::Arena);
    assert!(
        services["postgres"]
            .seed_text
            .as_deref()
            .unwrap()
            .contains("jsonb")
    );
    assert_eq!(services["postgres"].port, None);
    assert_eq!(all.left_out().len(), 4, "{:?}", all.left_out());
}

#[test]
fn other_folders_and_contracts_are_refused() {
    let dir = checkout(&[("README.md", "")]);
    let error = Checkout::open(dir.path(), Contract::Techempower).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("no frameworks/*/*/benchmark_config.json")
    );
    let error = Checkout::open(dir.path(), Contract::Weather).unwrap_err();
    assert_eq!(error, CheckoutError::Contract(Contract::Weather));
}
