//! The catalog: a folder of servers, each in a folder of its own with a `server.toml`.

use crate::contract::Contract;
use crate::manifest::Manifest;
use crate::source::{Mistake, Source, Unreadable, did_you_mean};
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The catalog as it was when this program was built, so that it works from anywhere.
static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/shipped/servers");

/// A server that the catalog knows.
#[derive(Debug, Clone)]
pub struct Server {
    /// The name of its folder.
    pub name: String,
    /// The folder with its files: its own, or that of the server whose files it takes.
    pub folder: PathBuf,
    /// Manifest of the server.
    pub manifest: Manifest,
}

/// All servers, by name.
#[derive(Debug)]
pub struct Catalog {
    /// Folders that the servers come from. A server of a later folder takes the place of one with the same name in an
    /// earlier folder.
    folders: Vec<PathBuf>,
    servers: Vec<Server>,
}

/// Folders that the user names for the catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Besides the catalog that there is anyway.
    pub more: Vec<PathBuf>,
    /// Instead of it.
    pub only: Option<PathBuf>,
}

/// Why there is no catalog.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CatalogError {
    /// A manifest is not right.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Mistake(#[from] Box<Mistake>),
    /// A manifest cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The folder cannot be read.
    #[error("cannot read the catalog {}: {reason}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Error of the system (not called `source`: the message has it already).
        reason: std::io::Error,
    },
}

/// A name that the catalog does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("there is no server {name:?} in {}", list(folders))]
pub struct UnknownServer {
    name: String,
    folders: Vec<PathBuf>,
    #[help]
    help: Option<String>,
}

impl Catalog {
    /// The catalog in `folder`.
    ///
    /// # Errors
    /// When it cannot be read or a manifest is not right.
    pub fn open(folder: &Path) -> Result<Self, CatalogError> {
        let unreadable = |reason| CatalogError::Folder {
            folder: folder.to_owned(),
            reason,
        };
        let mut servers = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let folder = entry.map_err(unreadable)?.path();
            let file = folder.join("server.toml");
            let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            if file.is_file() {
                let source = Source::read(&file)?;
                let manifest = Manifest::parse(&source).map_err(Box::new)?;
                let files = match &manifest.source {
                    None => folder.clone(),
                    Some(other) => folder.with_file_name(other),
                };
                if !files.join("server.toml").is_file() {
                    let at = source.text().find("source").unwrap_or(0);
                    let span = at..at + "source".len();
                    let title = "the server's manifest is not right";
                    let label = "there is no server of this name in the same catalog";
                    return Err(Box::new(source.mistake(span, title, label, None)).into());
                }
                let manifest = with_seeds(manifest, &files).map_err(|(name, why)| {
                    let at = source.text().find(&name).unwrap_or(0);
                    let title = "the server's manifest is not right";
                    Box::new(source.mistake(at..at + name.len(), title, why, None))
                })?;
                servers.push(Server {
                    name: name.to_owned(),
                    folder: files,
                    manifest,
                });
            }
        }
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            folders: vec![folder.to_owned()],
            servers,
        })
    }

    /// The catalog that the user means. First `servers/` in this folder or one above it that also has an
    /// `experiments/`, else the one inside this program, unpacked below `cache`; or `chosen.only`. Then
    /// `servers/` in this folder, and `chosen.more`: a server of the same name takes the place of the one before.
    ///
    /// # Errors
    /// When it cannot be read, unpacked, or a manifest is not right.
    pub fn find(chosen: &Chosen, cache: &Path) -> Result<Self, CatalogError> {
        let base = match (&chosen.only, project_root()) {
            (Some(folder), _) => folder.clone(),
            (None, Some(root)) => root.join("servers"),
            (None, None) => unpacked(&cache.join("catalog"))?,
        };
        let mut catalog = Self::open(&base)?;
        let here = Path::new("servers");
        let here_is_base = here.canonicalize().ok() == base.canonicalize().ok();
        if chosen.only.is_none() && !here_is_base && has_servers(here) {
            catalog.add(Self::open(here)?);
        }
        for folder in &chosen.more {
            catalog.add(Self::open(folder)?);
        }
        Ok(catalog)
    }

    /// A catalog of only these servers of this one, and of the given others.
    ///
    /// # Errors
    /// When it has no server of a name.
    pub fn with_only(mut self, names: &[&str], others: Vec<Server>) -> Result<Self, UnknownServer> {
        for name in names {
            self.get(name)?;
        }
        self.servers
            .retain(|server| names.contains(&server.name.as_str()));
        self.servers.extend(others);
        self.servers.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(self)
    }

    fn add(&mut self, other: Self) {
        self.folders.extend(other.folders);
        for server in other.servers {
            self.servers.retain(|known| known.name != server.name);
            self.servers.push(server);
        }
        self.servers.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// All servers, by name.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Servers that keep a contract, by name.
    pub fn of(&self, contract: Contract) -> impl Iterator<Item = &Server> {
        self.servers
            .iter()
            .filter(move |server| server.manifest.contracts.contains(&contract))
    }

    /// The server of this name.
    ///
    /// # Errors
    /// When there is none, with the name that is most like it.
    pub fn get(&self, name: &str) -> Result<&Server, UnknownServer> {
        self.servers
            .iter()
            .find(|server| server.name == name)
            .ok_or_else(|| UnknownServer {
                name: name.to_owned(),
                folders: self.folders.clone(),
                help: did_you_mean(name, self.servers.iter().map(|server| server.name.as_str()))
                    .or_else(|| Some("`prony servers list` shows all of them".into())),
            })
    }
}

