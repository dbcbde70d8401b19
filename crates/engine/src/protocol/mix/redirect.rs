//! Redirects (RFC 9110, 15.4): the request that follows one.

use url::Url;

/// Is it a redirect that a request follows?
pub(super) const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The request that follows `sent`, which was answered with this status and `Location`. Of 307 and 308 it is the same
/// request; of the others one without a body, a GET unless it was a HEAD. `cookies` is the field with the user's cookies,
/// which takes the place of the one that was sent, if the user keeps cookies.
///
/// # Errors
/// When the place is none, or on another server.
pub(super) fn following(
    sent: &[u8],
    status: u16,
    location: &[u8],
    cookies: Option<&[u8]>,
) -> Result<Vec<u8>, String> {
    let end = sent.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, body) = sent.split_at(end.map_or(sent.len(), |end| end + 4));
    let mut lines = head
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let mut words = lines
        .next()
        .unwrap_or_default()
        .splitn(3, |&byte| byte == b' ');
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let fields: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
    let target = place(target, value(&fields, "host").unwrap_or_default(), location)?;
    let same = matches!(status, 307 | 308);
    let method = if same || method == b"HEAD" {
        method
    } else {
        b"GET"
    };
    let about_body = [
        "content-length",
        "content-type",
        "content-encoding",
        "transfer-encoding",
        "expect",
    ];
    let mut out = [method, b" ", target.as_bytes(), b" HTTP/1.1\r\n"].concat();
    for field in fields {
        let is = |name: &&str| value(&[field], name).is_some();
        let left_out = (!same && about_body.iter().any(is)) || (cookies.is_some() && is(&"cookie"));
        if !left_out {
            out.extend_from_slice(field);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(cookies.unwrap_or_default());
    out.extend_from_slice(b"\r\n");
    if same {
        out.extend_from_slice(body);
    }
    Ok(out)
}

/// Path and query of where a request for `target` is sent on to.
fn place(target: &[u8], host: &[u8], location: &[u8]) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let no_place = |_| format!("redirected to {:?}, which is no place", text(location));
    let base = Url::parse(&format!("http://{}{}", text(host), text(target))).map_err(no_place)?;
    let place = base.join(&text(location)).map_err(no_place)?;
    if (place.host_str(), place.port()) != (base.host_str(), base.port()) {
        return Err(format!("redirected to {place}, another server"));
    }
    Ok(place[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}

/// The value of the first of these fields that has this name, in small letters.
fn value<'a>(fields: &[&'a [u8]], name: &str) -> Option<&'a [u8]> {
    fields.iter().find_map(|field| {
        let at = field.iter().position(|&byte| byte == b':')?;
        field[..at]
            .eq_ignore_ascii_case(name.as_bytes())
            .then(|| field[at + 1..].trim_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::following;

    const POST: &str = "POST /login?a=b HTTP/1.1\r\nHost: shop:8000\r\nX: y\r\nCookie: old=1\r\n\
                        Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nuser";

    fn after(sent: &str, status: u16, location: &str) -> Result<String, String> {
        let next = following(sent.as_bytes(), status, location.as_bytes(), None)?;
        Ok(String::from_utf8(next).unwrap())
    }

    #[test]
    fn a_post_becomes_a_get_or_stays_as_it_is() {
        for status in [301, 302, 303] {
            let next = after(POST, status, "/home").unwrap();
            let wanted = "GET /home HTTP/1.1\r\nHost: shop:8000\r\nX: y\r\nCookie: old=1\r\n\r\n";
            assert_eq!(next, wanted, "{status}");
        }
        for status in [307, 308] {
            let next = after(POST, status, "/home").unwrap();
            assert_eq!(next, POST.replace("/login?a=b", "/home"), "{status}");
        }
        let head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(after(head, 303, "/x").unwrap(), head.replace("/ H", "/x H"));
    }

    #[test]
    fn places_are_resolved() {
        let get = "GET /a/b?c HTTP/1.1\r\nHost: shop:8000\r\n\r\n";
        let target = |location: &str| {
            let next = after(get, 302, location)?;
            Ok::<_, String>(next.split(' ').nth(1).unwrap().to_owned())
        };
        for (location, place) in [
            ("/x?y=z#f", "/x?y=z"),
            ("d", "/a/d"),
            ("../d", "/d"),
            ("?q", "/a/b?q"),
            ("http://shop:8000/x y", "/x%20y"),
            ("//SHOP:8000/", "/"),
            ("", "/a/b?c"),
        ] {
            assert_eq!(target(location).unwrap(), place, "{location}");
        }
        for location in [
            "http://other/",
            "http://shop:8001/",
            "mailto:a@b",
            "http://[",
        ] {
            assert!(
                target(location).unwrap_err().contains("redirected to"),
                "{location}"
            );
        }
    }

    #[test]
    fn nothing_in_a_place_becomes_a_field() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let next = after(get, 302, "/x\rInjected: 1\n HTTP/1.1").unwrap();
        assert_eq!(next.matches("\r\n").count(), 3, "{next}");
        assert_eq!(
            next.lines().next().unwrap().matches(' ').count(),
            2,
            "{next}"
        );
    }

    #[test]
    fn cookies_are_the_newest() {
        let kept = following(POST.as_bytes(), 302, b"/", Some(b"Cookie: new=2\r\n")).unwrap();
        let kept = String::from_utf8(kept).unwrap();
        assert!(
            kept.contains("\r\nCookie: new=2\r\n\r\n") && !kept.contains("old"),
            "{kept}"
        );
        let gone = following(POST.as_bytes(), 302, b"/", Some(b"")).unwrap();
        assert!(!String::from_utf8(gone).unwrap().contains("Cookie"));
    }
}
