//! Outputs with something before each of their lines: the name of a file, where `grep` has cut them out
//! of several (`play-1.txt:Requests/sec:  8000.00`), or the marks of a list in Markdown.

use super::{Block, Found, ab, at, hey, wrk};
use crate::read::lines::{Lines, is_fence};

/// A file has no more lines than this in what `grep` prints.
const LINES: usize = 200;

pub(super) fn read(lines: &Lines<'_>, start: usize) -> Option<Found> {
    named(lines, start).or_else(|| listed(lines, start))
}

/// `- **Requests per second: 2605.86 [#/sec] (mean)**`: ab's lines as the items of a list.
fn listed(lines: &Lines<'_>, start: usize) -> Option<Found> {
    const MARKS: [char; 6] = ['-', '*', '#', '_', ' ', '\t'];
    let line = lines.get(start);
    let bare = |line: &str| line.trim_matches(MARKS).replace("**", "");
    line.starts_with(['-', '*', '#']).then_some(())?;
    let begins = |text: &str| {
        ["Server Hostname:", "Server Port:", "Concurrency Level:"]
            .iter()
            .chain(&["Time taken for tests:", "Complete requests:"])
            .any(|word| text.starts_with(word))
    };
    begins(&bare(line)).then_some(())?;
    let mut cut = String::new();
    for i in start..lines.len().min(start + LINES) {
        if is_fence(lines.get(i)) {
            break;
        }
        cut.push_str(&bare(lines.get(i)));
        cut.push('\n');
    }
    let part = Lines::part(&cut, start);
    // Its first line may be one that ab does not begin with.
    let from = (start..part.len().min(start + 8)).find_map(|i| ab::read(&part, i));
    from.filter(|found| !found.blocks.is_empty())
}

fn named(lines: &Lines<'_>, start: usize) -> Option<Found> {
    let (file, rest) = split(lines.get(start))?;
    let mut cut = String::with_capacity(rest.len() + 1);
    let mut next = start;
    while next < lines.len() && next < start + LINES {
        let line = lines.get(next);
        // Lines around what was found have a dash behind the name.
        let behind = line
            .strip_prefix(file)
            .and_then(|rest| rest.strip_prefix([':', '-']));
        let Some(rest) = behind.filter(|_| !is_fence(line)) else {
            break;
        };
        cut.push_str(without_number(rest));
        cut.push('\n');
        next += 1;
    }
    let part = Lines::part(&cut, start);
    let mut blocks: Vec<Block> = Vec::new();
    let mut i = start;
    while i < next {
        let found = ab::read(&part, i)
            .or_else(|| wrk::read(&part, i))
            .or_else(|| hey::read(&part, i));
        match found {
            Some(found) => {
                i = found.next.max(i + 1);
                blocks.extend(found.blocks);
            }
            None => i += 1,
        }
    }
    let name = stem(file);
    for block in &mut blocks {
        block.name = at(start, name.to_owned());
    }
    (!blocks.is_empty()).then_some(Found {
        blocks,
        next,
        suite: false,
    })
}

/// The name of a file, and what stands behind it. Only what ab and wrk print is looked for.
fn split(line: &str) -> Option<(&str, &str)> {
    const WORDS: [&str; 8] = [
        "Requests per second:",
        "Time per request:",
        "Time taken for tests:",
        "Complete requests:",
        "Failed requests:",
        "Requests/sec:",
        "Socket errors: connect ",
        "Concurrency Level:",
    ];
    let place = WORDS.iter().find_map(|word| line.find(word));
    let latency = || {
        let place = line.find("Latency ")?;
        let column = line[place..].split_whitespace().nth(3)?;
        crate::read::number::seconds(column).map(|_| place)
    };
    let requests = || {
        line.find(" requests in ")
            .filter(|_| line.ends_with(" read"))
    };
    let place = place.or_else(latency).or_else(requests)?;
    let (file, _) = line[..place].split_once(':')?;
    // Names have no spaces, but something that no word of a sentence has.
    let named = file.contains(['.', '/', '_', '-']) && !file.contains(char::is_whitespace);
    (named && file.len() > 1).then(|| (file, &line[file.len() + 1..]))
}

