//! Heads of answers.

use super::*;

#[test]
fn no_server_field() {
    let said = ("json", "expected a Server field; found none");
    caught_everywhere(&ALL, said, |_, answer| answer.field("Server", ""));
}

#[test]
fn no_date() {
    let said = ("json", "expected a Date field");
    caught_everywhere(&ALL, said, |_, answer| answer.field("Date", ""));
}

#[test]
fn a_date_of_long_ago() {
    let said = ("json", "expected a date within 3 s");
    let date = "Sat, 21 Nov 2020 10:09:54 GMT";
    caught_everywhere(&ALL, said, |_, answer| answer.field("Date", date));
}

#[test]
fn a_date_in_another_form() {
    let said = ("json", "found \"2026-11-21T10:09:54Z\"");
    let date = "2026-11-21T10:09:54Z";
    caught_everywhere(&ALL, said, |_, answer| answer.field("Date", date));
}

// Slow: waits 3 s.
#[test]
fn a_date_that_is_made_once() {
    // As late as a date may be, so that for 6 s it is not refused by itself; for a request of that step alone.
    let made: OnceLock<String> = OnceLock::new();
    let late = || {
        let time = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3);
        let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
        printer.timestamp_to_rfc9110_string(&time).expect("a date")
    };
    let said = (
        "date-advances",
        "a later Date of /cached-queries?count=1 after 3 s",
    );
    caught(
        &[Depth::Thorough],
        said,
        "/cached-queries",
        move |site, request| {
            let answer = site.honest(&request.target);
            match request.target.ends_with("count=1") {
                true => answer.field("Date", made.get_or_init(late)),
                false => answer,
            }
        },
    );
}

#[test]
fn a_body_until_the_end_of_the_connection() {
    let site = Arc::new(Site::new());
    let own = Arc::clone(&site);
    let addr = serve(move |mut stream, _| {
        let mut requests = Requests::new(stream.try_clone().expect("a live socket"));
        if let Some(request) = requests.next() {
            let answer = own.honest(&request.target);
            let _ = stream.write_all(format!("{}\r\n", answer.head()).as_bytes());
            let _ = stream.write_all(&answer.body);
        }
    });
    let said = "expected Content-Length or chunks; found neither";
    caught_at(&ALL, "json", said, &site, addr);
}
