use super::*;
use crate::manifest::Manifest;
use crate::source::Source;

fn server(folder: &Path, build: &str, toolchain: &str) -> Server {
    let text = format!(
        "title='t'\nlanguage='l'\nmodel='m'\ncontracts=['tcp-echo']\nrun='x'\nversion='echo v1'\n\
         toolchain=['{toolchain}']\nbuild='''{build}'''\napt=['some-package']"
    );
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("server.toml"), &text).unwrap();
    let manifest = Manifest::parse(&Source::new("server.toml", text)).unwrap();
    Server {
        name: "it".into(),
        folder: folder.to_owned(),
        manifest,
    }
}

#[test]
fn a_build_is_done_once_for_each_content() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("it");
    let it = server(
        &folder,
        "cat a.txt > {build}/out && touch {src}/inside",
        "sh",
    );
    fs::write(folder.join("a.txt"), "one").unwrap();
    let builder = Builder::new(&dir.path().join("cache"));
    let first = builder.build(&it).unwrap();
    assert!(!first.cached);
    assert_eq!(first.version, "v1");
    assert_eq!(fs::read_to_string(first.build.join("out")).unwrap(), "one");
    assert!(first.src.join("inside").exists() && !folder.join("inside").exists());
    assert!(builder.build(&it).unwrap().cached);
    fs::write(folder.join("a.txt"), "two").unwrap();
    let second = builder.build(&it).unwrap();
    assert!(!second.cached && second.build != first.build);
}

/// A server whose dependency is a file of the shared cache, installed by a copy.
fn dependent(folder: &Path, name: &str) -> Server {
    let mut it = server(&folder.join(name), "cat {deps}/got > {build}/out", "sh");
    it.name = name.into();
    fs::write(it.folder.join("lock"), "locked").unwrap();
    fs::write(it.folder.join("code"), name).unwrap();
    it.manifest.dependencies = Some(crate::manifest::Dependencies {
        from: "a registry".into(),
        packages: vec!["one==1".into(), "it's two".into()],
        download: "1 kB".into(),
        files: vec!["lock".into()],
        install: "ls > {deps}/saw && printf '%s;' {packages} > {deps}/got && \
                  echo once >> {cache}/installed"
            .into(),
    });
    it
}

#[test]
fn dependencies_are_installed_once_for_all_who_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::new(&dir.path().join("cache"));
    let [one, two] = ["one", "two"].map(|name| dependent(dir.path(), name));
    assert!(!builder.has_dependencies(&one).unwrap());
    let error = builder.build(&one).unwrap_err();
    assert!(error.is_missing());
    assert_eq!(
        error.to_string(),
        "needs one==1 it's two from a registry; `prony servers setup one` installs it"
    );
    builder.install(&one).unwrap();
    builder.install(&one).unwrap();
    builder.install(&two).unwrap();
    let [one, two] = [one, two].map(|server| builder.build(&server).unwrap());
    assert_eq!(one.deps, two.deps);
    assert_eq!(one.version, "v1, one==1, it's two");
    let got = fs::read_to_string(two.build.join("out")).unwrap();
    assert_eq!(got, "one==1;it's two;");
    assert_eq!(fs::read_to_string(one.deps.join("saw")).unwrap(), "lock\n");
    let installed = fs::read_to_string(one.shared.join("installed")).unwrap();
    assert_eq!(installed, "once\n");
}

#[test]
fn a_failed_installation_leaves_nothing_and_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::new(&dir.path().join("cache"));
    let mut it = dependent(dir.path(), "it");
    let wanted = it.manifest.dependencies.as_mut().unwrap();
    wanted.install = "touch {deps}/half; test -e {cache}/ok || { echo no luck; exit 5; }".into();
    match builder.install(&it).unwrap_err() {
        BuildError::Command { output, .. } => assert_eq!(output, "no luck"),
        other => panic!("{other}"),
    }
    assert!(!builder.has_dependencies(&it).unwrap());
    fs::write(dir.path().join("cache/shared/ok"), "").unwrap();
    builder.install(&it).unwrap();
    assert!(builder.has_dependencies(&it).unwrap());
}

#[test]
fn a_version_that_cannot_be_told_means_a_missing_toolchain() {
    let dir = tempfile::tempdir().unwrap();
    let mut it = server(&dir.path().join("it"), "true", "sh");
    it.manifest.version = Some("echo no such library >&2; exit 1".into());
    let error = Builder::new(dir.path()).build(&it).unwrap_err();
    assert!(error.is_missing());
    assert_eq!(
        error.to_string(),
        "its toolchain is not complete: no such library; on Debian: apt-get install some-package"
    );
}

#[test]
fn a_failed_build_leaves_its_output_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let it = server(&dir.path().join("it"), "echo broken >&2; exit 3", "sh");
    let cache = dir.path().join("cache");
    match Builder::new(&cache).build(&it).unwrap_err() {
        BuildError::Command { status, output, .. } => {
            assert_eq!(
                (status.as_str(), output.as_str()),
                ("exit status: 3", "broken")
            );
        }
        other => panic!("{other}"),
    }
    assert_eq!(fs::read_dir(cache.join("builds")).unwrap().count(), 0);
}

#[test]
fn a_missing_toolchain_is_named_with_its_package() {
    let dir = tempfile::tempdir().unwrap();
    let it = server(&dir.path().join("it"), "true", "no-such-program");
    let error = Builder::new(dir.path()).build(&it).unwrap_err().to_string();
    assert_eq!(
        error,
        "needs no-such-program, which is not on the PATH; on Debian: apt-get install some-package"
    );
}

#[test]
fn what_comes_from_one_registry_is_used_by_one_server_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let builder = Builder::new(&dir.path().join("cache"));
    // Fails while another of them is at work.
    let alone = "mkdir {cache}/busy && sleep 0.05 && rmdir {cache}/busy";
    let servers: Vec<_> = (0..4)
        .map(|at| {
            let mut it = dependent(dir.path(), &format!("s{at}"));
            let dependencies = it.manifest.dependencies.as_mut().unwrap();
            dependencies.packages = vec![at.to_string()];
            dependencies.install = format!("{alone} && touch {{deps}}/got");
            it.manifest.build = Some(alone.into());
            it
        })
        .collect();
    std::thread::scope(|scope| {
        for it in &servers {
            scope.spawn(|| {
                builder.install(it).unwrap();
                builder.build(it).unwrap();
            });
        }
    });
}
