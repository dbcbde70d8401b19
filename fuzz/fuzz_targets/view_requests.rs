//! Requests to `prony view`: any path, query and header fields, of a notebook with a few runs. Every one is answered, never with
//! an error of the server, and only to who may come in.

#![no_main]

#[path = "../../crates/pages/tests/pages/sample/mod.rs"]
mod sample;

use hyper::{Method, Request, Uri};
use libfuzzer_sys::fuzz_target;
use prony_notebook::Notebook;
use prony_view::door::Door;
use prony_view::route::Routes;
use prony_view::shelf::Shelf;
use sample::{Plan, write};
use std::sync::Arc;
use tokio::runtime::Runtime;

struct View {
    runtime: Runtime,
    routes: Routes,
    _folder: tempfile::TempDir,
}

impl View {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut notebook = Notebook::open(&folder.path().join("notebook.db")).expect("a notebook");
        for (seed, rate) in [(1, 90_000.0), (2, 80_000.0)] {
            let mut plan = Plan::of(&[("go-net-http", 1, rate), ("node", 2, 141_000.0)]);
            plan.samples = 200;
            plan.seed = seed;
            write(&mut notebook, &plan).expect("a run in it");
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let at = ([127, 0, 0, 1], 7766).into();
        let routes = {
            let _entered = runtime.enter();
            Routes::new(Arc::new(Shelf::new(notebook)), Arc::new(Door::new(at)))
        };
        Self {
            runtime,
            routes,
            _folder: folder,
        }
    }
}

thread_local! {
    static VIEW: View = View::new();
}

// The first line is the method's number and the address, the others are header fields.
fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|&byte| byte == b'\n');
    let Some((&how, address)) = lines.next().and_then(<[u8]>::split_first) else {
        return;
    };
    let Ok(uri) = Uri::try_from(address) else {
        return;
    };
    // Its answer does not end.
    if uri.path() == "/events" {
        return;
    }
    let method =
        [Method::GET, Method::HEAD, Method::POST, Method::OPTIONS][usize::from(how % 4)].clone();
    let mut request = Request::builder().method(&method).uri(uri);
    if how & 4 == 0 {
        request = request.header("host", "localhost");
    }
    for (name, value) in lines.filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        Some((&line[..colon], &line[colon + 1..]))
    }) {
        request = request.header(name, value);
    }
    let Ok(request) = request.body(()) else {
        return;
    };
    let mut hosts = request.headers().get_all("host").iter();
    let local = matches!((hosts.next(), hosts.next()), (Some(_), None));
    VIEW.with(|view| {
        let answer = view.runtime.block_on(view.routes.answer(&request));
        let status = answer.status();
        assert!(!status.is_server_error(), "{status}");
        let reads = method == Method::GET || method == Method::HEAD;
        assert!(
            !status.is_success() || (reads && local),
            "{method}, {status}"
        );
        assert!(answer.headers().contains_key("content-security-policy"));
    });
});
