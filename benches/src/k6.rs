//! The mix of requests as a script of k6, as its users write it.

use crate::child::Child;
use crate::compat::CONNECTIONS;
use crate::error::{Error, Result};
use crate::place::Rig;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A user of its own for each connection. Names keep k6 from counting every URL for itself.
const SCRIPT: &str = "\
import http from 'k6/http';
import { SharedArray } from 'k6/data';
export const options = {
  vus: CONNECTIONS, duration: 'SECONDSs', discardResponseBodies: true,
};
const rows = new SharedArray('users', () =>
  open('FOLDER/users.csv').trim().split('\\n').slice(1).map((line) => line.split(',')));
const hex = (digits) =>
  Math.floor(Math.random() * 16 ** digits).toString(16).padStart(digits, '0');
let n = 0;
export default function () {
  n += 1;
  const row = rows[n % rows.length];
  const id = `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  const item = 1 + Math.floor(Math.random() * 1000);
  http.get(`http://ADDRESS/kind${n % 10}/${row[0]}?item=${item}&n=${n}`, {
    headers: { 'X-Id': id, 'X-City': row[1] }, tags: { name: `kind${n % 10}` },
  });
}
export function handleSummary(data) {
  return { stdout: `${data.metrics.http_reqs.values.count}\\n` };
}
";

/// How much longer than its duration k6 may take.
const GRACE: Duration = Duration::from_secs(60);

/// Loads with k6; gives its CPU time per request, in µs, start included. `folder` has `users.csv`.
///
/// # Errors
/// When it fails.
pub fn mix(
    program: &Path,
    folder: &Path,
    address: SocketAddr,
    seconds: u64,
    rig: Rig,
) -> Result<f64> {
    let script = SCRIPT
        .replace("CONNECTIONS", &CONNECTIONS.to_string())
        .replace("SECONDS", &seconds.to_string())
        .replace("FOLDER", &folder.display().to_string())
        .replace("ADDRESS", &address.to_string());
    let file = folder.join("mix.js");
    std::fs::write(&file, script).map_err(Error::io("cannot write a file"))?;
    let mut command = Command::new(program);
    command
        .args(["run", "--quiet", "--no-color", "--no-usage-report"])
        .arg(&file);
    let mut child = Child::start(command, rig.client)?;
    let ended = child.end(Duration::from_secs(seconds) + GRACE)?;
    if !ended.status.success() {
        return Err(child.complaint(&ended, "failed"));
    }
    let requests: f64 = ended
        .stdout
        .trim()
        .parse()
        .map_err(|error| Error::process("k6", error))?;
    Ok(ended.cpu_ns as f64 / 1e3 / requests)
}
