//! `prony explain`: what a check means, of a measurement or of an audit.

use crate::CommandEnd;
use crate::args::Explain;
use crate::built;
use crate::verb::audit;
use miette::{IntoDiagnostic, Result};
use prony_checks::{CheckId, Explanation};
use serde::Serialize;

/// An explanation, and of what its check is: some have a check of the same name in an audit, which
/// has less to go by.
#[derive(Clone, Copy, Serialize)]
struct CheckExplanation {
    #[serde(flatten)]
    explanation: Explanation,
    /// `measurement` or `audit`.
    of: &'static str,
    /// A minimal text that raises the finding of an audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<&'static str>,
}

pub fn main(args: &Explain) -> Result<CommandEnd> {
    let measured = prony_checks::explanations().into_iter();
    let measured = measured.map(|explanation| CheckExplanation {
        explanation,
        of: "measurement",
        example: None,
    });
    let audited = audit::EXPLANATIONS.map(|explanation| CheckExplanation {
        explanation,
        of: "audit",
        example: audit::example(explanation.name),
    });
    let mut chosen: Vec<CheckExplanation> = measured.chain(audited).collect();
    if let Some(name) = &args.check {
        let mut names: Vec<&str> = chosen.iter().map(|it| it.explanation.name.word()).collect();
        names.sort_unstable();
        names.dedup();
        let wanted = CheckId::of_word(name);
        chosen.retain(|it| Some(it.explanation.name) == wanted);
        if chosen.is_empty() {
            let others = match built::lacks("audit") {
                true => "; this prony was built without `audit`, which has further checks",
                false => "",
            };
            return Err(usage!(
                help = format!("there are: {}{others}", names.join(", ")),
                "there is no check {name:?}"
            ));
        }
    }
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&chosen).into_diagnostic()?
        );
        return Ok(CommandEnd::Done);
    }
    for (i, told) in chosen.iter().enumerate() {
        if i > 0 {
            println!();
        }
        let it = &told.explanation;
        let of = if told.of == "audit" {
            " (prony audit)"
        } else {
            ""
        };
        println!("{}{of}", it.name);
        println!("  cause     {}", it.cause);
        println!("  evidence  {}", it.evidence);
        println!("  remedy    {}", it.remedy);
        // The list of all of them would be long.
        if let Some(example) = told.example.filter(|_| args.check.is_some()) {
            println!("  example   a text that raises it:\n");
            for line in example.lines() {
                println!("{}", format!("    {line}").trim_end());
            }
        }
    }
    Ok(CommandEnd::Done)
}
