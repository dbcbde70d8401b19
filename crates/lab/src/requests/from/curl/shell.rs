//! Command lines as shells read them: words, and where commands end.

use std::iter::Peekable;
use std::str::Chars;

/// A command of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ShellCommand {
    /// The line of the text on which it begins, from 1.
    pub(super) number: usize,
    pub(super) words: Vec<Vec<u8>>,
    /// Standard input, where the text says so: `<<<`, `<<EOF`, or what is piped in.
    pub(super) input: Option<Input>,
    /// Values that only the shell knows, such as `$TOKEN`; they stand in the words as they are.
    pub(super) unknown: Vec<String>,
}

/// Where standard input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    Text(Vec<u8>),
    File(String),
}

/// Shell whose quotes a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shell {
    /// sh, bash, zsh.
    Posix,
    /// cmd.exe.
    Cmd,
    /// `PowerShell`.
    Power,
}

impl Shell {
    /// Told by how lines are continued and quotes are escaped.
    pub(super) fn of(text: &str) -> Self {
        let ends = |mark: &str| {
            let mut lines = text.lines().map(str::trim_end);
            lines.any(|line| line.ends_with(mark))
        };
        if ends(" ^") || text.contains("^\"") {
            Self::Cmd
        } else if ends(" `") {
            Self::Power
        } else {
            Self::Posix
        }
    }
}

/// The commands of a text, in its order.
///
/// # Errors
/// A quote that has no end.
pub(super) fn lines(text: &str) -> Result<Vec<ShellCommand>, String> {
    let text = text.replace("\r\n", "\n");
    let shell = Shell::of(&text);
    let text = match shell {
        Shell::Cmd => without_carets(&text),
        _ => text,
    };
    let lexer = Lexer {
        rest: text.chars().peekable(),
        shell,
        number: 1,
        all: Vec::new(),
        line: ShellCommand::default(),
        word: None,
        redirected: None,
        documents: Vec::new(),
    };
    lexer.run()
}

