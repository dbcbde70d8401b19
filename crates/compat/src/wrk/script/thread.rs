//! A thread of the load as scripts see it: `thread.addr`, `thread:get`, `thread:set`,
//! `thread:stop`.

use super::address::LuaAddress;
use super::state::{Functions, LuaState};
use crate::wrk::failure::ScriptFailure;
use mlua::{
    Function, Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods, Value, WeakLua,
};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Tables within tables are copied so deep; deeper ones contain themselves.
const DEEPEST: u32 = 100;

/// Tells a worker that its script has stopped it.
#[derive(Debug, Clone, Default)]
pub(in crate::wrk) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub(in crate::wrk) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, stop: bool) {
        self.0.store(stop, Ordering::Relaxed);
    }
}

/// Handle of a thread, which scripts hold. The state of that thread holds one too, so the handle does not keep the
/// state alive.
#[derive(Clone)]
pub(super) struct Handle {
    lua: WeakLua,
    address: Arc<Mutex<Option<SocketAddr>>>,
    stop: StopFlag,
}

impl Handle {
    /// `wrk.setup` gives every thread one, and a script can only replace it.
    pub(super) fn address(&self) -> SocketAddr {
        let address = *self.lock();
        address.expect("setup has given it one")
    }

    pub(super) fn stop_flag(&self) -> StopFlag {
        self.stop.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<SocketAddr>> {
        self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UserData for Handle {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, this| Ok(this.lock().map(LuaAddress)));
        fields.add_field_method_set("addr", |_, this, value: Value| {
            *this.lock() = Some(LuaAddress::of(&value)?.0);
            Ok(())
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, this, name: String| {
            let theirs = this.lua.upgrade();
            let value: Value = theirs.globals().get(name)?;
            copy(&value, lua, 0)
        });
        methods.add_method("set", |_, this, (name, value): (String, Value)| {
            let theirs = this.lua.upgrade();
            theirs.globals().set(name, copy(&value, &theirs, 0)?)
        });
        methods.add_method("stop", |_, this, ()| {
            this.stop.set(true);
            Ok(())
        });
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |_, _, (name, _): (String, Value)| -> mlua::Result<()> {
                Err(mlua::Error::runtime(format!(
                    "cannot set '{name}' on thread"
                )))
            },
        );
    }
}

/// The same value in the state `to`.
fn copy(value: &Value, to: &Lua, depth: u32) -> mlua::Result<Value> {
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::Boolean(it) => Value::Boolean(*it),
        Value::Integer(it) => Value::Integer(*it),
        Value::Number(it) => Value::Number(*it),
        Value::String(text) => Value::String(to.create_string(&*text.as_bytes())?),
        Value::Table(_) if depth == DEEPEST => {
            let why = "cannot transfer a table that contains itself";
            return Err(mlua::Error::runtime(why));
        }
        Value::Table(table) => {
            let copied = to.create_table()?;
            table.for_each(|key: Value, value: Value| {
                copied.raw_set(copy(&key, to, depth + 1)?, copy(&value, to, depth + 1)?)
            })?;
            Value::Table(copied)
        }
        other => {
            let kind = other.type_name();
            let why = format!("cannot transfer '{kind}' to thread");
            return Err(mlua::Error::runtime(why));
        }
    })
}

/// A thread with its state.
pub(super) struct Thread {
    lua: Lua,
    pub functions: Functions,
    pub handle: Handle,
}

impl Thread {
    pub(super) fn new(state: LuaState) -> Result<Self, ScriptFailure> {
        let LuaState { lua, functions } = state;
        let handle = Handle {
            lua: lua.weak(),
            address: Arc::default(),
            stop: StopFlag::default(),
        };
        let wrk: Table = lua.globals().get("wrk")?;
        wrk.set("thread", handle.clone())?;
        Ok(Self {
            lua,
            functions,
            handle,
        })
    }

    /// Sets a variable of the script.
    #[cfg(fuzzing)]
    pub(super) fn set(&self, name: &str, value: &[u8]) {
        let value = self.lua.create_string(value).expect("memory for a text");
        self.lua
            .globals()
            .set(name, value)
            .expect("globals can be set");
    }

    /// `setup`, in the state that takes no part in the load.
    pub(super) fn set_up(&self, main: &Lua) -> Result<(), ScriptFailure> {
        let wrk: Table = main.globals().get("wrk")?;
        let setup: Function = wrk.get("setup")?;
        Ok(setup.call(self.handle.clone())?)
    }

    /// `init`, with arguments that are counted from 0: the first is the URL.
    pub(super) fn init(&self, args: &[String]) -> Result<(), ScriptFailure> {
        let table = self.lua.create_table()?;
        for (index, arg) in args.iter().enumerate() {
            table.raw_set(index, arg.as_str())?;
        }
        let wrk: Table = self.lua.globals().get("wrk")?;
        let init: Function = wrk.get("init")?;
        init.call::<()>(table)?;
        self.functions.flush();
        // Only a thread that runs can be stopped.
        self.handle.stop.set(false);
        Ok(())
    }
}
