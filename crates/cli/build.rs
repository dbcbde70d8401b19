//! Tells the program which commit it was built from, and lets what it loads see its symbols.

use std::process::Command;

fn main() {
    // Lua modules written in C look up Lua's functions in the program that loads them. Only these:
    // whatever is exported must be linked, whether it is used or not.
    if std::env::var_os("CARGO_FEATURE_LUA").is_some() {
        for functions in ["lua_*", "luaL_*"] {
            println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={functions}");
        }
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    // Outside a checkout (a package from a registry) there is no commit to tell.
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    println!("cargo:rustc-env=PRONY_COMMIT={commit}");
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={head}");
    }
}
