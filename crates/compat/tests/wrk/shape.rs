//! Shape of an output, which remains without its numbers: keys, units and columns.

/// Lines with every number replaced by its kind. Rows of one shape in a row count once: how many
/// a spectrum has depends on the values.
pub fn shape(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        // wrk2 throws its first ten seconds away, and says so.
        .filter(|line| !line.starts_with("  Thread calibration"))
        .map(line)
        .collect();
    lines.dedup();
    lines
}

fn line(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(word).collect();
    let indent = text.len() - text.trim_start().len();
    let shape = words.join(" ");
    let table = text.starts_with("    Latency") || text.starts_with("    Req/Sec");
    if table {
        // Fixed columns.
        format!("{indent}, {} wide: {shape}", text.len())
    } else if text.trim_start().starts_with(|c: char| c.is_ascii_digit()) {
        // Numbers are aligned on the right.
        shape
    } else {
        format!("{indent}: {shape}")
    }
}

fn word(text: &str) -> String {
    let number = text.trim_end_matches([',', ']']);
    let end = &text[number.len()..];
    let digits = if number.starts_with("-nan") {
        4
    } else if number == "inf" {
        3
    } else {
        let digit = |c: &char| c.is_ascii_digit() || *c == '.';
        number.chars().take_while(digit).count()
    };
    let (digits, unit) = number.split_at(digits);
    let kind = match unit {
        _ if digits.is_empty() => return text.to_owned(),
        "" | "k" | "M" | "G" | "T" | "P" => "<number>",
        "us" | "ms" | "s" | "m" | "h" => "<time>",
        "%" => "<percent>",
        "B" | "KB" | "MB" | "GB" => "<bytes>",
        _ => return text.to_owned(),
    };
    format!("{kind}{end}")
}

/// The number before `unit` in the line that holds `key`; the first if there are several.
pub fn number(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains(key))?;
    let before = line.split(key).next()?.split_whitespace().last();
    let after = line.split(key).nth(1)?.split_whitespace().next();
    let digits = |word: &str| word.trim_end_matches(',').parse().ok();
    after.and_then(digits).or(before.and_then(digits))
}

#[test]
fn numbers_go_and_units_stay() {
    assert_eq!(
        shape("  2 requests in 1.10s, 22.26MB read\n"),
        ["<number> requests in <time>, <bytes> read"]
    );
    assert_eq!(
        shape("    Latency    62.15us  282.25us   3.94ms   97.51%"),
        ["4, 50 wide: Latency <time> <time> <time> <percent>"]
    );
    assert_eq!(shape(" 1.0 2\n 3.0 inf\n"), ["<number> <number>"]);
    let errors = "  Socket errors: connect 0, read 12, write 3, timeout 4";
    assert_eq!(number(errors, ", read "), Some(12));
    assert_eq!(
        number("  170407 requests in 1.10s", " requests in"),
        Some(170_407)
    );
}
