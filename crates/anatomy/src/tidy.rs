//! Names of functions, so that the same function of two builds has the same name.

/// What compilers append to copies of a function.
const VARIANTS: [&str; 5] = [".constprop", ".isra", ".part", ".cold", ".llvm"];
/// What Node.js writes before the name of a function in its map: the kind, then the tier.
const JAVASCRIPT: [&str; 7] = [
    "JS:",
    "LazyCompile:",
    "Function:",
    "Eval:",
    "Script:",
    "Handler:",
    "RegExp:",
];

/// The name without what differs between builds of the same source: compilers' suffixes of copies, hashes, and the
/// file and the tier of a JavaScript function.
pub(crate) fn tidy(name: &str) -> String {
    let name = javascript(name).unwrap_or_else(|| native(name).to_owned());
    // A folded stack has one line, whose frames are separated by semicolons.
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

fn native(name: &str) -> &str {
    let end = VARIANTS.iter().filter_map(|suffix| name.find(suffix)).min();
    let name = end.map_or(name, |end| &name[..end]);
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => name,
    }
}

/// `JS:*handle /srv/new.js:3:17` is `handle`; a function without a name has its file and line.
fn javascript(name: &str) -> Option<String> {
    let rest = JAVASCRIPT.iter().find_map(|kind| name.strip_prefix(kind))?;
    let rest = rest.trim_start_matches(['*', '~', '^', '+', '\'']);
    let (function, place) = rest.split_once(' ').unwrap_or((rest, ""));
    if !function.is_empty() {
        return Some(function.to_owned());
    }
    let file = place.rsplit('/').next().unwrap_or(place);
    let line = file.rsplit_once(':').map_or(file, |(line, _column)| line);
    Some(format!("(anonymous) {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_builds_of_a_function_have_one_name() {
        for (found, name) in [
            ("json_encode", "json_encode"),
            ("json_encode.constprop.0", "json_encode"),
            ("json_encode.part.3.cold", "json_encode"),
            ("app::encode::h0123456789abcdef", "app::encode"),
            ("app::encode::hello", "app::encode::hello"),
            ("JS:*handle /srv/new.js:3:17", "handle"),
            ("LazyCompile:~handle /srv/old.js:4:17", "handle"),
            ("JS:* file:///srv/new.js:3:17", "(anonymous) new.js:3"),
            ("main.(*server).serve", "main.(*server).serve"),
            ("Lapp/Encoder;::encode", "Lapp/Encoder:::encode"),
        ] {
            assert_eq!(tidy(found), name, "{found}");
        }
    }
}
