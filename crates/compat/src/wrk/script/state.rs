//! One Lua state: the prelude, what the command line says, then the script.

use super::address;
use crate::wrk::args::Args;
use crate::wrk::failure::ScriptFailure;
use mlua::{Function, Lua, Table, Value};

/// Name that stands in the place of the prelude's file, which no message shall blame.
const PRELUDE: &str = "=[wrk]";

/// How places that are not in a script begin: in C, in the prelude, in what holds userdata up.
const NOT_SCRIPT: [&str; 3] = ["[C]", "[wrk]", "__mlua"];

impl From<mlua::Error> for ScriptFailure {
    fn from(error: mlua::Error) -> Self {
        match &error {
            // Raised in Rust: Lua knows from where it was called.
            mlua::Error::CallbackError { traceback, cause } => {
                let Self(what) = Self::from((**cause).clone());
                Self::placed(&what, traceback)
            }
            mlua::Error::RuntimeError(text) => {
                let (what, traceback) = text.split_once("\nstack traceback:").unwrap_or((text, ""));
                Self::placed(what, traceback)
            }
            mlua::Error::SyntaxError { message, .. } => Self(message.clone()),
            other => Self(other.to_string()),
        }
    }
}

impl ScriptFailure {
    /// Describes a failure by where the function at fault is defined, and by what the script did there.
    fn at(function: &Function, what: &str) -> Self {
        let info = function.info();
        match (info.short_src, info.line_defined) {
            (Some(file), Some(line)) => Self(format!("{file}:{line}: {what}")),
            _ => Self(what.to_owned()),
        }
    }

    /// Names the innermost line of the script in `traceback`, unless `what` names its file already.
    fn placed(what: &str, traceback: &str) -> Self {
        let place = traceback
            .lines()
            .filter_map(|line| line.trim_start().split_once(": in "))
            .map(|(place, _)| place)
            .find(|place| !NOT_SCRIPT.iter().any(|of| place.starts_with(of)));
        let file = place.and_then(|place| place.rsplit_once(':'));
        match (place, file) {
            (Some(place), Some((file, _))) if !what.starts_with(file) => {
                Self(format!("{place}: {what}"))
            }
            _ => Self(what.to_owned()),
        }
    }
}

/// The functions of a state that are called while a load runs.
#[derive(Clone)]
pub(in crate::wrk) struct Functions {
    lua: Lua,
    request: Function,
    response: Function,
    delay: Function,
    flush: Function,
}

impl Functions {
    fn new(lua: Lua, table: &Table) -> mlua::Result<Self> {
        Ok(Self {
            request: table.get("request")?,
            response: table.get("response")?,
            delay: table.get("delay")?,
            flush: table.get("flush")?,
            lua,
        })
    }

    /// Has the script a function of this name?
    pub(in crate::wrk) fn has(&self, name: &str) -> bool {
        matches!(self.lua.globals().get(name), Ok(Value::Function(_)))
    }

    /// Calls `request` and shows what it returns: one request, or several in a row.
    ///
    /// # Errors
    /// Those of the script; also when it returns no text.
    #[inline]
    pub(in crate::wrk) fn request<R>(
        &self,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ScriptFailure> {
        match self.request.call(())? {
            Value::String(text) => Ok(take(&text.as_bytes())),
            Value::Integer(number) => Ok(take(number.to_string().as_bytes())),
            Value::Number(number) => Ok(take(number.to_string().as_bytes())),
            other => Err(self.at_fault(
                "request",
                &format!("request() must return a string, not {}", other.type_name()),
            )),
        }
    }

    /// Like [`Functions::request`], but appends the text to `out`.
    /// Returns `false` when `request` returns nothing: such a connection sends no more.
    ///
    /// # Errors
    /// Those of the script; also when it returns something else than a text.
    #[inline]
    pub(in crate::wrk) fn next_request(&self, out: &mut Vec<u8>) -> Result<bool, ScriptFailure> {
        match self.request.call(())? {
            Value::Nil => Ok(false),
            Value::String(text) => {
                out.extend_from_slice(&text.as_bytes());
                Ok(true)
            }
            other => Err(self.at_fault(
                "request",
                &format!("request() must return a string, not {}", other.type_name()),
            )),
        }
    }

    /// Failure of a script whose `request` has returned a text that is no request.
    pub(in crate::wrk) fn bad_request(&self, why: &str) -> ScriptFailure {
        self.at_fault(
            "request",
            &format!("what request() returned is no request: {why}"),
        )
    }

    /// Failure of a script whose `request` has returned no text.
    pub(in crate::wrk) fn no_text(&self, why: &str) -> ScriptFailure {
        self.at_fault("request", why)
    }

    /// Calls `delay`: milliseconds before the next request, at least 0.
    ///
    /// # Errors
    /// Those of the script; also when it returns no number.
    pub(in crate::wrk) fn delay(&self) -> Result<f64, ScriptFailure> {
        let value: Value = self.delay.call(())?;
        let number = match &value {
            Value::Nil => Some(0.0),
            Value::Integer(number) => Some(*number as f64),
            Value::Number(number) => Some(*number),
            Value::String(text) => text.to_str().ok().and_then(|text| text.trim().parse().ok()),
            _ => None,
        };
        number
            .filter(|number| !number.is_nan())
            .map(|number| number.max(0.0))
            .ok_or_else(|| {
                let found = value.type_name();
                self.at_fault(
                    "delay",
                    &format!("delay() must return a number, not {found}"),
                )
            })
    }

    /// Calls `response` with an answer. `fields` are its header fields; of several with the same
    /// name the last counts.
    ///
    /// # Errors
    /// Those of the script.
    pub(in crate::wrk) fn response<'a>(
        &self,
        status: u16,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        body: &[u8],
    ) -> Result<(), ScriptFailure> {
        let lua = &self.lua;
        let headers = lua.create_table()?;
        for (name, value) in fields {
            headers.raw_set(lua.create_string(name)?, lua.create_string(value)?)?;
        }
        Ok(self
            .response
            .call((status, headers, lua.create_string(body)?))?)
    }

