//! A call as a request of HTTP/2.

use super::{GrpcExpect, framed};
use crate::protocol::HttpRequest;
use crate::protocol::h2::{ForbiddenField, StreamedExchange};

/// A call with one message.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Call {
    /// `/package.Service/Method`.
    pub path: String,
    /// Names and values; those of names that end with `-bin` are in base64.
    pub metadata: Vec<(String, String)>,
    /// The messages as the method's encoding has them, sent one after the other as soon as the call begins: one, or any
    /// number for a method that takes a stream.
    pub messages: Vec<Vec<u8>>,
}

/// Metadata that a call cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForbiddenMetadata {
    /// A field that HTTP/2 has no place for.
    #[error(transparent)]
    Field(#[from] ForbiddenField),
    /// A field that the protocol itself sets.
    #[error("{0:?} is set by gRPC itself")]
    Reserved(String),
    /// Messages would come compressed.
    #[error("{0:?}: messages are sent and read uncompressed")]
    Encoding(String),
}

impl Call {
    /// The request of HTTP/2, as [`StreamedExchange`] has it.
    ///
    /// # Errors
    /// When the metadata has a field that cannot be sent.
    pub fn request(&self, authority: &str) -> Result<HttpRequest, ForbiddenMetadata> {
        for (name, _) in &self.metadata {
            match name.to_ascii_lowercase().as_str() {
                "te" | "content-type" | "content-length" => {
                    return Err(ForbiddenMetadata::Reserved(name.clone()));
                }
                "grpc-encoding" | "grpc-accept-encoding" => {
                    return Err(ForbiddenMetadata::Encoding(name.clone()));
                }
                _ => {}
            }
        }
        let mut headers: Vec<(String, String)> =
            [("te", "trailers"), ("content-type", "application/grpc")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        if !self.has("user-agent") {
            let agent = concat!("grpc-prony/", env!("CARGO_PKG_VERSION"));
            headers.push(("user-agent".to_owned(), agent.to_owned()));
        }
        headers.extend(self.metadata.iter().cloned());
        Ok(HttpRequest {
            method: "POST".into(),
            headers,
            body: self.messages.iter().flat_map(|one| framed(one)).collect(),
            ..HttpRequest::get(authority, self.path.as_str())
        })
    }

    /// The call to a server of this name, whose answer must be as `expect` says. `secure`: it goes over TLS.
    ///
    /// # Errors
    /// When the metadata has a field that cannot be sent.
    pub fn exchange(
        &self,
        authority: &str,
        secure: bool,
        expect: GrpcExpect,
    ) -> Result<StreamedExchange<GrpcExpect>, ForbiddenMetadata> {
        let request = self.request(authority)?;
        Ok(StreamedExchange::new(&request, secure, expect)?.without_length())
    }

    fn has(&self, name: &str) -> bool {
        let mut names = self.metadata.iter().map(|(name, _)| name);
        names.any(|other| other.eq_ignore_ascii_case(name))
    }
}
