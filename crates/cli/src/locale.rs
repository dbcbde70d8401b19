//! Characters that the user's locale can show.

/// May reports have characters beyond ASCII? Not where the locale says that they cannot be shown. Where nothing is said,
/// as in most containers, what reads them is seldom a terminal and takes UTF-8.
pub fn shows_unicode() -> bool {
    of_environment().is_none_or(|locale| is_utf8(&locale))
}

/// Is what is written to the terminal taken for UTF-8, for certain?
pub fn terminal_is_utf8() -> bool {
    of_environment().is_some_and(|locale| is_utf8(&locale))
}

fn of_environment() -> Option<String> {
    locale(|name| std::env::var(name).ok())
}

/// Name of the locale, chosen as in the C library: the first of these variables that is set and not empty.
fn locale(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set)
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// With nothing that a terminal without UTF-8 would show as something else, and as wide as before.
pub fn ascii(text: &str) -> String {
    let plain = |c: char| match c {
        'µ' => 'u',
        '×' => 'x',
        '–' | '—' | '─' | '−' => '-',
        '━' => '=',
        '·' => '|',
        '≤' => '<',
        '≥' | '→' => '>',
        '±' | '…' | '≈' => '~',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '\u{202f}' => ',',
        '\u{a0}' => ' ',
        other if other.is_ascii() => other,
        _ => '?',
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_what_can_be_shown() {
        let of = |pairs: &[(&str, &str)]| {
            locale(|name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let utf8 = |pairs: &[(&str, &str)]| of(pairs).is_some_and(|locale| is_utf8(&locale));
        assert!(utf8(&[("LANG", "de_DE.UTF-8")]) && utf8(&[("LC_CTYPE", "C.utf8")]));
        assert!(!utf8(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!utf8(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]));
        assert!(utf8(&[("LC_ALL", ""), ("LANG", "C.UTF-8")]));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_table_stays_aligned() {
        assert_eq!(ascii("68.0 µs ±1.3%  1.01×"), "68.0 us ~1.3%  1.01x");
    }
}
