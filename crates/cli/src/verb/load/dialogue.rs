//! What a load says and expects, from the command line.

use crate::args::Load;
use crate::request::text_or_file;
use crate::target;
use miette::{Result, miette};
use prony_engine::Dialogue;
use prony_engine::protocol::{HttpExchange, HttpRequest, Limits};

/// What is said to this address.
pub fn dialogue(args: &Load, address: &target::Address) -> Result<Dialogue> {
    match address.http {
        true => http(args, address),
        false => echo(args),
    }
}

fn http(args: &Load, address: &target::Address) -> Result<Dialogue> {
    let request = HttpRequest {
        method: args.request.method()?,
        target: address.path.clone(),
        host: address.authority.clone(),
        headers: args.request.fields()?,
        body: args.request.content()?,
        keepalive: !args.no_keepalive,
    };
    let expect = args.request.expect()?;
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
