//! Each finding has a minimal text that raises it, which `prony explain` prints.

use prony_audit::{EXPLANATIONS, audit, example};

#[test]
fn every_finding_has_an_example_that_raises_it() {
    for name in EXPLANATIONS.map(|it| it.name) {
        let text = example(name).unwrap_or_else(|| panic!("{name} has no example"));
        let audit = audit(&[("example.md".to_owned(), text.to_owned())]);
        let raised = audit.remarks.iter().map(|r| r.finding.name.as_str());
        let raised: Vec<&str> = raised.collect();
        assert!(raised.contains(&name), "{name}: {raised:?}");
    }
    assert_eq!(example("no-such-finding"), None);
}
