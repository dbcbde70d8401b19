//! The contract `grpc-echo`, and calls that users give: an honest server passes, and each cheat is caught by the step
//! meant for it.

#![cfg(feature = "proto")]

mod calls;
mod cheats;
mod reflection;
mod server;

use prony_lab::contract::GRPC_ECHO;
use std::path::Path;

/// The catalog's servers have the contract's file, each a copy of its own.
#[test]
fn servers_have_the_service_of_the_contract() {
    let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../servers");
    let folders = std::fs::read_dir(servers).expect("the catalog").flatten();
    let files: Vec<_> = folders
        .map(|entry| entry.path().join("echo.proto"))
        .filter(|file| file.is_file())
        .collect();
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a file");
        assert!(
            text == GRPC_ECHO,
            "{} differs from the contract",
            file.display()
        );
    }
}
