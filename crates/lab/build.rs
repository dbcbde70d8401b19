//! Rebuilds the crate when the catalog or the experiments that it embeds change.
fn main() {
    println!("cargo:rerun-if-changed=../../servers");
    println!("cargo:rerun-if-changed=../../experiments");
    println!("cargo:rerun-if-changed=../../published");
}
