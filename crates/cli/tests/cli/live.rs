//! The live view, in a real terminal; and that there is none elsewhere.

use crate::support::{PRONY, Place, Served, project};
use crate::terminal::Terminal;

/// Words that a load shows in a live view, and not in its result.
const ALIVE: [&str; 4] = ["  rate  ", "  response  ", "generator ", " left"];

// Slow: a load of 2 s.
#[test]
fn a_load_is_shown_while_it_runs_and_leaves_its_result() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    let mut command = place.command(&["load", "-d", "2s", "-c", "4", &url]);
    let mut terminal = Terminal::start(&mut command, 100);
    let text = terminal.shows(&ALIVE);
    assert!(text.starts_with("load http://127.0.0.1"), "{text}");
    assert!(text.contains("· 4 connections"), "{text}");
    let done = terminal.end().with(0);
    // Nothing is left of the live view: what is there begins as the result does.
    let first = done.stdout.lines().next().unwrap();
    assert!(first.contains(" from "), "{done}");
    for word in [ALIVE[0], ALIVE[3]] {
        assert!(!done.stdout.contains(word), "{word}: {done}");
    }
}

#[test]
fn without_a_live_view_there_are_lines_and_no_escapes() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    // Words of the report may have colours.
    let arguments = ["load", "-d", "1s", "-c", "2", "--color", "never", &url];
    for (more, term, lines) in [
        (&["--plain"][..], "xterm", true),
        (&[], "dumb", true),
        (&["--quiet"], "xterm", false),
    ] {
        let mut command = place.command(&[&arguments[..], more].concat());
        let mut terminal = Terminal::start(command.env("TERM", term), 100);
        let done = terminal.end().with(0);
        let raw = terminal.raw();
        assert!(!raw.contains('\x1b'), "{more:?} {term}: {raw:?}");
        let said = raw.lines().next().unwrap().contains("  p99 ");
        assert_eq!(said, lines, "{more:?} {term}: {done}");
    }
    let both = place.refused(&["load", "--plain", "--quiet", &url]);
    assert!(both.stderr.contains("--quiet"), "{both}");
}

// Slow: 2 loads of 1 s.
#[test]
fn a_terminal_without_colours_or_unicode_gets_none() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    for (name, value, colours) in [("NO_COLOR", "1", false), ("LANG", "C", true)] {
        let mut command = place.command(&["load", "-d", "1s", "-c", "2", "--json", &url]);
        let mut terminal = Terminal::start(command.env(name, value), 100);
        terminal.end().with(0);
        let raw = terminal.raw();
        assert!(raw.contains("\x1b["), "{name}: no live view: {raw:?}");
        // Dim labels.
        assert_eq!(raw.contains("\x1b[2m"), colours, "{name}: {raw:?}");
        assert_eq!(raw.is_ascii(), name == "LANG", "{name}: {raw:?}");
    }
}

#[test]
fn an_interrupted_load_leaves_its_result_and_a_clean_terminal() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    let mut command = place.command(&["load", "-d", "600s", "-c", "2", &url]);
    let mut terminal = Terminal::start(&mut command, 100);
    terminal.shows(&ALIVE);
    terminal.signal(libc::SIGINT);
    let done = terminal.end().with(0);
    assert!(
        done.stdout
            .contains("interrupted: these are the figures until then"),
        "{done}"
    );
    assert!(!done.stdout.contains(ALIVE[3]), "{done}");
}

#[test]
fn a_terminal_may_become_narrower() {
    let server = Served::start(&["http-echo"]);
    let place = Place::new();
    let url = server.http("/");
    let mut command = place.command(&["load", "-d", "600s", "-c", "2", &url]);
    let mut terminal = Terminal::start(&mut command, 100);
    terminal.shows(&ALIVE);
    terminal.resize(40);
    let text = terminal.shows(&["load http://127.0.0", "…"]);
    assert_eq!(text.matches("  rate  ").count(), 1, "{text}");
    assert_eq!(text.matches("load http").count(), 1, "{text}");
    terminal.signal(libc::SIGTERM);
    terminal.end().with(0);
}

