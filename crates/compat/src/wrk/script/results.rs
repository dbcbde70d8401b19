//! Arguments of `done`: the summary, the latencies and the rates.

use crate::shared::stats::Stats;
use crate::wrk::report::WrkResults;
use mlua::{Lua, MetaMethod, UserData, UserDataFields, UserDataMethods, Value};

/// A distribution as scripts see it.
struct Distribution(Stats);

impl UserData for Distribution {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, this| Ok(this.0.min()));
        fields.add_field_method_get("max", |_, this| Ok(this.0.max()));
        fields.add_field_method_get("mean", |_, this| Ok(this.0.mean()));
        fields.add_field_method_get("stdev", |_, this| Ok(this.0.stdev()));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, this, percent: Value| {
            match percent.as_f64().or(percent.as_i64().map(|n| n as f64)) {
                Some(percent) => Ok(this.0.percentile(percent)),
                None => Err(mlua::Error::runtime(
                    "percentile() needs a number from 0 to 100",
                )),
            }
        });
        // The i-th distinct value, from 1, and how often it was seen.
        methods.add_meta_method(MetaMethod::Call, |_, this, index: usize| {
            let at = index.wrapping_sub(1);
            Ok(this.0.values().get(at).copied().unwrap_or((0, 0)))
        });
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.0.values().len()));
    }
}

/// Calls the script's `done`, if it has one.
pub(super) fn done(lua: &Lua, outcome: &WrkResults) -> mlua::Result<()> {
    let Value::Function(done) = lua.globals().get("done")? else {
        return Ok(());
    };
    let errors = lua.create_table()?;
    errors.set("connect", outcome.errors.connect)?;
    errors.set("read", outcome.errors.read)?;
    errors.set("write", outcome.errors.write)?;
    errors.set("status", outcome.errors.status)?;
    errors.set("timeout", outcome.errors.timeout)?;
    let summary = lua.create_table()?;
    summary.set("duration", outcome.duration)?;
    summary.set("requests", outcome.requests)?;
    summary.set("bytes", outcome.bytes)?;
    summary.set("errors", errors)?;
    let latency = Distribution(outcome.latency.clone());
    let rates = Distribution(outcome.rates.clone());
    done.call((summary, latency, rates))
}
