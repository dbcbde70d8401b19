//! `prony schema`: the shapes of files and outputs.

use crate::Ended;
use crate::args::{Schema, SchemaOf};
use miette::{IntoDiagnostic, Result};

pub fn main(args: &Schema) -> Result<Ended> {
    let schema = match args.what {
        SchemaOf::Load => schemars::schema_for!(prony_report::load::LoadReport),
        SchemaOf::Compare => schemars::schema_for!(prony_report::compare::CompareReport),
        SchemaOf::Capacity => schemars::schema_for!(prony_record::service::CapacityReport),
        SchemaOf::Calibrate => schemars::schema_for!(prony_record::calibration::Calibration),
        SchemaOf::Duel => schemars::schema_for!(prony_verdict::seen::DuelReport),
        SchemaOf::Run => schemars::schema_for!(prony_report::run::RunReport),
        SchemaOf::Export => schemars::schema_for!(prony_pages::raw::Raw<'static>),
        SchemaOf::Experiment => schemars::schema_for!(prony_lab::experiment::ExperimentFile),
        SchemaOf::Published => schemars::schema_for!(prony_record::published::Published),
        SchemaOf::Audit => schemars::schema_for!(prony_audit::Audit),
        SchemaOf::Server => schemars::schema_for!(prony_lab::manifest::Manifest),
    };
    println!(
        "{}",
        serde_json::to_string_pretty(&schema).into_diagnostic()?
    );
    Ok(Ended::Done)
}
