//! `prony explain`: what a check means.

use crate::Ended;
use crate::args::Explain;
use miette::{IntoDiagnostic, Result, miette};
use prony_checks::{EXPLANATIONS, Explanation};

pub fn main(args: &Explain) -> Result<Ended> {
    let chosen: Vec<Explanation> = match &args.check {
        None => EXPLANATIONS.to_vec(),
        Some(name) => {
            let found = EXPLANATIONS.iter().find(|it| it.name == *name);
            let names = EXPLANATIONS.map(|it| it.name).join(", ");
            vec![*found.ok_or_else(|| {
                miette!(
                    help = format!("there are: {names}"),
                    "there is no check {name:?}"
                )
            })?]
        }
    };
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&chosen).into_diagnostic()?
        );
        return Ok(Ended::Done);
    }
    for (i, it) in chosen.iter().enumerate() {
        if i > 0 {
            println!();
        }
        println!("{}", it.name);
        println!("  cause     {}", it.cause);
        println!("  evidence  {}", it.evidence);
        println!("  remedy    {}", it.remedy);
    }
    Ok(Ended::Done)
}
