//! Tests of the pages' content.

use crate::sample::{begin, write};
use crate::support::{Answer, Scene, on, plan};
use prony_notebook::{RunId, TrialId};
use prony_pages::material::Material;
use prony_pages::{chart, export, page};
use prony_record::anatomy::{Dissection, Dissections, Spent};
use prony_record::verdict::Verdict;
use prony_report::diff::DiffReport;

/// Markup that no page may contain unescaped.
const EVIL: &str = "</script><script>evil()</script><img src=x onerror=\"evil()\">";

fn material(scene: &Scene, run: i64) -> Material {
    let notebook = scene.notebook();
    let run = notebook.run(RunId(run)).unwrap();
    Material::read(&notebook, &run).unwrap()
}

#[track_caller]
fn no_markup(answer: &Answer) {
    for sign in ["<script>", "<img", "onerror=\""] {
        assert!(!answer.body.contains(sign), "{sign} in {}", answer.body);
    }
}

#[test]
fn the_list_has_the_latest_first_with_its_state() {
    let scene = Scene::new(|notebook| {
        write(notebook, &plan()).unwrap();
        let mut failing = plan();
        failing.title = "Another".into();
        failing.name = "second".into();
        failing.failed = Some(("gone".into(), "no such program".into(), String::new()));
        failing.check = Some("somebody else was busy".into());
        write(notebook, &failing).unwrap();
        begin(notebook, &plan()).unwrap();
    });
    let list = scene.get("/").with(200);
    let at = |text: &str| {
        list.body
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {}", list.body))
    };
    assert!(at("id=\"run-3\"") < at("id=\"run-2\"") && at("id=\"run-2\"") < at("id=\"run-1\""));
    // This process has begun the third and is alive.
    list.has("under way").has("finished").has("7 (1 failed)");
    list.has("noisy-host ×3")
        .has("it, other@2")
        .has("no trials");
    // By text: of a title, and of a server; by experiment.
    for (query, shown, hidden) in [
        ("q=anoth", 2, 1),
        ("q=GONE", 2, 1),
        ("name=second", 2, 3),
        ("name=sample", 1, 2),
        ("q=sample&name=sample", 3, 2),
        ("before=2", 1, 2),
    ] {
        let list = scene.get(&format!("/?{query}")).with(200);
        list.has(&format!("id=\"run-{shown}\""));
        assert!(
            !list.body.contains(&format!("id=\"run-{hidden}\"")),
            "{query}"
        );
    }
    // LIKE's signs are letters like others.
    scene.get("/?q=%25").with(200).has("No run is like that");
    scene.get("/?q=_").with(200).has("No run is like that");
    scene.get("/?before=x").with(404);
}

#[test]
fn a_list_is_a_page_long() {
    let scene = Scene::new(|notebook| {
        let plan = plan();
        for _ in 0..52 {
            begin(notebook, &plan).unwrap();
        }
    });
    let list = scene.get("/").with(200);
    assert_eq!(list.body.matches("<tr id=\"run-").count(), 50);
    list.has("href=\"/?before=3\"").has("id=\"run-3\"");
    let rest = scene.get("/?before=3").with(200);
    assert_eq!(rest.body.matches("<tr id=\"run-").count(), 2);
    assert!(!rest.body.contains("Older runs"));
}

#[test]
fn no_runs_and_no_such_runs_are_told() {
    let scene = Scene::new(|_| {});
    scene
        .get("/")
        .with(200)
        .has("There are no runs yet")
        .has("prony run quickstart");
    scene
        .get("/histories")
        .with(200)
        .has("No server has been measured in two runs");
    for path in [
        "/run/1",
        "/run/1/report",
        "/run/1/export/csv",
        "/compare?run=1&run=2",
    ] {
        scene.get(path).with(404).has("The notebook has no run 1.");
    }
    scene.get("/history/1").with(404).has("no trial 1");
}

#[test]
fn what_is_no_address_is_not_found() {
    let scene = Scene::new(|notebook| {
        write(notebook, &plan()).unwrap();
    });
    for path in [
        "/nothing",
        "/run",
        "/run/",
        "/run/x",
        "/run/-1",
        "/run/+1",
        "/run/1.0",
        "/run/99999999999999999999",
        "/run/../run/1",
        "/run/%2e%2e/run/1",
        "/run/..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/../../etc/passwd",
        "/run/1%00",
        "/run/1/export/../report",
        "/run/1/export/%2e%2e",
        "/run/1/export/exe",
        "/run/1/export/hgrm?cell=9",
        "/run/1/export/svg?chart=../../x",
        "/history/1?value=nothing",
        "//run/1",
        "/run/1/",
        "/style.css/",
        "/notebook.db",
    ] {
        let answer = scene.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        assert!(!answer.body.contains("root:"), "{path}");
    }
}

