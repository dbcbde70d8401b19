//! `.proto` files: which methods there are, and messages as JSON.

use super::output::AnswerType;
use miette::{Report, Result, miette};
use prost::Message;
use prost_reflect::prost_types::FileDescriptorSet;
use prost_reflect::{
    DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, ServiceDescriptor,
};
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use strsim::jaro_winkler;

/// Methods that are listed in an error.
const LISTED: usize = 20;

/// Services and their messages, as some `.proto` files or a server describes them.
#[derive(Debug, Clone)]
pub struct Schema {
    pool: DescriptorPool,
    names: String,
}

/// A method.
#[derive(Debug, Clone)]
pub struct Method {
    it: MethodDescriptor,
}

impl Schema {
    /// Reads `files`. What they import is looked for in the folders of `paths`, or beside each file when there are none.
    ///
    /// # Errors
    /// When one cannot be read, or has a mistake, which is shown.
    pub fn read(files: &[PathBuf], paths: &[PathBuf]) -> Result<Self> {
        let names = files.iter().map(|file| file.display().to_string());
        let names = names.collect::<Vec<_>>().join(", ");
        let mut folders = paths.to_vec();
        for file in files {
            if !file.is_file() {
                return Err(miette!(
                    "cannot read {}: there is no such file",
                    file.display()
                ));
            }
            // A file has a name within one of the folders.
            if !folders.iter().any(|folder| is_below(file, folder)) {
                folders.push(match file.parent() {
                    Some(folder) if folder != Path::new("") => folder.to_owned(),
                    _ => PathBuf::from("."),
                });
            }
        }
        let set = protox::compile(files, &folders).or_else(|error| {
            if !error.to_string().contains("not found") {
                return Err(Report::new(error));
            }
            super::options::compile(files, &folders).map_err(|_| Report::new(Missing(error)))
        })?;
        Self::described(set, names).map_err(|error| miette!("{error}"))
    }

    /// The services of descriptors, which stand in any order; `names` says where they are from.
    pub(super) fn described(set: FileDescriptorSet, names: String) -> Result<Self, String> {
        let pool =
            DescriptorPool::from_file_descriptor_set(set).map_err(|error| error.to_string())?;
        Ok(Self { pool, names })
    }

    /// The method `/package.Service/Method`; the leading slash may be left out.
    ///
    /// # Errors
    /// When there is none, with those that there are.
    pub fn method(&self, path: &str) -> Result<Method> {
        let all: Vec<MethodDescriptor> = self
            .pool
            .services()
            .flat_map(|service: ServiceDescriptor| service.methods().collect::<Vec<_>>())
            .collect();
        let wanted = path.trim_start_matches('/');
        if let Some(it) = all.iter().find(|method| name(method) == wanted) {
            return Ok(Method { it: it.clone() });
        }
        let mut names: Vec<String> = all.iter().map(name).collect();
        let help = match names.len() {
            0 => "a service looks like `service Greeter { rpc Greet (Request) returns (Reply); }`"
                .into(),
            n => {
                let near = |other: &String| (1e6 * (1.0 - jaro_winkler(wanted, other))) as u32;
                names.sort_by_key(|other| near(other));
                let listed = names[..n.min(LISTED)].join(", ");
                match n > LISTED {
                    true => format!("there are {listed}, and {} more", n - LISTED),
                    false => format!("there are {listed}"),
                }
            }
        };
        Err(miette!(
            help = help,
            "{} has no method {wanted}",
            self.names
        ))
    }
}

fn name(method: &MethodDescriptor) -> String {
    format!("{}/{}", method.parent_service().full_name(), method.name())
}

/// An import that is not found.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Missing(protox::Error);

impl miette::Diagnostic for Missing {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        let help = "-I DIR (--proto-path) names a folder in which imports are looked for";
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        self.0.labels()
    }
}

/// Is a file in a folder, or below?
fn is_below(file: &Path, folder: &Path) -> bool {
    match (file.canonicalize(), folder.canonicalize()) {
        (Ok(file), Ok(folder)) => file.starts_with(folder),
        _ => false,
    }
}

impl Method {
    /// Is it called with a stream of messages?
    #[must_use]
    pub fn takes_stream(&self) -> bool {
        self.it.is_client_streaming()
    }

    /// Does it answer with a stream of messages?
    #[must_use]
    pub fn streams(&self) -> bool {
        self.it.is_server_streaming()
    }

    /// Messages for it, written as JSON: one, or where it takes a stream, any number, one after the other.
    ///
    /// # Errors
    /// Where the text is something else.
    pub fn input(&self, json: &str) -> Result<Vec<Vec<u8>>, String> {
        if !self.takes_stream() {
            return Ok(vec![parse(self.it.input(), json)?]);
        }
        let messages = serde_json::Deserializer::from_str(json).into_iter::<Box<RawValue>>();
        messages
            .map(|one| {
                parse(
                    self.it.input(),
                    one.map_err(|error| error.to_string())?.get(),
                )
            })
            .collect()
    }

    /// A message of its answers, written as JSON.
    ///
    /// # Errors
    /// Where the text is not such a message.
    pub fn output(&self, json: &str) -> Result<Vec<u8>, String> {
        parse(self.it.output(), json)
    }

    /// Kind of the answers' messages.
    #[must_use]
    pub fn answers(&self) -> AnswerType {
        AnswerType {
            descriptors: self.it.parent_pool().encode_to_vec(),
            name: self.it.output().full_name().to_owned(),
        }
    }
}

fn parse(kind: MessageDescriptor, json: &str) -> Result<Vec<u8>, String> {
    let name = kind.full_name().to_owned();
    let wrong = |error: serde_json::Error| format!("not a {name} as JSON: {error}");
    let mut from = serde_json::Deserializer::from_str(json);
    let message = DynamicMessage::deserialize(kind, &mut from).map_err(wrong)?;
    from.end().map_err(wrong)?;
    Ok(message.encode_to_vec())
}

impl AnswerType {
    /// Descriptor of the message's kind.
    fn kind(&self) -> Result<MessageDescriptor, String> {
        let pool =
            DescriptorPool::decode(&self.descriptors[..]).map_err(|error| error.to_string())?;
        pool.get_message_by_name(&self.name)
            .ok_or_else(|| format!("there is no message {}", self.name))
    }

    /// A message as JSON, in one line.
    ///
    /// # Errors
    /// When it is not such a message.
    pub fn json(&self, bytes: &[u8]) -> Result<String, String> {
        let message = decode(self.kind()?, bytes)?;
        serde_json::to_string(&message).map_err(|error| error.to_string())
    }

    /// Do two encodings mean the same message? Bytes may differ where the order of fields does.
    ///
    /// # Errors
    /// When one is not such a message.
    pub fn same(&self, one: &[u8], other: &[u8]) -> Result<bool, String> {
        if one == other {
            return Ok(true);
        }
        // Messages of two pools are never the same.
        let kind = self.kind()?;
        Ok(decode(kind.clone(), one)? == decode(kind, other)?)
    }
}

fn decode(kind: MessageDescriptor, bytes: &[u8]) -> Result<DynamicMessage, String> {
    let name = kind.full_name().to_owned();
    DynamicMessage::decode(kind, bytes)
        .map_err(|error| format!("a message that is no {name}: {error}"))
}
