//! Bodies of forms: multipart/form-data (RFC 7578), as curl's `-F` makes them.

/// A part of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FormPart {
    name: String,
    file: Option<String>,
    kind: Option<String>,
    headers: Vec<String>,
    content: Vec<u8>,
}

impl FormPart {
    /// A part with this content; `file` is the name of a file that it is of.
    pub(super) fn new(
        name: &str,
        file: Option<String>,
        kind: Option<String>,
        content: Vec<u8>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            file,
            kind,
            headers: Vec::new(),
            content,
        }
    }

    /// `name=text` as it stands.
    pub(super) fn text(given: &str) -> Result<Self, String> {
        let (name, text) = split(given)?;
        Ok(Self::new(name, None, None, text.as_bytes().to_vec()))
    }

    /// `name=text`, `name=@file`, `name=<file`, with `;type=`, `;filename=` and `;headers=` behind them.
    pub(super) fn read(
        given: &str,
        file: impl Fn(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Vec<Self>, String> {
        let (name, rest) = split(given)?;
        let (how, rest) = match rest.chars().next() {
            Some(how @ ('@' | '<')) => (how, &rest[1..]),
            Some('(' | ')') if name.is_empty() => {
                return Err("-F: parts within parts are not made here".into());
            }
            _ => ('=', rest),
        };
        let mut words = words(rest, how == '@').into_iter();
        let (first, mut kind) = words.next().unwrap_or_default();
        let mut files = vec![first];
        let (mut shown, mut headers) = (None, Vec::new());
        let mut of = None;
        for (word, after) in words {
            let key = |key: &str| word.strip_prefix(key).map(str::to_owned);
            if kind == ',' {
                files.push(word.clone());
            } else if let Some(value) = key("type=") {
                of = Some(value);
            } else if let Some(value) = key("filename=") {
                shown = Some(value);
            } else if let Some(value) = key("headers=") {
                headers.push(value);
            } else if key("encoder=").is_some() {
                return Err("-F: encoders are not known here".into());
            }
            kind = after;
        }
        let part = |path: &str| -> Result<Self, String> {
            let content = match how {
                '=' => path.as_bytes().to_vec(),
                _ => file(path)?,
            };
            let base = path.rsplit('/').next().unwrap_or(path).to_owned();
            Ok(Self {
                name: name.to_owned(),
                file: match how {
                    '@' => Some(shown.clone().unwrap_or_else(|| base.clone())),
                    _ => shown.clone(),
                },
                kind: of
                    .clone()
                    .or((how == '@').then(|| type_of(&base).to_owned())),
                headers: headers.clone(),
                content,
            })
        };
        match files.as_slice() {
            [one] => Ok(vec![part(one)?]),
            _ => Err("-F: several files in one part are not made here".into()),
        }
    }
}

fn split(given: &str) -> Result<(&str, &str), String> {
    given
        .split_once('=')
        .ok_or_else(|| format!("-F {given}: expected name=content"))
}

/// Words with what stands behind each: `;`, `,` or nothing. A word may be quoted.
fn words(text: &str, lists: bool) -> Vec<(String, char)> {
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        let mut word = String::new();
        if let Some(quoted) = rest.strip_prefix('"')
            && quoted.contains('"')
        {
            let mut chars = quoted.char_indices();
            let mut end = quoted.len();
            while let Some((at, c)) = chars.next() {
                match c {
                    '"' => {
                        end = at + 1;
                        break;
                    }
                    '\\' => word.extend(chars.next().map(|(_, c)| c)),
                    c => word.push(c),
                }
            }
            rest = &quoted[end..];
        }
        let ends = |at: usize| match rest.as_bytes()[at] {
            b',' => lists,
            b';' => true,
            _ => false,
        };
        let end = (0..rest.len()).find(|&at| ends(at));
        let stop = end.unwrap_or(rest.len());
        word += rest[..stop].trim_end_matches(|c| end.is_some() && c == ' ');
        let Some(end) = end else {
            // A name of a key with its value may be quoted.
            all.push((word, '\0'));
            break;
        };
        all.push((word, char::from(rest.as_bytes()[end])));
        rest = rest[end + 1..].trim_start();
    }
    let unquoted = |(word, after): (String, char)| {
        let keyed = word.split_once("=\"");
        match keyed.and_then(|(key, value)| Some((key, value.strip_suffix('"')?))) {
            Some((key, value)) if !key.is_empty() => (format!("{key}={value}"), after),
            _ => (word, after),
        }
    };
    all.into_iter().map(unquoted).collect()
}

/// The content type that curl takes from the name of a file.
pub(super) fn type_of(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

/// The content type, to which the boundary belongs.
pub(super) const KIND: &str = "multipart/form-data";

/// Boundary and bytes of a body with these parts, which are those of a form or attachments.
pub(super) fn body(parts: &[FormPart], of_form: bool) -> (String, Vec<u8>) {
    let has = |boundary: &str| {
        let mut contents = parts.iter().map(|part| &part.content);
        contents.any(|content| {
            let mut windows = content.windows(boundary.len());
            windows.any(|window| window == boundary.as_bytes())
        })
    };
    // The same each time, so that a file can be made again and compared.
    let mut boundaries = (0..).map(|n| format!("------------------------prony{n:017}"));
    let boundary = boundaries.find(|boundary| !has(boundary));
    let boundary = boundary.expect("a text has no end of them");
    body_between(boundary, parts, of_form)
}

/// Writes the parts between a boundary that the document gives; returns that boundary.
pub(super) fn body_between(
    boundary: String,
    parts: &[FormPart],
    of_form: bool,
) -> (String, Vec<u8>) {
    let escaped = |text: &str| {
        let text = text.replace('"', "%22").replace('\r', "%0D");
        text.replace('\n', "%0A")
    };
    let disposition = if of_form { "form-data" } else { "attachment" };
    let mut out = Vec::new();
    for part in parts {
        out.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        let name = escaped(&part.name);
        out.extend_from_slice(
            format!("Content-Disposition: {disposition}; name=\"{name}\"").as_bytes(),
        );
        if let Some(file) = &part.file {
            out.extend_from_slice(format!("; filename=\"{}\"", escaped(file)).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        if let Some(kind) = &part.kind {
            out.extend_from_slice(format!("Content-Type: {kind}\r\n").as_bytes());
        }
        for header in &part.headers {
            out.extend_from_slice(format!("{header}\r\n").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&part.content);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (boundary, out)
}
