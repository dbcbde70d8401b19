//! `prony wrk`, `ab`, `weighttp` and `httperf`, and the same through links of these names.

use crate::place::on_signal;
use prony_faces::{Stage, ab, httperf, weighttp, wrk};
use prony_lab::trial::Interrupt;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Another tool, whose command line prony speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Wrk,
    Ab,
    Weighttp,
    Httperf,
}

impl Face {
    fn named(name: &OsStr) -> Option<Self> {
        Some(match name.to_str()? {
            "wrk" => Self::Wrk,
            "ab" => Self::Ab,
            "weighttp" => Self::Weighttp,
            "httperf" => Self::Httperf,
            _ => return None,
        })
    }

    /// The face that a whole command line asks for, and its arguments: by the name under which the
    /// program was started, or by the first word. What follows is the face's own and is not looked
    /// at here, not even a `--`.
    pub fn asked_for(line: &[OsString]) -> Option<(Self, &[OsString])> {
        let (program, rest) = line.split_first()?;
        if let Some(face) = Path::new(program).file_name().and_then(Self::named) {
            return Some((face, rest));
        }
        let (word, rest) = rest.split_first()?;
        Some((Self::named(word)?, rest))
    }

    /// Does what the tool would do with these arguments, and ends with its exit status.
    pub fn main(self, arguments: &[OsString]) -> ExitCode {
        let interrupt = Arc::new(Interrupt::default());
        if let Err(report) = on_signal(&interrupt) {
            eprintln!("{report:?}");
            return ExitCode::from(1);
        }
        let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
        let mut stage = Stage {
            out: &mut out,
            err: &mut err,
            guard: &|load| interrupt.guard(load),
        };
        let main = match self {
            Self::Wrk => wrk::main,
            Self::Ab => ab::main,
            Self::Weighttp => weighttp::main,
            Self::Httperf => httperf::main,
        };
        ExitCode::from(main(arguments.to_vec(), &mut stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Option<(Face, Vec<String>)> {
        let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (face, rest) = Face::asked_for(&line)?;
        let words = rest.iter().map(|word| word.to_str().unwrap().to_owned());
        Some((face, words.collect()))
    }

    #[test]
    fn a_face_is_asked_for_by_a_word_or_by_the_name_of_a_link() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (line, expected) in [
            ("prony wrk -t1 -- u", Some((Face::Wrk, words("-t1 -- u")))),
            ("/opt/bin/wrk ab u", Some((Face::Wrk, words("ab u")))),
            ("./ab", Some((Face::Ab, vec![]))),
            ("prony httperf -h", Some((Face::Httperf, words("-h")))),
            ("weighttp --help", Some((Face::Weighttp, words("--help")))),
            ("prony load wrk", None),
            ("prony", None),
            ("/opt/wrk/prony run", None),
            ("/opt/bin/wrk2 u", None),
        ] {
            assert_eq!(asked(line), expected, "{line}");
        }
    }
}