/// The text that cmd.exe passes on: a caret makes the next character an ordinary one, and joins lines. Quotes that it does not see
/// because of a caret are told by the program (see [`Lexer::cmd_quoted`]).
fn without_carets(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = rest.next() {
        match c {
            '^' if !quoted => match rest.next() {
                // The line goes on; of two line ends the second is meant.
                Some('\n') => out.extend(rest.next_if_eq(&'\n').map(|_| LINE_FEED)),
                None => {}
                Some(other) => out.push(other),
            },
            '"' => {
                quoted = !quoted;
                out.push(c);
            }
            '\n' => {
                quoted = false;
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// A line feed that is text, and does not end a command of cmd.exe.
const LINE_FEED: char = '\u{e000}';

struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    shell: Shell,
    number: usize,
    all: Vec<ShellCommand>,
    line: ShellCommand,
    /// The word that is being read.
    word: Option<Vec<u8>>,
    /// The next word is a file that output goes to, or input comes from.
    redirected: Option<Redirected>,
    /// Here-documents whose text begins after this line: their end, and whether they are for the line before.
    documents: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Redirected {
    Output,
    Input,
    Text,
    Document,
}

impl Lexer<'_> {
    fn run(mut self) -> Result<Vec<ShellCommand>, String> {
        while let Some(c) = self.next() {
            match (self.shell, c) {
                (_, '\n') => self.end_of_line(),
                (_, ' ' | '\t') => self.end_of_word(),
                (Shell::Cmd, '"') => self.cmd_quoted()?,
                (Shell::Cmd, '\\') => self.cmd_backslashes()?,
                (Shell::Cmd, '&' | '|') => self.operator(c),
                (Shell::Cmd, c) => self.push(c),
                (Shell::Power, '`') => match self.next() {
                    Some('\n') => {}
                    Some(escape) => self.push(power_escape(escape)),
                    None => {}
                },
                (Shell::Posix, '\\') => match self.next() {
                    Some('\n') => {}
                    Some(other) => self.push(other),
                    None => self.push('\\'),
                },
                (_, '\'') => self.single()?,
                (_, '"') => self.double()?,
                (Shell::Posix, '$') if self.rest.peek() == Some(&'\'') => {
                    self.next();
                    self.ansi_c()?;
                }
                (Shell::Posix, '$') if self.rest.peek() == Some(&'"') => {
                    self.next();
                    self.double()?;
                }
                (Shell::Posix, '$') if self.begins_curl("(") => {
                    self.next();
                    self.command();
                }
                (Shell::Posix, '`') if self.begins_curl("") => self.command(),
                (Shell::Posix, '`') => self.command(),
                (_, '$') => self.variable(),
                (_, '#') if self.word.is_none() => {
                    while self.rest.peek().is_some_and(|&c| c != '\n') {
                        self.next();
                    }
                }
                (_, ';' | '|' | '&' | '(' | ')') => self.operator(c),
                (_, '<' | '>') => self.redirection(c),
                (_, c) => self.push(c),
            }
        }
        self.end_of_line();
        Ok(self.all)
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.number += usize::from(next == Some('\n'));
        next
    }

    fn push(&mut self, c: char) {
        let c = if c == LINE_FEED { '\n' } else { c };
        let word = self.word.get_or_insert_default();
        word.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Does a command substitution of curl begin here, after this?
    fn begins_curl(&self, after: &str) -> bool {
        let text: String = self.rest.clone().take(12).collect();
        let inner = text.strip_prefix(after);
        inner.is_some_and(|inner| inner.trim_start().starts_with("curl"))
    }

    /// A command within a word, whose own command is forgotten.
    fn command(&mut self) {
        self.word = None;
        self.end_of_command();
    }

    fn end_of_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        let text = || String::from_utf8_lossy(&word).into_owned();
        match self.redirected.take() {
            None => {
                if self.line.words.is_empty() {
                    self.line.number = self.number;
                }
                self.line.words.push(word);
            }
            Some(Redirected::Output) => {}
            Some(Redirected::Input) => self.line.input = Some(Input::File(text())),
            Some(Redirected::Text) => {
                self.line.input = Some(Input::Text([&word[..], b"\n"].concat()));
            }
            Some(Redirected::Document) => self.documents.push(text()),
        }
    }

    fn end_of_command(&mut self) {
        self.end_of_word();
        self.redirected = None;
        let line = std::mem::take(&mut self.line);
        if !line.words.is_empty() {
            self.all.push(line);
        }
    }

    /// Here-documents follow the line that names them.
    fn end_of_line(&mut self) {
        self.end_of_word();
        for end in std::mem::take(&mut self.documents) {
            let mut text = String::new();
            loop {
                let mut line = String::new();
                let mut more = false;
                while let Some(c) = self.next() {
                    more = true;
                    if c == '\n' {
                        break;
                    }
                    line.push(c);
                }
                if !more || line.trim_start_matches('\t') == end {
                    break;
                }
                text += &line;
                text.push('\n');
            }
            self.line.input = Some(Input::Text(text.into_bytes()));
        }
        self.end_of_command();
    }

    fn operator(&mut self, c: char) {
        // `2>&1` and `&>` are redirections.
        if c == '&' && self.rest.peek() == Some(&'>') {
            return self.end_of_word();
        }
        let pipes = c == '|' && self.rest.peek() != Some(&'|');
        self.end_of_command();
        if pipes {
            let piped = self.all.last().and_then(printed);
            self.line.input = piped;
        }
    }

    fn redirection(&mut self, c: char) {
        // A number in front of it is a descriptor.
        if let Some(word) = &self.word
            && word.iter().all(u8::is_ascii_digit)
        {
            self.word = None;
        }
        self.end_of_word();
        let mut count = 1;
        while self.rest.next_if_eq(&c).is_some() {
            count += 1;
        }
        if self.rest.next_if_eq(&'&').is_some() {
            // A descriptor, not a file.
            while self
                .rest
                .next_if(|c| c.is_ascii_digit() || *c == '-')
                .is_some()
            {}
            return;
        }
        self.rest.next_if(|next| matches!(next, '-' | '|'));
        self.redirected = Some(match (c, count) {
            ('>', _) => Redirected::Output,
            (_, 1) => Redirected::Input,
            (_, 2) => Redirected::Document,
            _ => Redirected::Text,
        });
    }

    fn single(&mut self) -> Result<(), String> {
        let from = self.number;
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                // PowerShell doubles what is meant.
                '\'' if self.shell == Shell::Power && self.rest.next_if_eq(&'\'').is_some() => {
                    self.push('\'');
                }
                '\'' => return Ok(()),
                c => self.push(c),
            }
        }
        Err(format!("line {from}: a quote that has no end"))
    }

    fn double(&mut self) -> Result<(), String> {
        let from = self.number;
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match (self.shell, c) {
                (Shell::Power, '"') if self.rest.next_if_eq(&'"').is_some() => self.push('"'),
                (_, '"') => return Ok(()),
                (Shell::Power, '`') => match self.next() {
                    Some('\n') | None => {}
                    Some(escape) => self.push(power_escape(escape)),
                },
                (Shell::Posix, '\\') => match self.next() {
                    Some('\n') => {}
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => self.push(escaped),
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                    None => break,
                },
                (_, '$') => self.variable(),
                (_, c) => self.push(c),
            }
        }
        Err(format!("line {from}: a quote that has no end"))
    }

    /// A value that only the shell knows is left as it stands, and noted.
    fn variable(&mut self) {
        self.push('$');
        let mut name = String::from("$");
        let close = match self.rest.peek() {
            Some('{') => Some('}'),
            Some('(') => Some(')'),
            _ => None,
        };
        if let Some(close) = close {
            while let Some(c) = self.next() {
                name.push(c);
                self.push(c);
                if c == close {
                    break;
                }
            }
        } else {
            let fits = |c: &char| c.is_alphanumeric() || *c == '_';
            while let Some(c) = self.rest.next_if(fits) {
                name.push(c);
                self.push(c);
            }
        }
        if name.len() > 1 {
            self.line.unknown.push(name);
        }
    }

    /// Between `$'` and `'`.
    fn ansi_c(&mut self) -> Result<(), String> {
        let from = self.number;
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                '\'' => return Ok(()),
                '\\' => {
                    let Some(escape) = self.next() else { break };
                    self.ansi_escape(escape);
                }
                c => self.push(c),
            }
        }
        Err(format!("line {from}: a quote that has no end"))
    }

    fn ansi_escape(&mut self, escape: char) {
        let byte = |it: &mut Self, byte: u8| it.word.get_or_insert_default().push(byte);
        match escape {
            'a' => self.push('\u{7}'),
            'b' => self.push('\u{8}'),
            'e' | 'E' => self.push('\u{1b}'),
            'f' => self.push('\u{c}'),
            'n' => self.push('\n'),
            'r' => self.push('\r'),
            't' => self.push('\t'),
            'v' => self.push('\u{b}'),
            'x' => match self.number(2, 16) {
                // A byte, which need not be a character.
                Some(value) => byte(self, value as u8),
                None => "\\x".chars().for_each(|c| self.push(c)),
            },
            'u' | 'U' => {
                let most = if escape == 'u' { 4 } else { 8 };
                if let Some(c) = self.number(most, 16).and_then(|code| self.character(code)) {
                    self.push(c);
                }
            }
            '0'..='7' => {
                let first = escape.to_digit(8).unwrap_or_default();
                let value = (0..2).fold(first, |value, _| {
                    let digit = self.rest.next_if(|c| c.is_digit(8));
                    digit.map_or(value, |digit| value * 8 + digit.to_digit(8).unwrap_or(0))
                });
                byte(self, value as u8);
            }
            other => self.push(other),
        }
    }

    /// Browsers write characters beyond U+FFFF as two halves.
    fn character(&mut self, code: u32) -> Option<char> {
        if !(0xd800..0xdc00).contains(&code) {
            return char::from_u32(code);
        }
        let mut after = self.rest.clone();
        if (after.next(), after.next()) != (Some('\\'), Some('u')) {
            return None;
        }
        self.rest = after;
        let low = self.number(4, 16)?.checked_sub(0xdc00)?;
        char::from_u32(0x10000 + ((code - 0xd800) << 10) + low)
    }

    fn number(&mut self, most: usize, radix: u32) -> Option<u32> {
        let mut digits = String::new();
        while digits.len() < most
            && let Some(digit) = self.rest.next_if(|c| c.is_digit(radix))
        {
            digits.push(digit);
        }
        u32::from_str_radix(&digits, radix).ok()
    }

    /// Quotes as programs of Windows take them apart: `\"` and `""` are a quote.
    fn cmd_quoted(&mut self) -> Result<(), String> {
        let from = self.number;
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                '"' if self.rest.next_if_eq(&'"').is_some() => self.push('"'),
                '"' => return Ok(()),
                '\\' => {
                    if self.backslashes() {
                        return Ok(());
                    }
                }
                c => self.push(c),
            }
        }
        Err(format!("line {from}: a quote that has no end"))
    }

    /// Backslashes outside quotes.
    fn cmd_backslashes(&mut self) -> Result<(), String> {
        match self.backslashes() {
            true => self.cmd_quoted(),
            false => Ok(()),
        }
    }

    /// Backslashes, of which one is read: before a quote two are one, and an odd one makes it an ordinary character. True: the
    /// quote after them opens or closes.
    fn backslashes(&mut self) -> bool {
        let mut count = 1;
        while self.rest.next_if_eq(&'\\').is_some() {
            count += 1;
        }
        if self.rest.peek() != Some(&'"') {
            (0..count).for_each(|_| self.push('\\'));
            return false;
        }
        (0..count / 2).for_each(|_| self.push('\\'));
        self.rest.next();
        if count % 2 == 1 {
            self.push('"');
        }
        count % 2 == 0
    }
}

