//! Peers: other load generators, where they are installed, and how to read what they print.

use crate::child::Child;
use crate::error::{Error, Result};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Requests that `ab` may make in a second at most. It is bounded by time and by number, and keeps
/// 40 bytes for each of the number from the start.
const AB_MOST_PER_SECOND: u64 = 400_000;
/// A tool that takes so much longer than it was told to has hung.
const GRACE: Duration = Duration::from_secs(15);

/// Error under which oha counts requests that were in flight at the end.
const OHA_ENDED: &str = "aborted due to deadline";

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// wrk, from Debian's `wrk`.
    Wrk,
    /// h2load speaking HTTP/1.1, from Debian's `nghttp2-client`.
    H2load,
    /// ApacheBench, from Debian's `apache2-utils`.
    Ab,
    /// gcannon echoing over WebSocket, which no distribution has: <https://github.com/MDA2AV/gcannon>.
    Gcannon,
    /// oha, a crate: `cargo install oha`.
    Oha,
}

impl Tool {
    /// All that speak HTTP/1.1 here.
    pub const ALL: [Self; 3] = [Self::Wrk, Self::H2load, Self::Ab];

    /// Name of the tool's program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::Ab => "ab",
            Self::Gcannon => "gcannon",
            Self::Oha => "oha",
        }
    }

    /// The Debian package that has it.
    pub fn package(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "nghttp2-client",
            Self::Ab => "apache2-utils",
            Self::Gcannon => "none; https://github.com/MDA2AV/gcannon",
            Self::Oha => "none; cargo install oha",
        }
    }

    /// Where it is installed, if it is.
    pub fn find(self) -> Option<PathBuf> {
        find(self.name())
    }

    /// Returns the command for the tool's closed loop on one thread with keep-alive. The length is in whole seconds,
    /// since wrk and ab take no others.
    fn command(self, program: &Path, connections: usize, seconds: u64, url: &str) -> Command {
        let mut command = Command::new(program);
        match self {
            Self::Wrk => command
                .args(["-t", "1"])
                .args(["-c", &connections.to_string()])
                .args(["-d", &format!("{seconds}s")]),
            Self::H2load => command
                .args(["--h1", "-t", "1"])
                .args(["-c", &connections.to_string()])
                .args(["-D", &seconds.to_string()]),
            // -n after -t, which would else set it to 50,000.
            Self::Ab => command
                .args(["-q", "-k", "-t", &seconds.to_string()])
                .args(["-n", &(AB_MOST_PER_SECOND * seconds).to_string()])
                .args(["-c", &connections.to_string()]),
            Self::Gcannon => command
                .args(["-t", "1", "-c", &connections.to_string()])
                .args(["-d", &format!("{seconds}s"), "--ws"]),
            Self::Oha => command
                .args(["--no-tui", "--output-format", "json", "--insecure"])
                .args(["-c", &connections.to_string()])
                .args(["-z", &format!("{seconds}s")]),
        };
        command.arg(url);
        command
    }

    /// Parses the tool's output.
    ///
    /// # Errors
    /// A text that names the part that is missing in it, or the failures that it reports.
    fn read(self, output: &str) -> std::result::Result<Said, String> {
        match self {
            Self::Wrk => read_wrk(output),
            Self::H2load => read_h2load(output),
            Self::Ab => read_ab(output),
            Self::Gcannon => read_gcannon(output),
            Self::Oha => read_oha(output),
        }
    }
}

/// Where a program is installed, if it is.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.into_iter().find(|place| place.is_file())
}

/// Results of a load, as the tool reports them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Said {
    requests: u64,
    per_second: f64,
}

/// Results of a load: the rate that the tool reports, and its measured CPU time.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Requests per second, by its own account.
    pub per_second: f64,
    /// CPU time of its whole life, its start and its connecting included, per request, in µs.
    pub cpu_us: f64,
}

/// Runs `tool` on `cpu` and reads what it says.
///
/// # Errors
/// When it cannot be run, ends badly, reports failed requests, or says what is not understood.
pub fn run(
    tool: Tool,
    program: &Path,
    address: SocketAddr,
    connections: usize,
    seconds: u64,
    cpu: usize,
) -> Result<Done> {
    let url = format!("http://{address}{}", crate::load::PATH);
    let command = tool.command(program, connections, seconds, &url);
    measure(tool, command, seconds, cpu)
}

