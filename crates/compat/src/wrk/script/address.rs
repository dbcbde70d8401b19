//! Addresses as scripts see them: `wrk.lookup`, `wrk.connect`, `tostring(addr)`.

use crate::shared::load::words;
use crate::wrk::place;
use mlua::{AnyUserData, Lua, MetaMethod, Table, UserData, UserDataMethods, Value};
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// An address that a connection can be made to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LuaAddress(pub SocketAddr);

impl UserData for LuaAddress {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| {
            Ok(format!("{}:{}", this.0.ip(), this.0.port()))
        });
    }
}

impl LuaAddress {
    /// The address in a script's value.
    pub(super) fn of(value: &Value) -> mlua::Result<Self> {
        let found = match value {
            Value::UserData(data) => data.borrow::<Self>().map(|it| *it).ok(),
            _ => None,
        };
        found.ok_or_else(|| {
            let kind = value.type_name();
            mlua::Error::runtime(format!("an address is expected, not {kind}"))
        })
    }
}

/// Why the last `wrk.connect` of a state failed.
struct ConnectFailure(String);

/// Why `wrk.connect` failed the last time.
pub(super) fn last_refusal(lua: &Lua) -> Option<String> {
    lua.app_data_ref::<ConnectFailure>().map(|it| it.0.clone())
}

/// Puts the functions into `wrk`.
pub(super) fn provide(lua: &Lua, wrk: &Table) -> mlua::Result<()> {
    wrk.set("lookup", lua.create_function(lookup)?)?;
    wrk.set(
        "connect",
        lua.create_function(|lua, address: Value| connect(lua, &address))?,
    )?;
    // wrk2's: the time of day in microseconds.
    let time_us = lua.create_function(|_, ()| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(now.map_or(0.0, |since| since.as_micros() as f64))
    })?;
    wrk.set("time_us", time_us)
}

fn lookup(lua: &Lua, (host, service): (String, String)) -> mlua::Result<Vec<AnyUserData>> {
    let found = place::lookup(&host, &service).map_err(mlua::Error::runtime)?;
    found
        .into_iter()
        .map(|address| lua.create_userdata(LuaAddress(address)))
        .collect()
}

fn connect(lua: &Lua, address: &Value) -> mlua::Result<bool> {
    let LuaAddress(address) = LuaAddress::of(address)?;
    match place::connect(&address) {
        Ok(()) => Ok(true),
        Err(error) => {
            lua.set_app_data(ConnectFailure(words(&error)));
            Ok(false)
        }
    }
}
