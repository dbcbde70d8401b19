//! Requests or messages that a load sends and the answers that it expects, from the command line.

use crate::args::Load;
use crate::request::{prefix, text_or_file};
use crate::target;
use miette::Result;
use prony_engine::protocol::h2::H2Exchange;
use prony_engine::protocol::mix::Shares;
use prony_engine::protocol::ws::WsMessages;
use prony_engine::protocol::{Expect, HttpExchange, HttpRequest, Limits, Mix};
use prony_engine::{Dialogue, H2Requests};
use prony_lab::requests::{self, Server};

/// Returns the requests or messages to send to this address.
pub fn dialogue(args: &Load, address: &target::Address, http2: bool) -> Result<Dialogue> {
    if address.ws {
        return ws(args, address);
    }
    args.messages.unused()?;
    if args.request.encoding.compressed && !address.http {
        return Err(usage!("--compressed is for HTTP: an echo has no encodings"));
    }
    let several = match (&args.file, &args.replay) {
        (None, None) => None,
        (Some(_), None) => Some("--file"),
        (_, Some(_)) => Some("--replay"),
    };
    match (several, address.http) {
        (None, _) if http2 => h2(args, address),
        (Some(_), true) => mix(args, address, http2),
        (Some(option), false) => Err(usage!(
            "{option} has HTTP requests: the URL must begin with http://"
        )),
        (None, true) => http(args, address),
        (None, false) => echo(args),
    }
}

/// The requests of a file, of a log, or of a log by a file.
fn mix(args: &Load, address: &target::Address, http2: bool) -> Result<Dialogue> {
    if http2 {
        args.shape.not_pipelined()?;
    }
    let server = Server {
        host: address.authority.clone(),
        prefix: prefix(&address.path)?,
        keepalive: !args.shape.no_keepalive,
        limits: limits(args),
        shares: match args.random_shares {
            true => Shares::Random,
            false => Shares::Exact,
        },
    };
    let file = args.file.as_ref();
    let mix = file.map(|file| requests::read(file, &server)).transpose()?;
    let mut mix = match (&args.replay, mix) {
        (Some(log), mix) => super::replay::of(log, args, mix, &server)?,
        (None, Some(mix)) => mix,
        (None, None) => return http(args, address),
    };
    args.request.settle(&mut mix)?;
    if http2 {
        mix = args.protocol.speaks(mix, address)?;
    }
    Ok(Dialogue::Mix(Box::new(mix)))
}

pub fn limits(args: &Load) -> Limits {
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
        keepalive: !args.shape.no_keepalive,
    })
}

fn h2(args: &Load, address: &target::Address) -> Result<Dialogue> {
    args.shape.not_pipelined()?;
    let (request, expect) = (request(args, address)?, args.request.expect()?);
    if args.request.encoding.compressed {
        let mix = decoded(&request, &expect, limits(args));
        let mix = args.protocol.speaks(mix, address)?;
        return Ok(Dialogue::Mix(Box::new(mix)));
    }
    let exchange = H2Exchange::new(&request, address.tls, expect)
        .map_err(|forbidden| usage!("{forbidden}"))?;
    Ok(Dialogue::H2(Box::new(H2Requests {
        exchanges: vec![exchange],
        limits: limits(args),
        window: args.protocol.window(),
    })))
}

fn ws(args: &Load, address: &target::Address) -> Result<Dialogue> {
    if args.file.is_some() || args.replay.is_some() {
        return Err(usage!(
            help = "ws:// sends messages of --size bytes, which must come back",
            "--file and --replay have HTTP requests: the URL must begin with http://"
        ));
    }
    Ok(Dialogue::Ws(Box::new(WsMessages {
        upgrade: crate::ws::upgrade(&args.request, &args.messages, address)?,
        text: args.messages.text,
        size: args.messages.size(),
        limits: limits(args),
    })))
}

fn http(args: &Load, address: &target::Address) -> Result<Dialogue> {
    let request = request(args, address)?;
    let expect = args.request.expect()?;
    if args.request.encoding.compressed {
        let mix = decoded(&request, &expect, limits(args));
        return Ok(Dialogue::Mix(Box::new(mix)));
    }
    Ok(Dialogue::Http {
        exchanges: vec![HttpExchange::new(&request, expect)],
        limits: limits(args),
    })
}

/// A mix of one request, whose answers are judged without their encodings: a mix looks at bodies, on a sample; the session
/// that sends one request alone does not.
fn decoded(request: &HttpRequest, expect: &Expect, limits: Limits) -> Mix {
    let mut mix = Mix::one("request", request, expect, limits);
    mix.decode();
    mix
}

fn echo(args: &Load) -> Result<Dialogue> {
    if args.request.login.user.is_some() {
        return Err(usage!("--user is for HTTP: an echo knows no names"));
    }
    let said = args.message.as_deref().unwrap_or("hello\\n");
    let message = match said.strip_prefix('@') {
        Some(_) => text_or_file(said)?,
        None => unescape(said)
            .ok_or_else(|| {
                usage!("{said:?} has an unknown escape: \\n, \\r, \\t and \\\\ are understood")
            })?
            .into_bytes(),
    };
    if message.is_empty() {
        return Err(usage!("an echo needs a message of at least one byte"));
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