/// Runs a command whose output has the format of `tool`, for `seconds` seconds on `cpu`.
///
/// # Errors
/// As [`run`].
pub fn measure(tool: Tool, command: Command, seconds: u64, cpu: usize) -> Result<Done> {
    let mut child = Child::start(command, cpu)?;
    let ended = child.end(Duration::from_secs(seconds) + GRACE)?;
    if !ended.status.success() {
        return Err(child.complaint(&ended, "failed"));
    }
    let said = tool.read(&ended.stdout).map_err(|problem| {
        Error::process(
            tool.name(),
            format!("{problem}; it said:\n{}", ended.stdout.trim()),
        )
    })?;
    Ok(Done {
        per_second: said.per_second,
        cpu_us: ended.cpu_ns as f64 / 1e3 / said.requests as f64,
    })
}

fn read_wrk(output: &str) -> std::result::Result<Said, String> {
    for failure in ["Socket errors:", "Non-2xx or 3xx responses:"] {
        if let Some(found) = after(output, failure) {
            return Err(format!("{failure} {found}"));
        }
    }
    let total = output
        .lines()
        .find_map(|line| line.trim().split_once(" requests in "));
    said(
        total.and_then(|(count, _)| count.parse().ok()),
        after(output, "Requests/sec:").and_then(number),
    )
}

/// Reads gcannon's JSON: its other output has rounded rates.
fn read_gcannon(output: &str) -> std::result::Result<Said, String> {
    let json: serde_json::Value =
        serde_json::from_str(output).map_err(|error| format!("not JSON: {error}"))?;
    for failure in ["connect", "read", "timeout"] {
        match json["errors"][failure].as_u64() {
            Some(0) => {}
            found => return Err(format!("errors of {failure}: {found:?}")),
        }
    }
    said(json["ws_frames"].as_u64(), json["rps"].as_f64())
}

/// Reads oha's JSON. Requests in flight at the end are errors there, as many as there are connections.
fn read_oha(output: &str) -> std::result::Result<Said, String> {
    let json: serde_json::Value =
        serde_json::from_str(output).map_err(|error| format!("not JSON: {error}"))?;
    let counts = |of: &str| {
        let found = json[of].as_object().into_iter().flatten();
        found.map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(0)))
    };
    if let Some((error, n)) = counts("errorDistribution").find(|(error, _)| error != OHA_ENDED) {
        return Err(format!("{n} × {error}"));
    }
    if let Some((status, n)) = counts("statusCodeDistribution").find(|(it, _)| it != "200") {
        return Err(format!("{n} × status {status}"));
    }
    let answered = counts("statusCodeDistribution").map(|(_, n)| n).sum();
    said(Some(answered), json["summary"]["requestsPerSec"].as_f64())
}

fn read_h2load(output: &str) -> std::result::Result<Said, String> {
    let requests = after(output, "requests:").ok_or("no line `requests:`")?;
    let count = |what: &str| -> std::result::Result<u64, String> {
        let fields = requests.split(',').filter_map(|field| {
            let (count, name) = field.trim().split_once(' ')?;
            (name == what).then_some(count)
        });
        let mut counts = fields.filter_map(|count| count.parse().ok());
        counts
            .next()
            .ok_or_else(|| format!("no number of requests {what}"))
    };
    for failure in ["failed", "errored", "timeout"] {
        if count(failure)? > 0 {
            return Err(format!("requests: {requests}"));
        }
    }
    // `finished in 2.00s, 138659.50 req/s, 19.44MB/s`
    let finished = after(output, "finished in").and_then(|rest| rest.split(',').nth(1));
    let rate = finished.and_then(|rate| rate.trim().strip_suffix("req/s"));
    said(Some(count("succeeded")?), rate.and_then(number))
}

fn read_ab(output: &str) -> std::result::Result<Said, String> {
    let failed = after(output, "Failed requests:").ok_or("no line `Failed requests:`")?;
    if failed != "0" {
        return Err(format!("Failed requests: {failed}"));
    }
    if let Some(found) = after(output, "Non-2xx responses:") {
        return Err(format!("Non-2xx responses: {found}"));
    }
    let complete = after(output, "Complete requests:").and_then(|count| count.parse().ok());
    let kept = after(output, "Keep-Alive requests:").and_then(|count| count.parse().ok());
    if kept != complete {
        return Err(format!(
            "{kept:?} of {complete:?} requests were answered on connections that were kept open"
        ));
    }
    let rate = after(output, "Requests per second:").and_then(number);
    said(complete, rate)
}

fn said(requests: Option<u64>, per_second: Option<f64>) -> std::result::Result<Said, String> {
    match (requests, per_second) {
        (Some(1..), Some(per_second)) if per_second.is_finite() && per_second > 0.0 => Ok(Said {
            requests: requests.unwrap_or_default(),
            per_second,
        }),
        (Some(0), _) => Err("not one request was answered".into()),
        (None, _) => Err("no number of requests in its output".into()),
        (Some(_), _) => Err("no rate in its output".into()),
    }
}

