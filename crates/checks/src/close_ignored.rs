//! `close-ignored`: the server does not close connections that it is asked to close.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::CloseIgnored,
    cause: "The requests of a load without keep-alive said 'Connection: close', and the server kept its connections open after the responses (RFC 9112, 9.6 says that it must close them). prony closes them itself, so every request had a connection of its own. A client that waits for the server would hang, and one that goes on as long as it can would measure kept connections: in a published benchmark, 27 frameworks became 130 to 165 times as fast in that way.",
    evidence: "After the load, one more such request: its response came, and then nothing for 2 s, not even the end of the connection.",
    remedy: "Do not compare figures without keep-alive from clients that leave closing to the server. In the server, close connections after a response to 'Connection: close'.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if !seen.close_ignored {
        return None;
    }
    let text = "the server keeps connections open whose requests say 'Connection: close'; prony closed them: other \
                clients may have measured kept connections";
    finding(CheckId::CloseIgnored, Severity::Warning, text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_warning() {
        assert_eq!(check(&Evidence::clean()), None);
        let found = check(&Evidence {
            close_ignored: true,
            ..Evidence::clean()
        });
        assert_eq!(found.unwrap().severity, Severity::Warning);
    }
}
