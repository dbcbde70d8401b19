//! Files of the folder.

use super::*;

const FILE: (&str, &str) = ("GET", "/static/");

/// The same request without Accept-Encoding.
fn plain(request: &Request) -> Request {
    let mut request = request.clone();
    request.fields.remove("accept-encoding");
    request
}

#[test]
fn files_that_are_built_in() {
    let said = ("static", "bytes, at ");
    let other = Site::new();
    caught(&ALL, said, FILE, move |_, request| other.honest(request));
}

#[test]
fn a_file_without_its_end() {
    let said = ("static", " bytes, at ");
    caught(&ALL, said, FILE, |site, request| {
        let mut answer = site.honest(&plain(request));
        answer.body.pop();
        answer
    });
}

#[test]
fn the_same_file_for_all_names() {
    // Files are random: the first bytes of two may be equal.
    let said = ("static", "bytes, at ");
    caught(&ALL, said, FILE, |site, request| {
        let body = site.files["app.js"].clone();
        Answer {
            body,
            ..site.honest(&plain(request))
        }
    });
}

#[test]
fn bytes_without_a_media_type() {
    let said = ("static", "expected Content-Type: ");
    caught(&ALL, said, FILE, |site, request| {
        site.honest(request)
            .field("Content-Type", "application/octet-stream")
    });
}

#[test]
fn an_error_with_the_right_bytes() {
    let said = ("static", "expected status 200");
    caught(&ALL, said, FILE, |site, request| {
        site.honest(request).status(206)
    });
}

#[test]
fn compressed_files_for_all() {
    let said = ("static", "accepted (without Accept-Encoding)");
    caught(&ALL, said, FILE, |site, request| {
        site.honest(&plain(request)).gzip(6)
    });
}

#[test]
fn brotli_in_name_alone() {
    let said = ("static", "expected a body in br");
    caught(&ALL, said, FILE, |site, request| {
        let answer = site.honest(&plain(request));
        match request.field("accept-encoding").contains("br") {
            true => answer.field("Content-Encoding", "br"),
            false => answer,
        }
    });
}

#[test]
fn gzip_that_makes_nothing_smaller() {
    let said = ("static", "expected fewer bytes in gzip than ");
    caught(&FULL, said, FILE, |site, request| {
        let answer = site.honest(&plain(request));
        match request.field("accept-encoding").contains("gzip") {
            true => answer.gzip(0),
            false => answer,
        }
    });
}

#[test]
fn gzip_for_whoever_accepts_another_coding() {
    let said = ("static-encoded", "accepted (br)");
    caught(&FULL, said, FILE, |site, request| {
        let answer = site.honest(&plain(request));
        match request.field("accept-encoding").is_empty() {
            true => answer,
            false => answer.gzip(6),
        }
    });
}

#[test]
fn a_compressed_file_that_is_kept_for_all() {
    let kept: Mutex<HashMap<String, Answer>> = Mutex::default();
    let said = ("static", "Content-Encoding: gzip");
    let site = Arc::new(Site::new());
    let addr = start(&site, move |site, request| {
        if !request.is(FILE.0, FILE.1) {
            return site.honest(request);
        }
        let mut kept = kept.lock().unwrap();
        let make = || site.honest(&plain(request)).gzip(6);
        match request.field("accept-encoding").contains("gzip") {
            true => kept
                .entry(request.target.clone())
                .or_insert_with(make)
                .clone(),
            false => {
                let found = kept.get(&request.target).cloned();
                found.unwrap_or_else(|| site.honest(request))
            }
        }
    });
    // The first verification leaves the files in the cache.
    let _ = inspect(&site, addr, Depth::Full);
    caught_at(&FULL, said, &site, addr);
}

#[test]
fn a_page_for_files_that_do_not_exist() {
    let said = ("static-outside", "expected status 404; found 200");
    caught(&FULL, said, FILE, |site, request| {
        match site.honest(request) {
            answer if answer.status == 404 => Answer::new("text/html", "<p>home"),
            answer => answer,
        }
    });
}

#[test]
fn a_folder_that_can_be_left() {
    let said = ("static-outside", "found its content");
    caught(&FULL, said, FILE, |site, request| {
        let target = request.path().replace("%2e", ".").replace("%2f", "/");
        match target.ends_with("../dataset.json") {
            true => Answer::json(&site.dataset),
            false => site.honest(request),
        }
    });
}

/// The connection ends instead of a length.
#[test]
fn a_file_without_a_length() {
    let site = Arc::new(Site::new());
    let own = Arc::clone(&site);
    let addr = serve(move |mut stream, _| {
        let mut from = BufReader::new(stream.try_clone().expect("a live socket"));
        while let Some(request) = Request::read(&mut from) {
            let answer = own.honest(&request);
            let mut bytes = answer.bytes();
            if request.is(FILE.0, FILE.1) {
                let length = format!("Content-Length: {}\r\n", answer.body.len());
                let at = bytes
                    .windows(length.len())
                    .position(|it| it == length.as_bytes());
                let at = at.expect("a length");
                bytes.drain(at..at + length.len());
                let _ = stream.write_all(&bytes);
                return;
            }
            if stream.write_all(&bytes).is_err() {
                return;
            }
        }
    });
    let said = ("static", "expected Content-Length or chunks");
    caught_at(&ALL, said, &site, addr);
}