/// Returns the rest of the first line that begins with `label`, trimmed; `None` without such a line.
fn after<'a>(output: &'a str, label: &str) -> Option<&'a str> {
    let mut lines = output.lines().map(str::trim);
    lines
        .find_map(|line| line.strip_prefix(label))
        .map(str::trim)
}

/// The number that `text` begins with.
fn number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Captured from wrk 4.1.0, h2load of nghttp2 1.52 and ab 2.3.
    const WRK: &str = include_str!("../../samples/wrk.txt");
    const WRK_ERRORS: &str = include_str!("../../samples/wrk-errors.txt");
    const H2LOAD: &str = include_str!("../../samples/h2load.txt");
    const H2LOAD_ERRORS: &str = include_str!("../../samples/h2load-errors.txt");
    const H2LOAD_REFUSED: &str = include_str!("../../samples/h2load-refused.txt");
    const AB: &str = include_str!("../../samples/ab.txt");
    const AB_ERRORS: &str = include_str!("../../samples/ab-errors.txt");

    #[test]
    fn real_outputs_are_understood() {
        for (tool, output, requests, per_second) in [
            (Tool::Wrk, WRK, 417_996, 208_885.72),
            (Tool::H2load, H2LOAD, 277_319, 138_659.50),
            (Tool::Ab, AB, 275_869, 137_916.92),
        ] {
            let said = Said {
                requests,
                per_second,
            };
            assert_eq!(tool.read(output), Ok(said), "{tool:?}");
        }
    }

    #[test]
    fn failed_requests_are_found() {
        for (tool, output, problem) in [
            (
                Tool::Wrk,
                WRK_ERRORS,
                "Socket errors: connect 0, read 88, write 0, timeout 0",
            ),
            (
                Tool::H2load,
                H2LOAD_ERRORS,
                "requests: 1996 total, 2000 started, 1996 done, 664 succeeded, 1332 failed, 0 errored, 0 timeout",
            ),
            (Tool::H2load, H2LOAD_REFUSED, "not one request was answered"),
            (Tool::Ab, AB_ERRORS, "Failed requests: 27332"),
        ] {
            assert_eq!(tool.read(output), Err(problem.to_owned()), "{tool:?}");
        }
        let wrong_status: String = WRK_ERRORS
            .lines()
            .filter(|line| !line.contains("Socket errors"))
            .flat_map(|line| [line, "\n"])
            .collect();
        assert_eq!(
            Tool::Wrk.read(&wrong_status),
            Err("Non-2xx or 3xx responses: 29722".to_owned())
        );
    }

    #[test]
    fn connections_that_ab_had_to_open_again_are_found() {
        let closed = AB.replace(
            "Keep-Alive requests:    275869",
            "Keep-Alive requests:    0",
        );
        assert!(Tool::Ab.read(&closed).unwrap_err().contains("kept open"));
    }

    #[test]
    fn only_what_was_in_flight_at_the_end_may_fail_in_oha() {
        let output = |statuses: &str, errors: &str| {
            format!(
                r#"{{"summary": {{"successRate": 1.0, "requestsPerSec": 1837.2}},
                "statusCodeDistribution": {{{statuses}}}, "errorDistribution": {{{errors}}}}}"#
            )
        };
        let ended = format!(r#""{OHA_ENDED}": 4"#);
        let said = Tool::Oha.read(&output(r#""200": 1836"#, &ended));
        assert_eq!(
            said,
            Ok(Said {
                requests: 1_836,
                per_second: 1_837.2
            })
        );
        let refused = output(r#""200": 1836"#, r#""connection refused": 2"#);
        assert_eq!(
            Tool::Oha.read(&refused),
            Err("2 × connection refused".to_owned())
        );
        let wrong = output(r#""200": 1836, "503": 7"#, &ended);
        assert_eq!(Tool::Oha.read(&wrong), Err("7 × status 503".to_owned()));
        assert!(Tool::Oha.read(&output("", "")).is_err());
        assert!(Tool::Oha.read("no JSON").is_err());
    }

    #[test]
    fn what_is_cut_off_is_not_understood() {
        for (tool, output) in [(Tool::Wrk, WRK), (Tool::H2load, H2LOAD), (Tool::Ab, AB)] {
            assert!(tool.read("").is_err(), "{tool:?}");
            for label in ["Requests/sec:", "finished in", "Requests per second:"] {
                if let Some(end) = output.find(label) {
                    assert!(
                        tool.read(&output[..end]).is_err(),
                        "{tool:?} without {label}"
                    );
                }
            }
        }
    }
}