// Slow: 4 trials of 0.8 s on fresh starts, and 2 that fail.
#[test]
fn a_run_shows_its_trials_and_what_is_known() {
    let place = Place::with_references();
    place.echo_server("gone", "sh -c 'exit 3'", "");
    let file = place.experiment(
        "two",
        "title = 'Two'\ncontract = 'tcp-echo'\nservers = ['quick', 'gone', 'plain']\nrounds = 2\n\
         [load]\nconnections = 2\nduration = '800ms'\nwarmup = '0s'\n",
    );
    let mut terminal = Terminal::start(&mut place.command(&["run", &file, "--no-html"]), 120);
    // Two rounds of three servers, of which one cannot be started.
    let text = terminal.shows(&[
        "run two · Two",
        " of 6",
        "in 1 trial, p99",
        "server ",
        "round ",
    ]);
    assert!(text.contains("━") || text.contains("─"), "{text}");
    let done = terminal.end().with(1);
    // What was said of the failure stays above the result.
    let failure = done
        .stdout
        .find("gone: waiting for an answer: it ended")
        .unwrap();
    assert!(failure < done.stdout.find("quick").unwrap(), "{done}");
    assert!(!done.stdout.contains(" of 6"), "{done}");
}

#[test]
#[ignore = "scripts/campaign commands: loads for long"]
fn a_duel_shows_its_estimates() {
    let place = Place::with_references();
    let arguments = [
        "duel",
        "quick",
        "plain",
        "--contract",
        "tcp-echo",
        "--rounds",
        "3",
        "-d",
        "200ms",
        "--warmup",
        "100ms",
        "-c",
        "2",
    ];
    let mut terminal = Terminal::start(&mut place.command(&arguments), 120);
    terminal.shows(&[
        "duel quick against plain",
        " of 3",
        "plain requests/s",
        "round 2: ",
    ]);
    let done = terminal.end().with(0);
    // A row of the live view. (Its lines of rounds are not told from a note on "round 2:" so easily.)
    assert!(!done.stdout.contains("plain requests/s"), "{done}");
    assert!(done.stdout.contains("verdict"), "{done}");
}

// Slow: a pilot, and a trial of 3 s, since the limit is 300 ms.
#[test]
fn a_capacity_keeps_the_rates_it_has_tried() {
    let place = Place::new();
    let server = format!("{PRONY} serve http-echo --listen :{{port}} --busy 2ms");
    let arguments = [
        "capacity", &server, "--path", "/", "--p90", "300ms", "-d", "300ms", "-c", "16",
    ];
    let mut terminal = Terminal::start(&mut place.command(&arguments), 100);
    // Kept or not kept, as busy as the machine is.
    terminal.shows(&["capacity ", "trying ", "/s: ", "kept"]);
    terminal.signal(libc::SIGINT);
    let done = terminal.end().with(1);
    assert!(
        done.stdout.contains("/s: ") && done.stdout.contains("kept"),
        "{done}"
    );
    assert!(!done.stdout.contains("trying "), "{done}");
}

// Slow: two thorough verifications; that of tcp-echo sends 16 MiB or more to a slow reader.
#[test]
fn a_check_of_servers_takes_its_line_away() {
    let place = Place::with_references();
    let mut terminal = Terminal::start(&mut place.command(&["servers", "check", "quick"]), 100);
    let done = terminal.end().with(0);
    assert!(done.stdout.contains("quick"), "{done}");
}

#[test]
fn the_page_about_it_shows_what_there_is() {
    let page = std::fs::read_to_string(project().join("docs/live.md")).unwrap();
    for word in ["--plain", "NO_COLOR", "TERM=dumb"] {
        assert!(page.contains(word), "{word}");
    }
}

// Slow: 4 trials on fresh starts, and 9 further processes of prony.
#[test]
fn reports_fit_the_terminal() {
    let place = Place::with_references();
    let file = place.experiment(
        "pair",
        r#"
            title = "Two"
            contract = "tcp-echo"
            servers = ["quick", "plain"]
            rounds = 2
            load = { connections = 2, requests = 500, warmup = "0s" }
        "#,
    );
    place.prony(&["run", &file, "--no-html", "--quiet"]).with(0);
    for columns in [80, 40] {
        for arguments in [
            &["report"][..],
            &["runs"],
            &["servers", "list"],
            &["diff", "latest", "latest"],
        ] {
            let mut terminal = Terminal::start(&mut place.command(arguments), columns);
            let text = terminal.end().with(0).stdout;
            let raw = terminal.raw();
            for line in raw.lines() {
                let width = console::measure_text_width(line);
                assert!(width <= usize::from(columns), "{columns}: {line}\n{raw}");
            }
            assert!(text.contains("quick") || text.contains("latest"), "{text}");
        }
    }
    let runs = place.prony(&["runs"]).with(0).stdout;
    assert!(
        runs.contains("plain and quick: inconclusive") || runs.contains("requests/s"),
        "what came of it: {runs}"
    );
}