fn list(folders: &[PathBuf]) -> String {
    let all: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    all.join(", ")
}

/// Is it a folder of servers? Many projects have a `servers/` that is not.
fn has_servers(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .flatten()
        .any(|entry| entry.path().join("server.toml").is_file())
}

/// The catalog inside this program as a folder in `above`, named by its content: unpacked under another
/// name and then renamed, so that several pronys at once, of one build or of several, never see a part
/// of it.
fn unpacked(above: &Path) -> Result<PathBuf, CatalogError> {
    let folder = above.join(digest(&EMBEDDED));
    if folder.is_dir() {
        return Ok(folder);
    }
    let unpack = || {
        std::fs::create_dir_all(above)?;
        // It is removed whatever happens.
        let scratch = tempfile::Builder::new().prefix(".new-").tempdir_in(above)?;
        let servers = scratch.path().join("servers");
        std::fs::create_dir(&servers)?;
        EMBEDDED.extract(&servers)?;
        match std::fs::rename(&servers, &folder) {
            // Another prony was first: what it unpacked is the same.
            Err(_) if folder.is_dir() => Ok(()),
            result => result,
        }
    };
    match unpack() {
        Ok(()) => Ok(folder),
        Err(reason) => Err(CatalogError::Folder { folder, reason }),
    }
}

/// Names the content of a folder: the first 16 hexadecimal digits of a SHA-256 over the paths and bytes
/// of its files.
/// The manifest with its services' content read; else the service, and what is not right with it.
fn with_seeds(mut manifest: Manifest, folder: &Path) -> Result<Manifest, (String, String)> {
    let services = std::mem::take(&mut manifest.services);
    for (name, spec) in services {
        let spec = spec
            .read(&name, folder)
            .map_err(|why| (name.clone(), why))?;
        manifest.services.insert(name, spec);
    }
    Ok(manifest)
}

