//! In the place of `script` where LuaJIT is left out: the requests of a command line without a script.

use super::args::Args;
use super::failure::ScriptFailure;
use super::place;
use super::report::WrkResults;
use crate::shared::load::words;
use std::net::SocketAddr;

/// Why there is no script, and how to get one.
const ABSENT: &str = "prony: -s: this prony was built without `lua`, which runs scripts: build it with \
    `cargo install --path crates/cli --features lua`";

/// The plain requests of a command line.
pub(super) struct Script {
    address: SocketAddr,
    functions: Functions,
}

impl Script {
    /// Finds the server.
    ///
    /// # Errors
    /// When there is a script, or the server cannot be found or reached.
    pub(super) fn load(args: &Args) -> Result<Self, ScriptFailure> {
        if args.script.is_some() {
            return Err(ScriptFailure(ABSENT.to_owned()));
        }
        let address = reach(args)?;
        let functions = Functions {
            always: request(args),
        };
        Ok(Self { address, functions })
    }

    /// The server, for every thread.
    pub(super) fn address(&self, _worker: u32) -> SocketAddr {
        self.address
    }

    /// The request, for every thread.
    pub(super) fn functions(&self, _worker: u32) -> &Functions {
        &self.functions
    }

    /// No thread stops itself.
    pub(super) fn stop_flag(&self, _worker: u32) -> StopFlag {
        StopFlag
    }

    /// Nothing prints but prony.
    pub(super) fn flush(&self) {}

    /// Nothing waits for the end.
    pub(super) fn done(&self, _outcome: &WrkResults) -> Result<(), ScriptFailure> {
        Ok(())
    }
}

/// The first address that accepts a connection.
fn reach(args: &Args) -> Result<SocketAddr, ScriptFailure> {
    let (host, service) = (args.url.host.as_str(), args.url.service());
    let mut why = String::new();
    for address in place::lookup(host, service).map_err(ScriptFailure)? {
        match place::connect(&address) {
            Ok(()) => return Ok(address),
            Err(error) => why = words(&error),
        }
    }
    Err(ScriptFailure::unreached(host, service, &why))
}

/// The request, as the prelude of scripts writes it: of fields with one name the last counts.
fn request(args: &Args) -> Vec<u8> {
    let url = &args.url;
    let mut fields: Vec<(&str, &str)> = Vec::new();
    for (name, value) in args
        .headers
        .iter()
        .filter_map(|field| field.split_once(": "))
    {
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some(field) => field.1 = value,
            None => fields.push((name, value)),
        }
    }
    let host = match url.host.contains(':') {
        true => format!("[{}]", url.host),
        false => url.host.clone(),
    };
    let host = match &url.port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    if !fields.iter().any(|(name, _)| *name == "Host") {
        fields.insert(0, ("Host", &host));
    }
    let mut text = format!("GET {} HTTP/1.1\r\n", url.path);
    for (name, value) in fields {
        // A length is that of the body, of which there is none.
        if name != "Content-Length" {
            text += &format!("{name}: {value}\r\n");
        }
    }
    text += "\r\n";
    text.into_bytes()
}

/// A script's functions: without one there is the same request again and again.
#[derive(Clone)]
pub(super) struct Functions {
    always: Vec<u8>,
}

impl Functions {
    pub(super) fn has(&self, _name: &str) -> bool {
        false
    }

    pub(super) fn request<R>(&self, take: impl FnOnce(&[u8]) -> R) -> Result<R, ScriptFailure> {
        Ok(take(&self.always))
    }

    pub(super) fn next_request(&self, out: &mut Vec<u8>) -> Result<bool, ScriptFailure> {
        out.extend_from_slice(&self.always);
        Ok(true)
    }

    pub(super) fn bad_request(&self, why: &str) -> ScriptFailure {
        ScriptFailure(format!("no request: {why}"))
    }

    pub(super) fn no_text(&self, why: &str) -> ScriptFailure {
        ScriptFailure(why.to_owned())
    }

    pub(super) fn delay(&self) -> Result<f64, ScriptFailure> {
        Ok(0.0)
    }

    pub(super) fn response<'a>(
        &self,
        _status: u16,
        _fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        _body: &[u8],
    ) -> Result<(), ScriptFailure> {
        Ok(())
    }
}

/// Never set.
#[derive(Debug, Clone, Default)]
pub(super) struct StopFlag;

impl StopFlag {
    pub(super) fn is_set(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrk::args::Parsed;

    fn parsed(line: &[&str]) -> Args {
        let line = line.iter().map(Into::into).collect();
        Parsed::from(line).args.expect("a command line")
    }

    fn sent(line: &[&str]) -> String {
        String::from_utf8(request(&parsed(line))).expect("text")
    }

    #[test]
    fn a_request_is_that_of_the_command_line() {
        assert_eq!(
            sent(&["-H", "A: b", "-H", "A: c", "http://h:81/x?y"]),
            "GET /x?y HTTP/1.1\r\nHost: h:81\r\nA: c\r\n\r\n"
        );
        assert_eq!(
            sent(&["-H", "Host: other", "http://[::1]/"]),
            "GET / HTTP/1.1\r\nHost: other\r\n\r\n"
        );
        assert_eq!(
            sent(&["http://[::1]/"]),
            "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n"
        );
    }

    #[test]
    fn a_script_is_refused_before_anything_else() {
        let args = parsed(&["-s", "nowhere.lua", "http://127.0.0.1:1/"]);
        let why = Script::load(&args).err().expect("a refusal").to_string();
        assert!(
            why.contains("without `lua`") && why.contains("cargo install"),
            "{why}"
        );
    }
}
