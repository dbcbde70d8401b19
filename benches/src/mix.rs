//! What a mix of requests with values in them costs: compared with one fixed request, and with the same mix
//! as a script of wrk and, where there is one, of k6.

use crate::compat::{CONNECTIONS, Compat, load_command, measure, wrk};
use crate::error::{Error, Result};
use crate::external;
use crate::k6;
use crate::place::{self, Rig};
use crate::prony;
use std::fmt::Write;
use std::process::Command;

/// Kinds of requests.
const KINDS: u32 = 10;
/// Rows of the file that values come from.
const ROWS: u32 = 1_000;

/// The same as the file of requests says, as wrk's users write it.
const SCRIPT: &str = "\
local rows = {}
function init(args)
  for line in io.lines('FOLDER/users.csv') do
    local name, city = line:match('([^,]*),([^,]*)')
    if name ~= 'name' then rows[#rows + 1] = { name, city } end
  end
end
local n = 0
local headers = {}
local function hex(digits)
  return string.format('%0' .. digits .. 'x', math.random(0, 16 ^ digits - 1))
end
function request()
  n = n + 1
  local row = rows[n % #rows + 1]
  headers['X-Id'] = hex(4) .. hex(4) .. '-' .. hex(4) .. '-4' .. hex(3) .. '-a' .. hex(3) .. '-' .. hex(6) .. hex(6)
  headers['X-City'] = row[2]
  return wrk.format('GET', '/kind' .. n % 10 .. '/' .. row[1] .. '?item=' .. math.random(1, 1000) .. '&n=' .. n, headers)
end
";

/// Runs both comparisons.
///
/// # Errors
/// When one of the contestants fails, or the command has not been built.
pub fn run(rig: Rig, rounds: u32, seconds: f64) -> Result<Compat> {
    place::raise_open_files().map_err(Error::io("cannot raise the limit of open files"))?;
    let prony = prony::program()?;
    let scratch = tempfile::tempdir().map_err(Error::io("no temporary folder"))?;
    let mut users = String::from("name,city\n");
    for row in 0..ROWS {
        let _ = writeln!(users, "user{row},city{}", row % 17);
    }
    let mut requests = String::new();
    for kind in 0..KINDS {
        let _ = write!(
            requests,
            "[[request]]\nname = \"kind{kind}\"\n\
             path = \"/kind{kind}/{{{{row users.csv name}}}}?item={{{{int 1 1000}}}}&n={{{{seq}}}}\"\n\
             headers = {{ X-Id = \"{{{{uuid}}}}\", X-City = \"{{{{row users.csv city}}}}\" }}\n\
             expect.status = 200\n"
        );
    }
    let folder = scratch.path();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).map_err(Error::io("cannot write a file"))
    };
    write("users.csv", &users)?;
    write("mix.toml", &requests)?;
    write(
        "mix.lua",
        &SCRIPT.replace("FOLDER", &folder.display().to_string()),
    )?;
    let (file, script) = (folder.join("mix.toml"), folder.join("mix.lua"));
    let file = file.display().to_string();
    // wrk takes whole seconds.
    let seconds = seconds.ceil() as u64;
    let mix = |address| load_command(&prony, &["-f", &file], address, seconds, rig);
    let one = [
        "-H",
        "X-Id: 3b241101-e2bb-4255-8caf-4136c566a962",
        "-H",
        "X-City: city11",
        "--expect-status",
        "200",
    ];
    let fixed = |address| load_command(&prony, &one, address, seconds, rig);
    let lua = |address| {
        let mut command = Command::new(&prony);
        command.args(["wrk", "--quiet"]);
        wrk(command, Some(&script), address, seconds, rig)
    };
    let ours = ("prony load -f", &mix as crate::compat::Contestant<'_>);
    let mut pairs = vec![
        measure(
            "a mix of 10 requests with values compared with one fixed request",
            "at most 1.25",
            ours,
            ("prony load", &fixed),
            rounds,
            rig,
        )?,
        measure(
            "the same mix compared with prony wrk and a Lua script",
            "at most 0.60",
            ours,
            ("prony wrk -s", &lua),
            rounds,
            rig,
        )?,
    ];
    let k6 = external::find("k6");
    if let Some(k6) = &k6 {
        let theirs = |address| k6::mix(k6, folder, address, seconds, rig);
        pairs.push(measure(
            "the same mix compared with k6, a user for each connection",
            "at most 0.10",
            ours,
            ("k6 run", &theirs),
            rounds,
            rig,
        )?);
    }
    Ok(Compat {
        connections: CONNECTIONS,
        seconds,
        pairs,
        missing: k6
            .is_none()
            .then(|| "k6 is not on the PATH (go install go.k6.io/k6@latest)".into()),
    })
}
