//! Requests that a load sends: what other verbs send too, a raw echo, and a log.

use crate::args::LoadArgs;
use crate::remedy::mistaken;
use crate::request::{text_or_file, ways};
use crate::target::TargetUrl;
use crate::workload::{Hint, WorkloadArgs};
use miette::Result;
use prony_engine::protocol::mix::Shares;
use prony_lab::contract::Contract;
use prony_lab::requests::verify::RequestFile;
use prony_lab::workload::Workload;
use std::sync::Arc;

/// The options of `prony load` about what is asked.
pub fn of(args: &LoadArgs) -> WorkloadArgs<'_> {
    WorkloadArgs {
        contract: None,
        path: None,
        request: &args.request,
        messages: &args.messages,
        over_ws: false,
        call: None,
        message: args.message.as_deref(),
        grpc: &args.grpc,
        schema: None,
        file: None,
        no_pipelining: true,
    }
}

/// Returns the requests or messages to send to this address.
pub fn workload(
    args: &LoadArgs,
    asked: &WorkloadArgs<'_>,
    address: &TargetUrl,
) -> Result<Workload> {
    if args.message.is_some() && address.http && !address.grpc {
        return Err(usage!(
            help = "--body is the body of a request over HTTP; over WebSocket, messages have --size and --text",
            "--message is for tcp:// and grpc://"
        ));
    }
    let several = match (&args.file, &args.replay) {
        (None, None) => None,
        (Some(_), None) => Some("--file"),
        (_, Some(_)) => Some("--replay"),
    };
    match several {
        Some(option) if !address.http || address.ws => {
            return Err(usage!(
                "{option} has HTTP requests: the URL must begin with http://"
            ));
        }
        Some(option) if address.grpc => {
            return Err(usage!(
                "{option} has requests of HTTP, and grpc:// makes one call again and again"
            ));
        }
        _ => {}
    }
    if let Some(file) = requests(args, asked, address)? {
        args.grpc.unused()?;
        return Ok(Workload::Requests {
            contract: Contract::Http,
            asked: Arc::new(file),
        });
    }
    if !address.http {
        args.grpc.unused()?;
        return echo(args);
    }
    asked.workload(&[Hint::of_url(address)])
}

/// The requests of a file, of a log, or of a log by a file; none: there is neither.
fn requests(
    args: &LoadArgs,
    asked: &WorkloadArgs<'_>,
    address: &TargetUrl,
) -> Result<Option<RequestFile>> {
    if args.file.is_none() && args.replay.is_none() {
        return Ok(None);
    }
    let shares = match args.random_shares {
        true => Shares::Random,
        false => Shares::Exact,
    };
    let server = asked.server(&address.path, shares)?;
    let mut found = match &args.file {
        Some(file) => Some(RequestFile::read(file, &server, ways(true)).map_err(mistaken)?),
        None => None,
    };
    if let Some(log) = &args.replay {
        found = Some(super::replay::of(log, args, found, &server)?);
    }
    if let Some(found) = &mut found {
        args.request.settle(&mut found.mix)?;
    }
    Ok(found)
}

/// The message of an echo.
fn echo(args: &LoadArgs) -> Result<Workload> {
    if args.request.encoding.compressed {
        return Err(usage!("--compressed is for HTTP: an echo has no encodings"));
    }
    args.request
        .streams
        .unused("an echo is no stream of events")?;
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
    Ok(Workload::Echo(message))
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
