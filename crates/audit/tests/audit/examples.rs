//! Each finding has a minimal text that raises it, which `prony explain` prints.

use prony_audit::{CheckId, EXPLANATIONS, audit, example};

#[test]
fn every_finding_has_an_example_that_raises_it() {
    for check in EXPLANATIONS.map(|it| it.name) {
        let text = example(check).unwrap_or_else(|| panic!("{check} has no example"));
        let audit = audit(&[("example.md".to_owned(), text.to_owned())]);
        let raised = audit.remarks.iter().map(|r| r.finding.name);
        let raised: Vec<CheckId> = raised.collect();
        assert!(raised.contains(&check), "{check}: {raised:?}");
    }
    assert_eq!(example(CheckId::ServerIdle), None);
}