    /// Passes on what the script has printed.
    pub(super) fn flush(&self) {
        // A script that has closed its standard output wants nothing printed.
        let _ = self.flush.call::<()>(());
    }

    fn at_fault(&self, name: &str, what: &str) -> ScriptFailure {
        match self.lua.globals().get(name) {
            Ok(Value::Function(function)) => ScriptFailure::at(&function, what),
            _ => ScriptFailure(what.to_owned()),
        }
    }
}

/// A state with what runs in it.
pub(super) struct LuaState {
    pub lua: Lua,
    pub functions: Functions,
}

/// A new state in which `source` has run.
///
/// # Errors
/// Those of the script.
pub(super) fn state(args: &Args, source: Option<&[u8]>) -> Result<LuaState, ScriptFailure> {
    // SAFETY: the script is the user's own program, run at the user's word with the user's rights,
    // as wrk does: it may load whatever library it likes.
    let lua = unsafe { Lua::unsafe_new() };
    let prelude = lua.load(include_str!("prelude.lua")).set_name(PRELUDE);
    let functions = Functions::new(lua.clone(), &prelude.eval()?)?;
    let wrk: Table = lua.globals().get("wrk")?;
    let url = &args.url;
    wrk.set("scheme", url.scheme.as_str())?;
    wrk.set("host", url.host.as_str())?;
    wrk.set("port", url.port.as_deref())?;
    wrk.set("path", url.path.as_str())?;
    address::provide(&lua, &wrk)?;
    find_packages(&lua)?;
    // The original has `ffi` only for those who require it.
    lua.globals().set("ffi", Value::Nil)?;
    let headers: Table = wrk.get("headers")?;
    for (name, value) in args
        .headers
        .iter()
        .filter_map(|field| field.split_once(": "))
    {
        headers.set(name, value)?;
    }
    if let (Some(source), Some(path)) = (source, &args.script) {
        let name = format!("@{}", path.display());
        lua.load(source).set_name(name).exec()?;
    }
    Ok(LuaState { lua, functions })
}

/// Lets `require` find what Debian's wrk finds: its LuaJIT looks below `/usr` as well. `LUA_PATH` and
/// `LUA_CPATH` come first, as always.
fn find_packages(lua: &Lua) -> mlua::Result<()> {
    let package: Table = lua.globals().get("package")?;
    let multiarch = format!("/usr/lib/{}-linux-gnu/lua/5.1/?.so", std::env::consts::ARCH);
    let more = [
        (
            "path",
            "/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua;/usr/share/luajit-2.1/?.lua;\
             /usr/share/luajit-2.1.0-beta3/?.lua"
                .to_owned(),
        ),
        ("cpath", format!("{multiarch};/usr/lib/lua/5.1/?.so")),
    ];
    for (name, places) in more {
        let known: String = package.get(name)?;
        package.set(name, format!("{known};{places}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_scripts_own_line() {
        let placed = |what, traceback| ScriptFailure::placed(what, traceback).to_string();
        let trace = "\n\t[C]: in ?\n\t[wrk]:9: in function 'f'\n\ta.lua:3: in function 'b'\n\ta.lua:7: in main chunk";
        assert_eq!(placed("nothing there", trace), "a.lua:3: nothing there");
        assert_eq!(
            placed("a.lua:2: nothing there", trace),
            "a.lua:2: nothing there"
        );
        assert_eq!(placed("nothing there", "\n\t[C]: in ?"), "nothing there");
    }
}