#[test]
fn a_report_is_the_one_of_the_command_and_is_made_once() {
    let scene = Scene::new(|notebook| {
        write(notebook, &plan()).unwrap();
    });
    let report = scene.get("/run/1/report").with(200);
    assert_eq!(report.body, page::html(&material(&scene, 1)).unwrap());
    let tag = report.header("etag").unwrap().to_owned();
    let ask = || {
        scene.ask(
            "GET",
            "/run/1/report",
            &[("host", "localhost"), ("if-none-match", &tag)],
        )
    };
    assert_eq!(ask().with(304).body, "");
    // Another run does not change it; a further weighing of the rig would.
    write(&mut scene.notebook(), &on(1, 1e4)).unwrap();
    ask().with(304);
    let mut calibration = plan();
    calibration.name = "calibrate".into();
    begin(&scene.notebook(), &calibration).unwrap();
    assert_ne!(ask().header("etag"), Some(&*tag));
}

#[test]
fn every_format_is_to_be_had() {
    let scene = Scene::new(|notebook| {
        write(notebook, &plan()).unwrap();
    });
    let material = material(&scene, 1);
    for (format, ending, text) in [
        ("json", "json", export::json(&material).unwrap()),
        ("csv", "csv", export::csv(&material)),
        ("markdown", "md", export::markdown(&material)),
        ("hlog", "hlog", export::hlog(&material).unwrap()),
        ("benchstat", "txt", export::benchstat(&material)),
        ("openmetrics", "om", export::openmetrics(&material)),
        ("hgrm?cell=1", "hgrm", export::hgrm(&material.times[1])),
        (
            "svg?chart=throughput-c64",
            "svg",
            chart::chart(&material, "throughput-c64").unwrap().file(),
        ),
    ] {
        let file = scene.get(&format!("/run/1/export/{format}")).with(200);
        assert_eq!(file.body, text, "{format}");
        let name = format!("attachment; filename=\"prony-run-1.{ending}\"");
        assert_eq!(file.header("content-disposition"), Some(&*name));
        assert!(
            file.header("content-security-policy")
                .unwrap()
                .contains("sandbox"),
            "{format}"
        );
    }
    // What takes one part says which there are.
    scene
        .get("/run/1/export/hgrm")
        .with(200)
        .has("/run/1/export/hgrm?cell=0");
    scene
        .get("/run/1/export/svg")
        .with(200)
        .has("/run/1/export/svg?chart=throughput-c64");
}

/// A request costs 100 µs and ten more for each of these samples in `json_encode`.
fn dissected(encode: u64) -> Dissections {
    let spent = Spent {
        requests: 1_000.0,
        cpu_ns: (100 + 10 * encode) * 1_000_000,
    };
    let round = Dissection {
        requests: 1_000,
        sampled: spent,
        plain: spent,
        samples: 10 + encode,
        period_ns: 10_000_000,
        stacks: [("main;serve", 10), ("main;serve;json_encode", encode)]
            .map(|(stack, samples)| (stack.to_owned(), samples))
            .into(),
        ..Dissection::default()
    };
    Dissections {
        names: vec!["it".into()],
        rate: 1_000.0,
        rounds: vec![vec![round]; 4],
        ..Dissections::default()
    }
}

#[test]
fn two_runs_are_compared_as_the_command_does() {
    let scene = Scene::new(|notebook| {
        for (day, rate, encode) in [(1, 50_000.0, 10), (2, 40_000.0, 30)] {
            let run = write(notebook, &on(day, rate)).unwrap();
            notebook.set_anatomy(run, &dissected(encode)).unwrap();
        }
    });
    let notebook = scene.notebook();
    let [before, after] = [1, 2].map(|id| notebook.run(RunId(id)).unwrap());
    let report = DiffReport::new(&notebook, &before, &after, 0.01).unwrap();
    let cell = &report.cells[0];
    assert_eq!(cell.throughput_verdict, Verdict::Slower);
    // Whichever is chosen first, the later is held against the earlier.
    for query in ["run=1&run=2", "run=2&run=1", "run=1&run=2&run=2"] {
        let page = scene.get(&format!("/compare?{query}")).with(200);
        page.has("Run 2 against run 1")
            .has(&format!("Slower: it ({:.3}×)", cell.throughput.value()));
        page.has("it in run 2 costs").has("in `json_encode`");
        page.has(&format!(
            "<td class=\"n\">{:.3}×</td>",
            cell.throughput.value()
        ));
        let (low, high) = (
            cell.throughput.low().unwrap(),
            cell.throughput.high().unwrap(),
        );
        page.has(&format!("<td>{low:.3} to {high:.3}</td>"))
            .has("id=\"compared-throughput\"");
    }
    for query in ["", "run=1", "run=1&run=1", "run=1&run=2&run=3"] {
        scene
            .get(&format!("/compare?{query}"))
            .with(400)
            .has("choose two");
    }
    scene.get("/compare?run=1&run=x").with(404);
}

