//! Types that a server describes itself, by the protocol of
//! [gRPC server reflection](https://github.com/grpc/grpc/blob/master/doc/server-reflection.md): what `.proto` files say
//! elsewhere.

use super::client::{Client, GrpcAnswer, GrpcRequest};
use super::schema::Schema;
use prony_engine::Target;
use prony_engine::protocol::grpc::{GrpcStatus, shown};
use prony_engine::protocol::tls::TlsOptions;
use prost::Message;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use std::collections::BTreeSet;
use std::time::Duration;

/// Versions of the service, the newest first.
const VERSIONS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];
/// FileDescriptors of one service that are asked for.
const MOST: usize = 1_000;

/// `ServerReflectionRequest`; one of the fields has a value.
#[derive(Clone, PartialEq, Message)]
struct ReflectionRequest {
    #[prost(string, optional, tag = "3")]
    file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    file_containing_symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    list_services: Option<String>,
}

/// `ServerReflectionResponse`, as far as it is read; one of the fields has a value.
#[derive(Clone, PartialEq, Message)]
struct ReflectionResponse {
    #[prost(message, optional, tag = "4")]
    files: Option<FileDescriptors>,
    #[prost(message, optional, tag = "6")]
    services: Option<ServiceList>,
    #[prost(message, optional, tag = "7")]
    error: Option<ReflectionError>,
}

/// `FileDescriptorResponse`: encoded `FileDescriptorProto`s.
#[derive(Clone, PartialEq, Message)]
struct FileDescriptors {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

/// `ListServiceResponse`.
#[derive(Clone, PartialEq, Message)]
struct ServiceList {
    #[prost(message, repeated, tag = "1")]
    services: Vec<ServiceName>,
}

/// `ServiceResponse`.
#[derive(Clone, PartialEq, Message)]
struct ServiceName {
    #[prost(string, tag = "1")]
    name: String,
}

/// `ErrorResponse`.
#[derive(Clone, PartialEq, Message)]
struct ReflectionError {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    text: String,
}

/// A server, and how it is asked.
struct Reflector<'a> {
    client: &'a Client,
    version: &'static str,
    metadata: &'a [(String, String)],
}

impl Schema {
    /// Asks a server for the types of the method `/package.Service/Method`. `metadata` goes with the questions; nothing
    /// is waited for longer than `silence`.
    ///
    /// # Errors
    /// When it cannot be reached, has no reflection, or does not know the service; in words.
    pub fn of_server(
        (target, tls): (&Target, Option<&TlsOptions>),
        authority: &str,
        path: &str,
        metadata: &[(String, String)],
        silence: Duration,
    ) -> Result<Self, String> {
        let client = Client::reach(target, tls, authority, silence)?;
        let service = path.trim_start_matches('/').split('/').next();
        let symbol = ReflectionRequest {
            file_containing_symbol: service.map(str::to_owned),
            ..ReflectionRequest::default()
        };
        let (asked, first) = answered(&client, metadata, &symbol)?;
        if let Some(refusal) = first.error {
            let service = service.unwrap_or_default();
            return Err(asked.unknown(service, &refusal));
        }
        let set = FileDescriptorSet {
            file: asked.with_imports(first)?,
        };
        Self::described(set, "the server".to_owned())
            .map_err(|wrong| format!("the server's reflection: {wrong}"))
    }
}

/// Asks in the newest version that the server has.
fn answered<'a>(
    client: &'a Client,
    metadata: &'a [(String, String)],
    question: &ReflectionRequest,
) -> Result<(Reflector<'a>, ReflectionResponse), String> {
    for version in VERSIONS {
        let asked = Reflector {
            client,
            version,
            metadata,
        };
        let answer = asked.answer(question)?;
        if answer.code() != Some(GrpcStatus::UNIMPLEMENTED) {
            let reply = read(&answer)?;
            return Ok((asked, reply));
        }
    }
    Err("the server has no reflection".to_owned())
}

fn read(answer: &GrpcAnswer) -> Result<ReflectionResponse, String> {
    answer
        .check(GrpcStatus::OK)
        .map_err(|wrong| format!("the server's reflection is answered with {wrong}"))?;
    match answer.messages.as_slice() {
        [one] => ReflectionResponse::decode(&one[..]).map_err(|error| {
            format!("the server's reflection is answered with what is no reply of it: {error}")
        }),
        other => Err(format!(
            "a question to the server's reflection is answered with {} messages, expected 1",
            other.len()
        )),
    }
}

impl Reflector<'_> {
    fn answer(&self, question: &ReflectionRequest) -> Result<GrpcAnswer, String> {
        let sent = GrpcRequest::message(self.version, self.metadata, &question.encode_to_vec());
        self.client
            .call(&sent)
            .map_err(|error| format!("the server's reflection: {error}"))
    }

    /// The error where the server does not know the service, with the services that it has.
    fn unknown(&self, service: &str, refusal: &ReflectionError) -> String {
        let list = ReflectionRequest {
            list_services: Some(String::new()),
            ..ReflectionRequest::default()
        };
        let listed = self.answer(&list).and_then(|answer| read(&answer));
        let all = listed.ok().and_then(|reply| reply.services);
        let names: Vec<String> = all
            .iter()
            .flat_map(|all| &all.services)
            .map(|one| shown(one.name.as_bytes()))
            .filter(|name| !name.starts_with("grpc.reflection."))
            .collect();
        let text = shown(refusal.text.as_bytes());
        match names.as_slice() {
            [] => format!("the server's reflection does not know {service}: {text}"),
            names => format!(
                "the server has no service {service}: there are {}",
                names.join(", ")
            ),
        }
    }

    /// The files of a reply, and all that they import: a server may send these too, or wait to be asked for each.
    fn with_imports(&self, first: ReflectionResponse) -> Result<Vec<FileDescriptorProto>, String> {
        let mut all = Vec::new();
        let mut known = BTreeSet::new();
        let mut reply = first;
        loop {
            let files = reply.files.ok_or_else(|| match &reply.error {
                Some(refusal) => format!(
                    "the server's reflection: {}",
                    shown(refusal.text.as_bytes())
                ),
                None => "the server's reflection sends no file".to_owned(),
            })?;
            for bytes in &files.files {
                let file = FileDescriptorProto::decode(&bytes[..]).map_err(|error| {
                    format!("the server's reflection sends a file that is none: {error}")
                })?;
                if known.insert(file.name().to_owned()) {
                    all.push(file);
                }
            }
            let missing = all
                .iter()
                .flat_map(|file| &file.dependency)
                .find(|name| !known.contains(*name));
            let Some(missing) = missing.cloned() else {
                return Ok(all);
            };
            if all.len() >= MOST {
                return Err(format!(
                    "the server's reflection sends more than {MOST} files for one service"
                ));
            }
            let question = ReflectionRequest {
                file_by_filename: Some(missing.clone()),
                ..ReflectionRequest::default()
            };
            reply = read(&self.answer(&question)?)?;
            let has = |files: &FileDescriptors| {
                files.files.iter().any(|bytes| {
                    FileDescriptorProto::decode(&bytes[..]).is_ok_and(|it| it.name() == missing)
                })
            };
            // Else it would be asked for again, for ever.
            if reply.error.is_none() && !reply.files.as_ref().is_some_and(has) {
                return Err(format!(
                    "the server's reflection sends no file {}",
                    shown(missing.as_bytes())
                ));
            }
        }
    }
}
