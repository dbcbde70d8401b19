//! What a load says and expects, from the command line.

use crate::args::Load;
use crate::request::{prefix, text_or_file};
use crate::target;
use miette::{Result, miette};
use prony_engine::protocol::h2::H2Exchange;
use prony_engine::protocol::mix::Shares;
use prony_engine::protocol::{HttpExchange, HttpRequest, Limits};
use prony_engine::{Dialogue, H2Requests};
use prony_lab::requests::{self, Server};
use std::path::Path;

/// What is said to this address.
pub fn dialogue(args: &Load, address: &target::Address, http2: bool) -> Result<Dialogue> {
    match (&args.file, address.http) {
        (Some(_), _) if http2 => Err(miette!(
            help = "one request by the options of Request, or http:// for the file",
            "--file is not sent over HTTP/2 yet"
        )),
        (None, _) if http2 => h2(args, address),
        (Some(file), true) => mix(file, args, address),
        (Some(_), false) => Err(miette!(
            "--file has HTTP requests: the URL must begin with http://"
        )),
        (None, true) => http(args, address),
        (None, false) => echo(args),
    }
}

/// The requests of a file.
fn mix(file: &Path, args: &Load, address: &target::Address) -> Result<Dialogue> {
    let server = Server {
        host: address.authority.clone(),
        prefix: prefix(&address.path)?,
        keepalive: !args.no_keepalive,
        limits: limits(args),
        shares: match args.random_shares {
            true => Shares::Random,
            false => Shares::Exact,
        },
    };
    let mut mix = requests::read(file, &server)?;
    args.request.login.authorize(&mut mix)?;
    Ok(Dialogue::Mix(Box::new(mix)))
}

fn limits(args: &Load) -> Limits {
    Limits {
        head: args.max_head,
        body: args.max_body,
    }
}

fn request(args: &Load, address: &target::Address) -> Result<HttpRequest> {
    Ok(HttpRequest {
        method: args.request.method()?,
        target: address.path.clone(),
        host: address.authority.clone(),
        headers: args.request.fields()?,
        body: args.request.content()?,
        keepalive: !args.no_keepalive,
    })
}

fn h2(args: &Load, address: &target::Address) -> Result<Dialogue> {
    if args.pipeline > 1 {
        return Err(miette!(
            help = "--streams N has N requests in flight on each connection",
            "--pipeline is for HTTP/1.1"
        ));
    }
    let expect = args.request.expect()?;
    let exchange = H2Exchange::new(&request(args, address)?, address.tls, expect)
        .map_err(|forbidden| miette!("{forbidden}"))?;
    Ok(Dialogue::H2(Box::new(H2Requests {
        exchanges: vec![exchange],
        limits: limits(args),
        window: args.http2.window(),
    })))
}

fn http(args: &Load, address: &target::Address) -> Result<Dialogue> {
    let request = request(args, address)?;
    let expect = args.request.expect()?;
    Ok(Dialogue::Http {
        exchanges: vec![HttpExchange::new(&request, expect)],
        limits: limits(args),
    })
}

fn echo(args: &Load) -> Result<Dialogue> {
    if args.request.login.user.is_some() {
        return Err(miette!("--user is for HTTP: an echo knows no names"));
    }
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
