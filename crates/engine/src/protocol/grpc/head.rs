//! gRPC fields in the header section and the trailers of an answer.

use super::GrpcStatus;
use percent_encoding::percent_decode;
use prony_record::inert;

/// Characters of a text from the server that are shown.
const SHOWN: usize = 200;

/// gRPC fields of a header block.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    pub(super) content: Content,
    pub(super) status: Option<Code>,
    /// `grpc-message`, decoded and made inert; none where it is empty.
    pub(super) message: Option<Box<str>>,
    /// `grpc-encoding`, where it is not `identity`.
    pub(super) encoding: Option<Box<str>>,
}

/// Value of `content-type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Content {
    /// There is no `content-type`.
    #[default]
    Missing,
    /// gRPC.
    Grpc,
    /// Something else, which is shown.
    Other(Box<str>),
}

/// Value of `grpc-status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Code {
    Known(GrpcStatus),
    /// Not a status of gRPC; it is shown.
    Other(Box<str>),
    /// There were two that differ.
    Two,
}

impl Fields {
    pub(super) fn take(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"content-type" => {
                self.content = match is_grpc(value) {
                    true => Content::Grpc,
                    false => Content::Other(shown(value).into()),
                }
            }
            b"grpc-status" => {
                let code = code(value);
                self.status = Some(match self.status.take() {
                    Some(other) if other != code => Code::Two,
                    _ => code,
                });
            }
            b"grpc-message" if !value.is_empty() => {
                let decoded: Vec<u8> = percent_decode(value).collect();
                self.message = Some(shown(&decoded).into());
            }
            b"grpc-encoding" if value != b"identity" => {
                self.encoding = Some(shown(value).into());
            }
            _ => {}
        }
    }
}

/// A number of one to ten digits without a sign, as the protocol has it.
fn code(value: &[u8]) -> Code {
    let digits = !value.is_empty() && value.len() <= 10 && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| digits);
    let number = text.and_then(|text| text.parse().ok());
    match number.and_then(GrpcStatus::of) {
        Some(status) => Code::Known(status),
        None => Code::Other(shown(value).into()),
    }
}

/// `application/grpc`, with a message format (`+proto`) or parameters.
fn is_grpc(value: &[u8]) -> bool {
    const TYPE: &[u8] = b"application/grpc";
    let (Some(begin), rest) = (value.get(..TYPE.len()), value.get(TYPE.len())) else {
        return false;
    };
    begin.eq_ignore_ascii_case(TYPE) && matches!(rest, None | Some(b'+' | b';' | b' '))
}

/// A text from the server in one line, without what would act on a terminal, and cut short.
#[must_use]
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = inert::line(&text);
    match line.char_indices().nth(SHOWN) {
        None => line.into_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
