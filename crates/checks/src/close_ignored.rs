//! `close-ignored`: the server does not close connections that it is asked to close.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::CloseIgnored,
    cause: "The requests of a load without keep-alive said 'Connection: close', and the server did not close the connection after its response, as RFC 9112 (9.6) requires. prony's figures stand, since prony closes each connection itself. A client that waits for the server to close hangs; one that sends its next request on the open connection measures keep-alive instead. In a published benchmark, throughput of 27 frameworks rose 130 to 165 times that way.",
    evidence: "After the first load of each start, prony sends one more such request. The response comes, and the connection stays open for 2 s.",
    remedy: "Make the server close connections after a response to 'Connection: close'. Do not compare it by figures of clients that leave closing to the server.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if !seen.close_ignored {
        return None;
    }
    let text = "the server does not close connections after requests with 'Connection: close'; prony closed them itself, \
                but other clients may have measured keep-alive";
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
