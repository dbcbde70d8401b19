//! `prony wrk`, `ab`, `weighttp`, `httperf` and `h2load`, and the same through links of these names.

use crate::place::on_signal_saying;
use prony_compat::{Console, ab, h2load, httperf, weighttp, wrk};
use prony_lab::interrupt::Interrupt;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Another tool, whose command line prony speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Wrk,
    Wrk2,
    Ab,
    Weighttp,
    Httperf,
    H2load,
}

impl Tool {
    fn named(name: &OsStr) -> Option<Self> {
        Some(match name.to_str()? {
            "wrk" => Self::Wrk,
            "wrk2" => Self::Wrk2,
            "ab" => Self::Ab,
            "weighttp" => Self::Weighttp,
            "httperf" => Self::Httperf,
            "h2load" => Self::H2load,
            _ => return None,
        })
    }

    /// The tool that a whole command line asks for, and its arguments: by the name under which the
    /// program was started, or by the first word. What follows is the tool's own and is not looked
    /// at here, not even a `--`.
    pub fn asked_for(line: &[OsString]) -> Option<(Self, &[OsString])> {
        let (program, rest) = line.split_first()?;
        if let Some(tool) = Path::new(program).file_name().and_then(Self::named) {
            return Some((tool, rest));
        }
        let (word, rest) = rest.split_first()?;
        Some((Self::named(word)?, rest))
    }

    /// Does what the tool would do with these arguments, and ends with its exit status.
    pub fn main(self, arguments: &[OsString]) -> ExitCode {
        let interrupt = Arc::new(Interrupt::default());
        let quiet = arguments.iter().any(|argument| argument == "--quiet");
        let who = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => "",
            // Behind the `^C` of the terminal.
            (false, true) => "\nprony: interrupted: ",
            (false, false) => "prony: interrupted: ",
        };
        if let Err(report) = on_signal_saying(&interrupt, who) {
            eprintln!("{report:?}");
            return ExitCode::from(1);
        }
        // The originals catch Ctrl-C at most: of a TERM they end without a word.
        // SAFETY: `signal` changes nothing but what these signals do.
        unsafe {
            libc::signal(libc::SIGTERM, libc::SIG_DFL);
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
        }
        let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
        let mut console = Console {
            out: &mut out,
            err: &mut err,
            guard: &|load| interrupt.guard(load),
        };
        let main = match self {
            Self::Wrk => wrk::main,
            Self::Wrk2 => wrk::main_wrk2,
            Self::Ab => ab::main,
            Self::Weighttp => weighttp::main,
            Self::Httperf => httperf::main,
            Self::H2load => h2load::main,
        };
        let status = main(arguments.to_vec(), &mut console);
        // ab alone does not call a run that was broken off a success.
        let broken_off = self == Self::Ab && status == 0 && interrupt.fired();
        ExitCode::from(if broken_off { 1 } else { status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Option<(Tool, Vec<String>)> {
        let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (tool, rest) = Tool::asked_for(&line)?;
        let words = rest.iter().map(|word| word.to_str().unwrap().to_owned());
        Some((tool, words.collect()))
    }

    #[test]
    fn a_tool_is_asked_for_by_a_word_or_by_the_name_of_a_link() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (line, expected) in [
            ("prony wrk -t1 -- u", Some((Tool::Wrk, words("-t1 -- u")))),
            ("/opt/bin/wrk ab u", Some((Tool::Wrk, words("ab u")))),
            ("./ab", Some((Tool::Ab, vec![]))),
            ("prony httperf -h", Some((Tool::Httperf, words("-h")))),
            ("prony h2load -n1 u", Some((Tool::H2load, words("-n1 u")))),
            ("weighttp --help", Some((Tool::Weighttp, words("--help")))),
            ("prony load wrk", None),
            ("prony", None),
            ("/opt/wrk/prony run", None),
            ("/opt/bin/wrk2 u", Some((Tool::Wrk2, words("u")))),
            ("/opt/bin/wrk3 u", None),
        ] {
            assert_eq!(asked(line), expected, "{line}");
        }
    }
}
