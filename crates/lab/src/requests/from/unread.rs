//! Files that no requests are made from, and how to get a file that can be read.

/// Kinds of files that are not read, with what to do instead.
pub(super) fn other(text: &str) -> Option<&'static str> {
    let first = text.trim_start_matches('\u{feff}').trim_start();
    let has = |word: &str| text.contains(word);
    let json = first.starts_with('{');
    if text.starts_with("\u{1f}\u{fffd}") || text.starts_with("\u{1f}\u{8b}") {
        return Some("this is packed: unpack it first (gunzip -c FILE | prony requests from -)");
    }
    if text.starts_with("(\u{fffd}/\u{fffd}") {
        return Some("this is packed: unpack it first (zstd -dc FILE | prony requests from -)");
    }
    if text.starts_with("BZh") || text.starts_with("\u{fffd}7zXZ") || text.starts_with("PK\u{3}") {
        return Some("this is packed: unpack it first");
    }
    if (json && has("\"swagger\"")) || text.lines().any(|line| line.starts_with("swagger:")) {
        return Some(
            "this is Swagger 2.0, and OpenAPI 3.0 and 3.1 are read: convert it first (npx swagger2openapi FILE)",
        );
    }
    if json && (has("_postman_variable_scope") || has("\"_postman_exported_using\"")) {
        return Some(
            "this is an environment of Postman, which has values for a collection: give the collection as the file",
        );
    }
    if json && has("\"_type\"") && has("insomnia") || first.starts_with("type: collection.insomnia")
    {
        return Some(
            "this is an export of Insomnia: export it as HAR, or copy its requests as cURL",
        );
    }
    if first.starts_with("<jmeterTestPlan") || has("<jmeterTestPlan") {
        return Some(
            "this is a JMeter test plan: record the requests as HAR, or write them as cURL",
        );
    }
    if has("Invoke-WebRequest") || has("Invoke-RestMethod") {
        return Some("these are commands of PowerShell: copy them as cURL instead");
    }
    if first.starts_with("fetch(") || has("await fetch(") {
        return Some("this is a call of fetch: copy it as cURL instead");
    }
    if first.starts_with("meta {") && has("url:") {
        return Some("this is a request of Bruno: its Generate Code > Shell-cURL is read");
    }
    let methods = ["GET ", "POST ", "PUT ", "DELETE ", "PATCH ", "HEAD "];
    if first.starts_with("###") || methods.iter().any(|method| first.starts_with(method)) {
        return Some(
            "this looks like an .http file or a raw request: write it as cURL, or as a target of vegeta (GET http://host/path)",
        );
    }
    let logged = [
        "\"request_uri\"",
        "\"remote_addr\"",
        "\"remote_ip\"",
        "\"RequestPath\"",
    ];
    if json && logged.iter().any(|key| has(key)) {
        return Some(
            "this is a log in JSON without the keys that are known (method, path and status, as Caddy, Traefik and nginx write them)",
        );
    }
    if first.starts_with("#Version:") || first.starts_with("#Fields:") {
        return Some(
            "this is a log in the W3C format: logs are read in the common and combined format, and in JSON",
        );
    }
    None
}
