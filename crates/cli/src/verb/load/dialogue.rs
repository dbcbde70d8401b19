//! What a load says and expects, from the command line.

use crate::args::Load;
use crate::target;
use miette::{Result, miette};
use prony_engine::Dialogue;
use prony_engine::protocol::{Expect, HttpExchange, HttpRequest, Limits};

/// What is said to this address.
pub fn dialogue(args: &Load, address: &target::Address) -> Result<Dialogue> {
    match address.http {
        true => http(args, address),
        false => echo(args),
    }
}

/// Text, or the content of a file after `@`.
fn text_or_file(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix('@') {
        None => Ok(text.as_bytes().to_vec()),
        Some(path) => std::fs::read(path).map_err(|error| miette!("cannot read {path}: {error}")),
    }
}

fn http(args: &Load, address: &target::Address) -> Result<Dialogue> {
    let token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    if !token(&args.method) {
        return Err(miette!("{:?} is not a method", args.method));
    }
    let mut headers = Vec::new();
    for field in &args.headers {
        let (name, value) = field
            .split_once(':')
            .map(|(name, value)| (name.trim(), value.trim()))
            .filter(|(name, value)| token(name) && !value.bytes().any(|b| b < b' ' && b != b'\t'))
            .ok_or_else(|| miette!("{field:?} is not a header field: expected `Name: value`"))?;
        headers.push((name.to_owned(), value.to_owned()));
    }
    let request = HttpRequest {
        method: args.method.clone(),
        target: address.path.clone(),
        host: address.authority.clone(),
        headers,
        body: args
            .body
            .as_deref()
            .map(text_or_file)
            .transpose()?
            .unwrap_or_default(),
        keepalive: !args.no_keepalive,
    };
    let mut expect = match &args.expect_body {
        Some(body) => Expect::body(text_or_file(body)?),
        None => Expect::default(),
    };
    expect.status = args.expect_status;
    Ok(Dialogue::Http {
        exchanges: vec![HttpExchange::new(&request, expect)],
        limits: Limits {
            head: args.max_head,
            body: args.max_body,
        },
    })
}

fn echo(args: &Load) -> Result<Dialogue> {
    let message = match args.message.strip_prefix('@') {
        Some(_) => text_or_file(&args.message)?,
        None => unescape(&args.message)
            .ok_or_else(|| {
                miette!(
                    "{:?} has an unknown escape: \\n, \\r, \\t and \\\\ are understood",
                    args.message
                )
            })?
            .into_bytes(),
    };
    if message.is_empty() {
        return Err(miette!("an echo needs a message of at least one byte"));
    }
    Ok(Dialogue::Echo(message))
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        out.push(match c {
            '\\' => match rest.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_a_message() {
        assert_eq!(unescape("hello\\n\\\\").as_deref(), Some("hello\n\\"));
        assert_eq!(unescape("\\x"), None);
        assert_eq!(unescape("\\"), None);
    }
}
