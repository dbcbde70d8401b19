//! `prony schema`: the shapes of files and outputs.

use crate::CommandEnd;
use crate::args::{SchemaArgs, SchemaOf};
use miette::{IntoDiagnostic, Result};
use prony_verdict::gate::JudgedCondition;
use schemars::{JsonSchema, Schema as Shape, SchemaGenerator};
use serde_json::{Value, json};

pub fn main(args: &SchemaArgs) -> Result<CommandEnd> {
    let schema = match args.what {
        SchemaOf::Load => gated::<prony_report::load::LoadReport>(),
        SchemaOf::Diff => schemars::schema_for!(prony_report::diff::DiffReport),
        SchemaOf::Capacity => gated::<prony_record::service::CapacityReport>(),
        SchemaOf::Why => schemars::schema_for!(prony_report::why::WhyReport),
        SchemaOf::Calibrate => schemars::schema_for!(prony_record::calibration::Calibration),
        SchemaOf::Duel => gated::<prony_verdict::seen::DuelReport>(),
        SchemaOf::Run => gated::<prony_report::run::RunReport>(),
        SchemaOf::Export => schemars::schema_for!(prony_pages::raw::Raw<'static>),
        SchemaOf::Experiment => schemars::schema_for!(prony_lab::experiment::ExperimentFile),
        SchemaOf::Published => schemars::schema_for!(prony_record::published::Published),
        SchemaOf::Audit => super::audit::schema()?,
        SchemaOf::GrpcEcho => {
            print!("{}", prony_lab::contract::GRPC_ECHO);
            return Ok(CommandEnd::Done);
        }
        SchemaOf::Server => schemars::schema_for!(prony_lab::manifest::Manifest),
    };
    println!(
        "{}",
        serde_json::to_string_pretty(&schema).into_diagnostic()?
    );
    Ok(CommandEnd::Done)
}

/// The shape of a report that may have been judged by `--fail-if`.
fn gated<R: JsonSchema>() -> Shape {
    let mut generator = SchemaGenerator::default();
    let mut gates = generator.subschema_for::<Vec<JudgedCondition>>();
    gates.insert(
        "description".into(),
        json!("What came of the conditions of `--fail-if`; absent when none was given."),
    );
    let mut shape = generator.into_root_schema_for::<R>();
    if let Some(Value::Object(properties)) = shape.get_mut("properties") {
        properties.insert("gates".into(), gates.into());
    }
    shape
}
