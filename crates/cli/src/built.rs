//! Parts that a build of this program can leave out (docs/dev/dependencies.md), and which one has.

use std::sync::LazyLock;

/// Version that `prony --version` prints after the name: agents must have the same.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PRONY_COMMIT"), ")");

/// The features of this package, and whether this build has them.
const PARTS: [(&str, bool); 5] = [
    ("audit", cfg!(feature = "audit")),
    ("lua", cfg!(feature = "lua")),
    ("proto", cfg!(feature = "proto")),
    ("symbols", cfg!(feature = "symbols")),
    ("view", cfg!(feature = "view")),
];

/// The version, and what this build leaves out, if anything.
static SAID: LazyLock<String> = LazyLock::new(|| match left_out().as_slice() {
    [] => VERSION.to_owned(),
    parts => format!("{VERSION}\nbuilt without {}", parts.join(", ")),
});

/// For `prony --version`.
pub fn version() -> &'static str {
    &SAID
}

fn left_out() -> Vec<&'static str> {
    let absent = PARTS.iter().filter(|(_, has)| !has);
    absent.map(|(part, _)| *part).collect()
}

/// Does this build leave a part out?
pub fn lacks(part: &str) -> bool {
    left_out().contains(&part)
}

/// The answer to those who ask for a part that this build leaves out.
///
/// Only of the parts that are this package's own: the others are those of other crates, which say it themselves.
#[cfg(not(all(feature = "audit", feature = "view")))]
pub fn absent(part: &str, does: &str) -> miette::Report {
    miette::miette!(
        help = format!("build it with: cargo install --path crates/cli --features {part}"),
        "this prony was built without `{part}`, which {does}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_a_feature_that_is_on_by_default_and_is_explained() {
        let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
        let features = manifest["features"].as_table().unwrap();
        let default = features["default"].as_array().unwrap();
        let default: Vec<&str> = default.iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(PARTS.map(|(part, _)| part), *default);
        assert_eq!(features.len(), 1 + PARTS.len());
        let page = include_str!("../../../docs/dev/dependencies.md");
        for (part, _) in PARTS {
            assert!(page.contains(&format!("\n| {part} | ")), "{part}");
        }
    }
}