fn power_escape(escape: char) -> char {
    match escape {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        other => other,
    }
}

/// The output of a command that another one reads, if it is known: of `echo`, `printf` and `cat`.
fn printed(line: &ShellCommand) -> Option<Input> {
    let words: Option<Vec<&str>> = line
        .words
        .iter()
        .map(|word| std::str::from_utf8(word).ok())
        .collect();
    match words?.as_slice() {
        ["echo", "-n", rest @ ..] => Some(Input::Text(rest.join(" ").into_bytes())),
        ["echo", rest @ ..] => Some(Input::Text(format!("{}\n", rest.join(" ")).into_bytes())),
        ["printf", "%s", text] => Some(Input::Text(text.as_bytes().to_vec())),
        ["printf", text] if !text.contains(['%', '\\']) => {
            Some(Input::Text(text.as_bytes().to_vec()))
        }
        ["cat", file] => Some(Input::File((*file).to_owned())),
        ["cat"] => line.input.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn words(text: &str) -> Vec<Vec<String>> {
        let text_of = |word: &Vec<u8>| String::from_utf8(word.clone()).unwrap();
        let all = lines(text).unwrap();
        all.iter()
            .map(|line| line.words.iter().map(text_of).collect())
            .collect()
    }

    #[test]
    fn quotes_hide_operators() {
        for (text, expected) in [
            (
                "curl -H 'Cookie: a=1;' h",
                vec!["curl", "-H", "Cookie: a=1;", "h"],
            ),
            ("curl -d \"&&\" h", vec!["curl", "-d", "&&", "h"]),
            ("curl -d a\\;b h", vec!["curl", "-d", "a;b", "h"]),
            (
                "curl -d '|' -d ';' h",
                vec!["curl", "-d", "|", "-d", ";", "h"],
            ),
            ("curl -d '' h", vec!["curl", "-d", "", "h"]),
            ("curl a#b # note", vec!["curl", "a#b"]),
            ("curl \"a\\\n b\"", vec!["curl", "a b"]),
            ("curl \\\n  h", vec!["curl", "h"]),
            ("curl -d \"a\\nb\" h", vec!["curl", "-d", "a\\nb", "h"]),
            ("curl h > out 2>&1", vec!["curl", "h"]),
            ("curl h 2>/dev/null", vec!["curl", "h"]),
            ("curl h >>out &>x", vec!["curl", "h"]),
            ("curl -o o2 h", vec!["curl", "-o", "o2", "h"]),
        ] {
            assert_eq!(words(text), [expected], "{text}");
        }
    }

    #[test]
    fn commands_end_where_the_shell_ends_them() {
        let text = "# two\ncurl a | jq .\ncurl b; curl \\\n c && echo x\nX=$(curl d)\n(curl e)&curl f||curl g";
        let all = words(text);
        let curls: Vec<&str> = all
            .iter()
            .filter(|line| line[0] == "curl")
            .map(|line| line[1].as_str())
            .collect();
        assert_eq!(curls, ["a", "b", "c", "d", "e", "f", "g"]);
        assert!(lines("curl 'h").is_err());
        assert_eq!(lines("\n\ncurl h").unwrap()[0].number, 3);
    }

    #[test]
    fn what_browsers_escape() {
        assert_eq!(
            words(r#"curl -d $'it\'s\u0021\n\x41\101\ud83d\ude00"x"' -H "a: \"b\"""#),
            [["curl", "-d", "it's!\nAA😀\"x\"", "-H", "a: \"b\""]]
        );
        let bytes = &lines(r"curl -d $'\xff\0'").unwrap()[0].words[2];
        assert_eq!(bytes, &[0xff, 0]);
    }

    #[test]
    fn lines_of_cmd() {
        let chrome = "curl ^\"http://h/a?b=c^&d=e^\" ^\n  -H ^\"x: ^\\^\"q^\\^\"^\" ^\n  --data-raw ^\"^{^\\^\"a^\\^\":1^}^\" &\ncurl ^\"http://h/b^\"";
        assert_eq!(
            words(chrome),
            [
                vec![
                    "curl",
                    "http://h/a?b=c&d=e",
                    "-H",
                    "x: \"q\"",
                    "--data-raw",
                    "{\"a\":1}"
                ],
                vec!["curl", "http://h/b"]
            ]
        );
        let older = "curl \"http://h/a?b=c&d=e\" ^\n  -H \"x: ^1\" --data \"a\\\\\\\"b\"\"c\"";
        assert_eq!(
            words(older),
            [[
                "curl",
                "http://h/a?b=c&d=e",
                "-H",
                "x: ^1",
                "--data",
                "a\\\"b\"c"
            ]]
        );
        let feed = "curl ^\"http://h/^\" ^\n --data-raw ^\"a^\n\nb^\"";
        assert_eq!(words(feed)[0][3], "a\nb");
    }

    #[test]
    fn lines_of_powershell() {
        let text = "curl.exe 'http://h/it''s' `\n -d \"a`\"b\"\"c`n\" -H 'x: \\y'";
        assert_eq!(
            words(text),
            [[
                "curl.exe",
                "http://h/it's",
                "-d",
                "a\"b\"c\n",
                "-H",
                "x: \\y"
            ]]
        );
    }

    #[test]
    fn input_and_variables() {
        for (text, expected) in [
            ("curl -d @- h <<< 'a b'", Input::Text(b"a b\n".to_vec())),
            (
                "curl -d @- h <<'EOF'\na\nb\nEOF\n",
                Input::Text(b"a\nb\n".to_vec()),
            ),
            ("echo '{}' | curl -d @- h", Input::Text(b"{}\n".to_vec())),
            ("cat a.json | curl -d @- h", Input::File("a.json".into())),
            ("curl -d @- h < a.json", Input::File("a.json".into())),
        ] {
            let all = lines(text).unwrap();
            let curl = all.iter().find(|line| line.words[0] == b"curl").unwrap();
            assert_eq!(curl.input, Some(expected), "{text}");
            assert_eq!(curl.words.len(), 4, "{text}");
        }
        let all = lines("curl -H \"A: $TOKEN\" h/${ID}/$(date) '$x'").unwrap();
        assert_eq!(all[0].unknown, ["$TOKEN", "${ID}", "$(date)"]);
    }
}