fn digest(folder: &Dir<'_>) -> String {
    fn add(folder: &Dir<'_>, hasher: &mut Sha256) {
        for file in folder.files() {
            let path = file.path().as_os_str().as_encoded_bytes();
            for bytes in [path, file.contents()] {
                hasher.update((bytes.len() as u64).to_le_bytes());
                hasher.update(bytes);
            }
        }
        for below in folder.dirs() {
            add(below, hasher);
        }
    }
    let mut hasher = Sha256::new();
    add(folder, &mut hasher);
    let digest = hasher.finalize();
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The nearest folder upwards that has both `servers/` and `experiments/`.
pub(crate) fn project_root() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .find(|dir| dir.join("servers").is_dir() && dir.join("experiments").is_dir())
        .map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_that_ships_has_a_good_manifest() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../servers");
        let catalog = Catalog::open(&folder).unwrap();
        for (contract, least) in [
            (Contract::TcpEcho, 20),
            (Contract::HttpEcho, 10),
            (Contract::Fibonacci, 3),
            (Contract::Weather, 4),
            (Contract::Http, 2),
            (Contract::Techempower, 5),
            (Contract::Arena, 3),
            (Contract::Sse, 4),
            (Contract::WsEcho, 10),
        ] {
            assert!(catalog.of(contract).count() >= least, "{contract}");
        }
        let error = catalog.get("cpp-epol").unwrap_err();
        assert_eq!(error.help.as_deref(), Some("did you mean \"cpp-epoll\"?"));
    }

    #[test]
    fn many_may_unpack_at_once() {
        let above = tempfile::tempdir().unwrap();
        let all: Vec<PathBuf> = std::thread::scope(|scope| {
            let unpack = || scope.spawn(|| unpacked(above.path()).unwrap());
            let threads: Vec<_> = (0..8).map(|_| unpack()).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        for folder in &all {
            assert_eq!(folder, &all[0]);
        }
        let catalog = Catalog::open(&all[0]).unwrap();
        assert!(catalog.servers().len() >= 50);
        let left: Vec<_> = std::fs::read_dir(above.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    /// Files of the catalog, those of folders within servers too.
    fn files(folder: &'static Dir<'_>) -> Vec<&'static include_dir::File<'static>> {
        let within = folder.dirs().flat_map(files);
        folder.files().chain(within).collect()
    }

    /// The first address of its own that a program listens on, as languages write them.
    fn address_in(text: &str) -> Option<&'static str> {
        let text = text.to_ascii_lowercase();
        let words = [
            "localhost",
            "loopback",
            "inaddr",
            "in6addr",
            "0.0.0.0",
            "::1\"",
            "[::",
        ];
        let word = words.into_iter().find(|word| text.contains(word));
        // 127.0.0.1, and also [127, 0, 0, 1] and the like.
        let mut numbers = text.split(|c: char| !c.is_ascii_alphanumeric());
        word.or_else(|| numbers.any(|number| number == "127").then_some("127"))
    }

    #[test]
    fn no_server_that_ships_has_an_address_written_in() {
        for written in [
            "bind((\"127.0.0.1\", port))",
            "SocketAddr::from(([127, 0, 0, 1], port))",
            "htonl(INADDR_LOOPBACK)",
            "listen(port, \"localhost\")",
            "listen 0.0.0.0:$port",
            "listen(\"[::]:80\")",
            "bind(\"::1\")",
        ] {
            assert!(address_in(written).is_some(), "{written}");
        }
        let mut seen = 0;
        for file in files(&EMBEDDED) {
            let path = file.path();
            let lock = path
                .extension()
                .is_some_and(|is| is == "lock" || is == "sum");
            if let (Some(text), false) = (file.contents_utf8(), lock) {
                assert_eq!(address_in(text), None, "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../servers");
        for server in Catalog::open(&folder).unwrap().servers() {
            let manifest = &server.manifest;
            let mut texts = std::iter::once(&manifest.run).chain(manifest.env.values());
            assert!(texts.any(|text| text.contains("{host}")), "{}", server.name);
        }
    }

    #[test]
    fn a_server_may_take_the_files_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = |name: &str, more: &str| {
            let folder = dir.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!(
                "title='t'\nlanguage='l'\nmodel='m'\ncontracts=['tcp-echo']\nrun='x'\n{more}"
            );
            std::fs::write(folder.join("server.toml"), text).unwrap();
        };
        manifest("one", "");
        manifest("two", "source = 'one'");
        let catalog = Catalog::open(dir.path()).unwrap();
        assert_eq!(catalog.get("two").unwrap().folder, dir.path().join("one"));
        manifest("three", "source = 'nobody'");
        let error = Catalog::open(dir.path()).unwrap_err();
        assert!(matches!(error, CatalogError::Mistake(_)), "{error}");
    }

    #[test]
    fn further_folders_add_and_replace() {
        let dir = tempfile::tempdir().unwrap();
        let server = |folder: &str, name: &str, title: &str| {
            let folder = dir.path().join(folder).join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!(
                "title='{title}'\nlanguage='l'\nmodel='m'\ncontracts=['tcp-echo']\nrun='x'\n"
            );
            std::fs::write(folder.join("server.toml"), text).unwrap();
        };
        server("a", "one", "of a");
        server("a", "two", "of a");
        server("b", "two", "of b");
        server("b", "three", "of b");
        let chosen = Chosen {
            more: vec![dir.path().join("b")],
            only: Some(dir.path().join("a")),
        };
        let catalog = Catalog::find(&chosen, dir.path()).unwrap();
        let titles: Vec<&str> = ["one", "two", "three"]
            .map(|name| catalog.get(name).unwrap().manifest.title.as_str())
            .to_vec();
        assert_eq!(titles, ["of a", "of b", "of b"]);
        assert_eq!(catalog.servers().len(), 3);
        let error = catalog.get("zebra").unwrap_err().to_string();
        assert!(error.ends_with(&list(&catalog.folders)), "{error}");
    }

    #[test]
    fn the_embedded_catalog_is_the_same() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../servers");
        let there = Catalog::open(&folder).unwrap();
        for server in there.servers() {
            let path = format!("{}/server.toml", server.name);
            let text = EMBEDDED.get_file(&path).unwrap().contents_utf8().unwrap();
            assert_eq!(
                Manifest::parse(&Source::new(path, text)).unwrap(),
                server.manifest
            );
        }
    }
}
