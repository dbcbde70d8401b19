//! Sentences and settings that say that everything ran on a desktop or a laptop.

use super::machine::is_denied;
use crate::read::lines::without_markup;

/// Does a line say that everything ran on one desktop or laptop: `Environment: Docker Desktop on macOS`,
/// `- **OS**: Windows 11 with WSL2`?
pub(in crate::read) fn is_of_a_desktop(line: &str) -> bool {
    const SETTINGS: [&str; 21] = [
        "cpu",
        "processor",
        "chip",
        "device",
        "computer",
        "system",
        "model name",
        "model",
        "test machine",
        "test hardware",
        "tested on",
        "benchmarked on",
        "entorno",
        "environment",
        "test environment",
        "benchmark environment",
        "platform",
        "host",
        "machine",
        "hardware",
        "os",
    ];
    let named = [
        "Apple Silicon",
        "macOS",
        "Desktop",
        "WSL",
        "MacBook",
        "Macbook",
        "macbook",
        "Apple M",
        "laptop",
        "Laptop",
    ];
    if !named.iter().any(|name| line.contains(name)) || line.len() > 400 {
        return false;
    }
    let plain = without_markup(line).to_lowercase();
    if ran_on_a_laptop(&plain) || is_a_setting(line, &plain) {
        return true;
    }
    let plain = plain.trim_start_matches(['|', ' ', '>']);
    let Some((name, value)) = plain.split_once([':', '|']) else {
        return false;
    };
    let name = name.trim_matches(|c: char| !c.is_alphanumeric());
    let own = ["docker desktop", "wsl"]
        .iter()
        .any(|word| value.contains(word));
    SETTINGS.contains(&name) && (own || is_a_laptop(value)) && !is_denied(value)
}

/// Is a line an item of a list that is nothing but such a computer: `- Apple Silicon M1 Pro chip`, `- macOS Sequoia 15.5`?
fn is_a_setting(line: &str, plain: &str) -> bool {
    let item = line.trim_start().starts_with(['-', '*', '•']) && line.len() < 60;
    let text = plain.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = ["apple silicon", "apple m", "macbook", "macos "];
    item && begins.iter().any(|name| text.starts_with(name)) && !text.contains([':', '(', '/'])
}

/// Does a text name a laptop or a desktop computer as the machine of the test, so that it ran both client and server?
fn is_a_laptop(text: &str) -> bool {
    let apple = text
        .split_once("apple m")
        .is_some_and(|(_, rest)| rest.starts_with(['1', '2', '3', '4', '5']));
    apple || text.contains("macbook") || text.contains("laptop")
}

/// Does a line say that what was measured ran on a laptop: `All benchmarks performed on MacBook Pro (13-inch)`? That the
/// client did says nothing of the server.
fn ran_on_a_laptop(lower: &str) -> bool {
    const RAN: [&str; 12] = [
        "ran ",
        "run ",
        "runs ",
        "running ",
        "executed",
        "performed",
        "tested",
        "measured",
        "benchmark",
        "result",
        "tests ",
        "numbers",
    ];
    const CLIENT: [&str; 9] = [
        "client",
        "generator",
        "attacker",
        "remote",
        "cloud",
        "ec2",
        "aws",
        "vps",
        "droplet",
    ];
    lower.split(". ").any(|sentence| {
        let (said, other) = (RAN.iter(), CLIENT.iter());
        let heads = sentence.starts_with("on ") && sentence.ends_with(':');
        if !heads && !{ said }.any(|word| sentence.contains(word))
            || { other }.any(|word| sentence.contains(word))
            || is_denied(sentence)
        {
            return false;
        }
        let places = sentence
            .match_indices("on ")
            .filter(|(at, _)| *at == 0 || sentence[..*at].ends_with([' ', '(']));
        { places }.any(|(at, on)| {
            let near: Vec<&str> = sentence[at + on.len()..]
                .split_whitespace()
                .take(NEAR)
                .collect();
            is_a_laptop(&near.join(" "))
        })
    })
}

/// A machine is named within so many words.
const NEAR: usize = 6;
