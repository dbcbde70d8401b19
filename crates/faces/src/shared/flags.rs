//! Flags as `getopt` takes them: `-c10`, `-c 10`, `-kq`, `--rate=5`, `--rate 5`.

use std::ffi::OsString;

/// The extra flag of every face, `--quiet`, taken out of the others wherever it stands.
pub(crate) fn take_quiet(args: Vec<OsString>) -> (Vec<OsString>, bool) {
    let before = args.len();
    let args: Vec<_> = args.into_iter().filter(|arg| arg != "--quiet").collect();
    let quiet = args.len() < before;
    (args, quiet)
}

/// The name among `names` that `given` abbreviates; an exact one abbreviates nothing else.
pub(crate) fn abbreviated<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    if let Some(exact) = names.iter().find(|name| **name == given) {
        return Some(exact);
    }
    let mut begin = names.iter().filter(|name| name.starts_with(given));
    match (begin.next(), begin.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_may_stand_anywhere() {
        let args = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            take_quiet(args(&["-n", "1", "--quiet", "x"])),
            (args(&["-n", "1", "x"]), true)
        );
        assert_eq!(take_quiet(args(&["x"])), (args(&["x"]), false));
    }

    #[test]
    fn long_names_may_be_cut_while_they_are_unique() {
        let names = ["num-calls", "num-conns", "rate", "timeout", "time"];
        assert_eq!(abbreviated("num-co", &names), Some("num-conns"));
        assert_eq!(abbreviated("num", &names), None);
        assert_eq!(abbreviated("time", &names), Some("time"));
        assert_eq!(abbreviated("nothing", &names), None);
    }
}