#[test]
fn a_cell_has_a_history_over_all_runs() {
    let days: Vec<u32> = (1..=20).collect();
    let scene = Scene::new(|notebook| {
        for &day in &days {
            let rate = if day < 12 { 50_000.0 } else { 46_000.0 };
            write(notebook, &on(day, rate)).unwrap();
        }
        // Another experiment is another history.
        let mut other = on(25, 90_000.0);
        other.name = "another".into();
        write(notebook, &other).unwrap();
    });
    let all = scene.get("/histories").with(200);
    all.has("Slower since run 12 (it 1.2.3, 2026-03-12): 0.9")
        .has("href=\"/history/1\"");
    // Any trial of it names it.
    for trial in [1, 2, 60] {
        let page = scene.get(&format!("/history/{trial}")).with(200);
        page.has("Slower since run 12 (it 1.2.3, 2026-03-12): 0.9")
            .has("/compare?run=11&amp;run=12");
        assert_eq!(page.body.matches("aria-label=\"run ").count(), 20);
    }
    let page = scene.get("/history/1?value=p99").with(200);
    page.has("Longer since run 12")
        .has("aria-current=\"page\">p99");
    scene
        .get("/history/1?value=cpu")
        .with(200)
        .has("CPU time per request");
    let few = scene.get("/history/61").with(200);
    few.has("One run is too few to tell a change from chance.");
}

#[test]
fn hostile_names_are_text_everywhere() {
    let hostile = || {
        let mut hostile = plan();
        hostile.servers[0].0 = EVIL.into();
        hostile.title = EVIL.into();
        hostile.name = EVIL.into();
        hostile.loads[0].0 = EVIL.into();
        hostile.failed = Some((EVIL.into(), EVIL.into(), EVIL.into()));
        hostile.check = Some(EVIL.into());
        hostile
    };
    let scene = Scene::new(|notebook| {
        write(notebook, &hostile()).unwrap();
        write(notebook, &hostile()).unwrap();
    });
    let text = "&lt;script&gt;evil()&lt;/script&gt;";
    for path in [
        "/",
        "/?name=%3Cscript%3E&q=%3Cscript%3E",
        "/run/1",
        "/compare?run=1&run=2",
        "/histories",
        "/history/1",
        "/run/1/export/hgrm",
        "/run/1/export/svg",
    ] {
        let page = scene.get(path).with(200);
        no_markup(&page);
        page.has("&lt;script&gt;");
        if !path.contains('?') {
            page.has(text);
        }
    }
    no_markup(&scene.get("/run/1/export/svg?chart=%3Cscript%3E").with(404));
    // Files too: their names are made of numbers.
    let file = scene.get("/run/1/export/csv").with(200);
    assert_eq!(
        file.header("content-disposition"),
        Some("attachment; filename=\"prony-run-1.csv\"")
    );
}

#[test]
fn a_notebook_that_breaks_is_told_of() {
    let scene = Scene::new(|notebook| {
        write(notebook, &plan()).unwrap();
    });
    let trial: TrialId = scene.notebook().latest_trials(RunId(1), 1).unwrap()[0].id;
    assert_eq!(trial, TrialId(6));
    // A run that goes away while it is looked at.
    rusqlite::Connection::open(scene.path())
        .unwrap()
        .execute_batch("PRAGMA foreign_keys = ON; DELETE FROM run WHERE id = 1")
        .unwrap();
    scene.get("/run/1/report").with(404).has("no run 1");
    scene.get("/history/6").with(404);
    scene.get("/").with(200).has("There are no runs yet");
}

#[test]
fn a_text_that_is_too_long_to_look_for_is_a_wrong_question() {
    let scene = Scene::new(|_| {});
    let long = "x".repeat(60_000);
    scene
        .get(&format!("/?q={long}"))
        .with(400)
        .has("at most 1000 bytes");
    scene.get(&format!("/?name={long}")).with(400);
}
