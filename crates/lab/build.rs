//! Rebuilds the crate when the catalog or the experiments that it embeds change.
fn main() {
    println!("cargo:rerun-if-changed=shipped/servers");
    println!("cargo:rerun-if-changed=shipped/experiments");
    println!("cargo:rerun-if-changed=shipped/published");
}