/// `12:Requests/sec: …`, as `grep -n` prints it.
fn without_number(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    match rest.strip_prefix([':', '-']) {
        Some(rest) if digits > 0 => rest,
        _ => line,
    }
}

/// The name of a file without its folders and its ending.
fn stem(file: &str) -> &str {
    let base = file.rsplit('/').next().unwrap_or(file);
    match base.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.len() <= 4 => stem,
        _ => base,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tool;

    #[test]
    fn a_line_of_each_file() {
        let text = "$ grep -H 'Requests per' *.txt\nnode.txt:Requests per second:    2605.86 [#/sec] (mean)\n\
            out/thin_app.log:Requests per second:    1605.86 [#/sec] (mean)\n";
        let document = crate::read("page.md", text);
        let seen: Vec<_> = document
            .outputs
            .iter()
            .map(|output| {
                let block = &output.block;
                let rate = block.rate.unwrap();
                (
                    block.tool,
                    block.name.clone().unwrap().what,
                    rate.what.value,
                    rate.line,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (Tool::Ab, "node".to_owned(), 2605.86, 2),
                (Tool::Ab, "thin_app".to_owned(), 1605.86, 3)
            ]
        );
        assert_eq!(document.unread, []);
    }

    #[test]
    fn several_lines_of_each_file() {
        let text = "a.txt:12:    Latency     2.00ms  300.00us   3.90ms   90.00%\n\
            a.txt:18:  960000 requests in 30.00s, 150.00MB read\na.txt:19:Requests/sec:  32000.00\n\
            b.txt-11-  4 threads and 64 connections\nb.txt:12:    Latency    66.00ms  300.00us   1.90s   90.00%\n\
            b.txt:18:  960000 requests in 30.00s, 150.00MB read\nb.txt:19:Requests/sec:  42000.00\n";
        let document = crate::read("page.md", text);
        let [a, b] = document.outputs.as_slice() else {
            panic!("{document:?}");
        };
        assert_eq!((a.block.first, a.block.last), (1, 3));
        assert_eq!(b.block.latency.mean.unwrap().line, 5);
        let audit = crate::audit(&[("page.md".into(), text.into())]);
        let wrong = audit
            .remarks
            .iter()
            .find(|r| r.finding.name == "ratio-disagrees");
        assert_eq!(wrong.unwrap().lines, [6, 7], "{audit:?}");
    }

    #[test]
    fn a_list_in_markdown() {
        let text = "## GET\n\n- Server Hostname: 127.0.0.1\n- Server Port: 3000\n- **Concurrency Level: 10**\n\
            - **Time taken for tests: 10.313 seconds**\n- **Complete requests: 76**\n- Failed requests: 0\n\
            - **Requests per second: 7.37 [#/sec] (mean)**\n\n### Percentage of the requests served within a certain time (ms)\n\n\
            - 50% 1181\n- 99% 1898\n- 100% 1898 (longest request)\n\n## POST\n\n- Concurrency Level: 10\n\
            - Time taken for tests: 20.0 seconds\n- Complete requests: 4000\n- Requests per second: 200.00 [#/sec] (mean)\n";
        let document = crate::read("page.md", text);
        let [get, post] = document.outputs.as_slice() else {
            panic!("{document:?}");
        };
        assert_eq!((get.block.requests.unwrap().what, get.block.last), (76, 15));
        assert_eq!(get.block.latency.max.unwrap().line, 15);
        assert_eq!(post.place.headings.last().unwrap().0, "POST");
    }

    #[test]
    fn sentences_are_no_files() {
        for text in [
            "It says: Requests per second: 100 [#/sec]\n",
            "see http://x.org/a: 12 requests in total, all read\n",
        ] {
            assert_eq!(crate::read("page.md", text).outputs, [], "{text}");
        }
    }
}
