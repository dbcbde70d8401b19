use super::*;
use proptest::prelude::*;

/// The events of a text that comes in these pieces, and whether it said that it was over.
fn read(format: EventFormat, stream: &EventStream, pieces: &[&[u8]]) -> (u32, bool) {
    let mut reader = EventReader::new(format);
    let (mut events, mut over) = (0, false);
    for piece in pieces {
        reader.read(piece, stream);
        reader.chunk(stream);
        let news = reader.news(stream);
        events += news.events;
        over |= news.over;
    }
    reader.end(stream);
    events += reader.news(stream).events;
    assert_eq!(events, reader.events());
    (events, over)
}

fn done() -> EventStream {
    EventStream {
        end: Some(b"[DONE]".to_vec()),
        ..EventStream::default()
    }
}

#[test]
fn events_that_a_server_sends() {
    let sse = |text: &str| read(EventFormat::Sse, &done(), &[text.as_bytes()]);
    for (text, events, over) in [
        ("data: a\n\ndata: b\n\n", 2, false),
        ("data: a\r\n\r\ndata: b\r\n\r\n", 2, false),
        ("data: a\r\rdata: b\r\r", 2, false),
        ("data: a\r\n\ndata: b\n\r\n", 2, false),
        // Several lines are one event; comments and other fields are none.
        (
            "data: a\ndata: b\n\n: ping\n\nevent: x\nid: 1\n\n",
            1,
            false,
        ),
        ("event: x\ndata: a\nretry: 5\n\n\n\n\n", 1, false),
        // Names that only begin alike.
        ("dat: a\n\ndatas: a\n\ndata2\n\n", 0, false),
        // Without a value, and without a colon.
        ("data:\n\ndata\n\n", 2, false),
        ("\u{feff}data: a\n\n", 1, false),
        // Not ended.
        ("data: a\n\ndata: b\n", 1, false),
        ("data: a\n\ndata: [DONE]\n\n", 1, true),
        ("data:[DONE]\n\n", 0, true),
        ("data: [DONE]\n\ndata: late\n\n", 0, true),
        (
            "data: [DONE\n\ndata: [DONE]!\n\ndata: [DONE]\ndata:\n\n",
            3,
            false,
        ),
    ] {
        assert_eq!(sse(text), (events, over), "{text:?}");
    }
}

#[test]
fn lines_and_chunks() {
    let lines = |text: &str| read(EventFormat::Lines, &done(), &[text.as_bytes()]);
    assert_eq!(lines("{}\n{}\r\n\n  \n{}"), (3, false));
    assert_eq!(lines("{}\n[DONE]\r\n"), (1, true));
    assert_eq!(lines("[DONE]"), (0, false), "told with the end");
    let chunks = |pieces: &[&[u8]]| read(EventFormat::Chunks, &done(), pieces);
    assert_eq!(chunks(&[b"a", b"bc", b"[DONE]"]), (2, true));
}

#[test]
fn an_event_that_is_cut_is_seen() {
    let mut reader = EventReader::new(EventFormat::Sse);
    reader.read(b"data: a\n\n: ping\n", &done());
    assert!(!reader.is_within());
    reader.read(b"data: b", &done());
    assert!(reader.is_within());
}

#[test]
fn no_more_than_were_wanted() {
    let stream = EventStream {
        events: Some(2),
        ..EventStream::default()
    };
    let mut reader = EventReader::new(EventFormat::Lines);
    reader.read(b"1\n", &stream);
    let one = StreamNews {
        events: 1,
        ..StreamNews::default()
    };
    assert_eq!(reader.news(&stream), one);
    reader.read(b"2\n3\n4\n", &stream);
    let enough = StreamNews {
        enough: true,
        ..one
    };
    assert_eq!(reader.news(&stream), enough);
}

#[test]
fn formats_by_content_type() {
    for (kind, format) in [
        ("text/event-stream; charset=utf-8", EventFormat::Sse),
        ("Text/Event-Stream", EventFormat::Sse),
        ("application/x-ndjson", EventFormat::Lines),
        ("application/json", EventFormat::Chunks),
        ("", EventFormat::Chunks),
    ] {
        assert_eq!(EventFormat::of(kind.as_bytes()), format, "{kind}");
    }
}

/// The number of events by the words of the standard: lines first, then fields.
fn by_the_standard(text: &str) -> u32 {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut data) = (0, false);
    // What is after the last line end is no line.
    let whole = text.rfind('\n').map_or("", |at| &text[..at]);
    for line in whole.split('\n') {
        match line.split_once(':').map_or(line, |(name, _)| name) {
            "" if line.is_empty() => events += u32::from(std::mem::take(&mut data)),
            "data" => data = true,
            _ => {}
        }
    }
    events
}

proptest! {
    #[test]
    fn however_it_is_cut(
        text in "(data|dat|d|:|: |x|\\[DONE\\]|\r\n|\n|\r|\u{feff}){0,40}",
        cuts in proptest::collection::vec(0usize..200, 0..6),
    ) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|two| &bytes[two[0]..two[1]]).collect();
        for format in [EventFormat::Sse, EventFormat::Lines] {
            prop_assert_eq!(
                read(format, &done(), &pieces),
                read(format, &done(), &[bytes])
            );
        }
        let any = EventStream::default();
        let (events, _) = read(EventFormat::Sse, &any, &pieces);
        prop_assert_eq!(events, by_the_standard(&text));
    }
}
