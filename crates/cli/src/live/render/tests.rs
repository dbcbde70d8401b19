use super::*;
use prony_record::{CheckId, Phase};
use std::time::Duration;

const PLAIN: TerminalStyle = TerminalStyle {
    unicode: true,
    colour: false,
};

/// A load of 12 windows, 4 s after its begin, with 6 s to go.
fn sample() -> (Frame, Instant, Instant) {
    let begun = Instant::now();
    let now = begun + Duration::from_secs(4);
    let mut frame = Frame {
        title: "load http://127.0.0.1:8000/ · 64 connections".into(),
        end: End::At(now + Duration::from_secs(6)),
        ..Frame::default()
    };
    for i in 1..=12_u32 {
        frame.load.add(Window {
            phase: Phase::Measure,
            verified_answers: 6_750 * u64::from(i),
            timeouts: u64::from(i == 7),
            p50_ns: Some(710_000),
            p99_ns: Some(1_200_000 * u64::from(1 + i % 4)),
            generator_cpu_ns: Some(784_000_000),
            ..Window::empty(i, 0, 1_000_000_000)
        });
    }
    (frame, begun, now)
}

fn lines(
    frame: &Frame,
    (begun, now): (Instant, Instant),
    width: usize,
    look: TerminalStyle,
) -> Vec<String> {
    let lines = render(frame, begun, now, width, look);
    for line in &lines {
        assert!(measure_text_width(line) < width, "{width}: {line:?}");
    }
    lines
}

#[test]
fn a_load_at_eighty_columns() {
    let (frame, begun, now) = sample();
    assert_eq!(
        lines(&frame, (begun, now), 80, PLAIN),
        [
            "load http://127.0.0.1:8000/ · 64 connections                    0:04, 0:06 left",
            "  rate       81.0k req/s                 ▁▂▂▃▄▄▅▆▆▇██",
            "  response   p50 710 µs     p99 1.20 ms  ▄▆█▂▄▆█▂▄▆█▂",
            "  outcomes   ok 526,500  time-outs 1",
            "  CPU        generator 78%",
        ]
    );
}

#[test]
fn a_load_at_forty_columns() {
    let (frame, begun, now) = sample();
    assert_eq!(
        lines(&frame, (begun, now), 40, PLAIN),
        [
            "load http://127.0.0.1…  0:04, 0:06 left",
            "  rate       81.0k req/s",
            "  response   p50 710 µs     p99 1.20 ms",
            "  outcomes   ok 526,500  time-outs 1",
            "  CPU        generator 78%",
        ]
    );
}

#[test]
fn a_run_at_a_hundred_and_twenty_columns() {
    let (mut frame, begun, now) = sample();
    frame.title = "run quickstart · Echo servers".into();
    frame.parts = Some((5, 24));
    frame.doing = "round 2 of 5, node@2 under c64: load".into();
    frame.load.server = Some(0.99);
    frame.load.part = LoadPhase::WarmUp;
    frame.known = vec![
        ("node@2".into(), "81.2k req/s  p99 1.20 ms".into()),
        ("go-net-http".into(), "64.0k req/s  p99 2.10 ms".into()),
    ];
    frame.checks = vec![(CheckId::ServerIdle, "node@2: it used 60% of its CPU".into())];
    frame.interrupted = true;
    assert_eq!(
        lines(&frame, (begun, now), 120, PLAIN),
        [
            "run quickstart · Echo servers                                                                           0:04, 0:06 left",
            "  ━━━━──────────────── 5 of 24",
            "  now        round 2 of 5, node@2 under c64: load",
            "  rate       81.0k req/s                 ▁▂▂▃▄▄▅▆▆▇██  warming up",
            "  response   p50 710 µs     p99 1.20 ms  ▄▆█▂▄▆█▂▄▆█▂",
            "  outcomes   ok 526,500  time-outs 1",
            "  CPU        generator 78%  server 99%",
            "  node@2       81.2k req/s  p99 1.20 ms",
            "  go-net-http  64.0k req/s  p99 2.10 ms",
            "  ! server-idle: node@2: it used 60% of its CPU",
            "interrupted: finishing; results so far are kept (Ctrl-C again to quit at once)",
        ]
    );
}

#[test]
fn without_unicode_there_is_nothing_but_ascii() {
    let (mut frame, begun, now) = sample();
    frame.parts = Some((5, 24));
    frame.known = vec![("größer".into(), "1.03×".into())];
    let look = TerminalStyle {
        unicode: false,
        colour: false,
    };
    let lines = lines(&frame, (begun, now), 80, look);
    assert!(lines.iter().all(|line| line.is_ascii()), "{lines:#?}");
    assert_eq!(lines[1], "  ====---------------- 5 of 24");
    assert_eq!(
        lines[3],
        "  response   p50 710 us     p99 1.20 ms  -=#.-=#.-=#."
    );
    assert_eq!(lines[6], "  gr??er  1.03x");
}

#[test]
fn colours_do_not_change_what_is_shown() {
    let (mut frame, begun, now) = sample();
    frame.parts = Some((5, 24));
    frame.checks = vec![(CheckId::Errors, "b".into())];
    for width in [2, 13, 25, 40, 80] {
        let plain = lines(&frame, (begun, now), width, PLAIN);
        let look = TerminalStyle {
            colour: true,
            ..PLAIN
        };
        let coloured = lines(&frame, (begun, now), width, look);
        assert_eq!(
            coloured
                .iter()
                .map(|line| console::strip_ansi_codes(line).trim_end().to_owned())
                .collect::<Vec<_>>(),
            plain
        );
        if width == 80 {
            assert!(
                coloured[4].contains("\x1b[31mtime-outs 1\x1b[0m"),
                "{:?}",
                coloured[4]
            );
        }
    }
}

#[test]
fn nothing_from_outside_steers_the_terminal() {
    let (mut frame, begun, now) = sample();
    let evil = "a\x1b[2Jb\r\nc\u{9b}2J".to_owned();
    frame.title = evil.clone();
    frame.doing = evil.clone();
    frame.known = vec![(evil.clone(), evil.clone())];
    frame.checks = vec![(CheckId::Errors, evil)];
    for line in lines(&frame, (begun, now), 120, PLAIN) {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn wide_characters_take_two_columns() {
    let (mut frame, begun, now) = sample();
    frame.title = "読み込み".repeat(20);
    frame.known = vec![("読".into(), "x".into()), ("read".into(), "y".into())];
    let lines = lines(&frame, (begun, now), 40, PLAIN);
    assert!(lines[0].ends_with("0:04, 0:06 left"), "{}", lines[0]);
    assert_eq!(&lines[5..7], ["  読    x", "  read  y"]);
}

#[test]
fn times_as_a_clock_shows_them() {
    assert_eq!(span(0.0), "0:00");
    assert_eq!(span(61.9), "1:01");
    assert_eq!(span(3_725.0), "1:02:05");
}
