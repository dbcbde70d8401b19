//! Names of functions, so that the same function of two builds has the same name.

/// Suffixes that compilers append to copies of a function.
const VARIANTS: [&str; 5] = [".constprop", ".isra", ".part", ".cold", ".llvm"];
/// Kinds that Node.js writes before the name of a function in its map; the tier follows them.
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
    framed(native(name))
}

/// The same of code that a program has generated while it ran.
pub(crate) fn generated(name: &str) -> String {
    let found = javascript(name).or_else(|| java(name));
    framed(&found.unwrap_or_else(|| name.to_owned()))
}

/// Makes a name fit for a frame of a folded stack.
fn framed(name: &str) -> String {
    // A folded stack has one line, whose frames are separated by semicolons.
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

fn native(name: &str) -> &str {
    let end = VARIANTS.iter().filter_map(|suffix| name.find(suffix)).min();
    let name = end.map_or(name, |end| &name[..end]);
    // Demanglers write `f() [clone .isra.0]`.
    let name = name.trim_end_matches(" [clone ");
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

/// `long app.Main.work(long)` is `app.Main.work`. The name of a class that was made while running has its address, which is
/// another one in every process.
fn java(name: &str) -> Option<String> {
    let (before, _parameters) = name.split_once('(')?;
    // `StubRoutines (1)` is no method.
    let method = before.rsplit(' ').next().filter(|name| !name.is_empty())?;
    Some(match method.split_once("/0x") {
        Some((class, rest)) => {
            let method = rest.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            format!("{class}{method}")
        }
        None => method.to_owned(),
    })
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
            ("json::encode(int) [clone .isra.0]", "json::encode(int)"),
            ("app::encode::h0123456789abcdef", "app::encode"),
            ("app::encode::hello", "app::encode::hello"),
            ("main.(*server).serve", "main.(*server).serve"),
            ("Lapp/Encoder;::encode", "Lapp/Encoder:::encode"),
        ] {
            assert_eq!(tidy(found), name, "{found}");
        }
    }

    #[test]
    fn generated_code_has_the_names_of_its_language() {
        for (found, name) in [
            ("JS:*handle /srv/new.js:3:17", "handle"),
            ("LazyCompile:~handle /srv/old.js:4:17", "handle"),
            ("JS:* file:///srv/new.js:3:17", "(anonymous) new.js:3"),
            ("long app.Main.work(long)", "app.Main.work"),
            (
                "void app.Main$$Lambda$14/0x0000000800c03000.run()",
                "app.Main$$Lambda$14.run",
            ),
            ("Interpreter", "Interpreter"),
            ("StubRoutines (1)", "StubRoutines (1)"),
            ("int Program::Main(string[]) [Tier1]", "Program::Main"),
        ] {
            assert_eq!(generated(found), name, "{found}");
        }
    }
}
