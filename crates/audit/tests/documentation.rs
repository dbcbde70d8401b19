//! The page about audits has every finding, and its examples raise what they are examples of.

use prony_audit::{EXPLANATIONS, audit};

const PAGE: &str = include_str!("../../../docs/audit.md");

#[test]
fn every_finding_has_an_example_that_raises_it() {
    let (_, findings) = PAGE.split_once("## The findings").unwrap();
    let (findings, _) = findings.split_once("\n## Importing\n").unwrap();
    let mut names = Vec::new();
    for section in findings.split("\n### `").skip(1) {
        let (name, rest) = section.split_once("`\n").unwrap();
        let (_, example) = rest.split_once("```text\n").unwrap();
        let (example, behind) = example.split_once("```\n").unwrap();
        assert!(!behind.contains("```"), "{name}: more than one example");
        let audit = audit(&[("example.md".to_owned(), example.to_owned())]);
        let raised: Vec<&str> = audit
            .remarks
            .iter()
            .map(|r| r.finding.name.as_str())
            .collect();
        assert!(raised.contains(&name), "{name}: {raised:?}");
        names.push(name);
    }
    assert_eq!(names, EXPLANATIONS.map(|it| it.name));
}
