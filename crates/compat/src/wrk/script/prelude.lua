-- The global `wrk` that a script finds, before URL and flags are put into it. What a script may
-- replace or call is written in Lua; the rest is in Rust.

local wrk = {
  scheme = "http",
  host = "localhost",
  port = nil,
  method = "GET",
  path = "/",
  headers = {},
  body = nil,
  thread = nil,
}

-- Keeps the addresses that accept a connection.
function wrk.resolve(host, service)
  local reached = {}
  for _, addr in ipairs(wrk.lookup(host, service)) do
    if wrk.connect(addr) then
      reached[#reached + 1] = addr
    end
  end
  wrk.addrs = reached
end

function wrk.setup(thread)
  thread.addr = wrk.addrs[1]
  if type(setup) == "function" then
    setup(thread)
  end
end

function wrk.init(args)
  if not wrk.headers["Host"] then
    local host = wrk.host
    if host:find(":", 1, true) then
      host = "[" .. host .. "]"
    end
    wrk.headers["Host"] = wrk.port and host .. ":" .. wrk.port or host
  end
  if type(init) == "function" then
    init(args)
  end
  local always = wrk.format()
  wrk.request = function()
    return always
  end
end

-- Host and Content-Length are put into the very table that is given, as in the original: scripts
-- that keep it see them.
function wrk.format(method, path, headers, body)
  headers = headers or wrk.headers
  body = body or wrk.body
  headers["Host"] = headers["Host"] or wrk.headers["Host"]
  headers["Content-Length"] = body and string.len(body)

  local lines = { (method or wrk.method) .. " " .. (path or wrk.path) .. " HTTP/1.1" }
  for name, value in pairs(headers) do
    lines[#lines + 1] = name .. ": " .. tostring(value)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = body or ""
  return table.concat(lines, "\r\n")
end

package.loaded.wrk = wrk
_G.wrk = wrk

local stdout = io.stdout

-- A script may replace its functions while it runs, so they are looked up for each call.
return {
  request = function()
    if type(request) == "function" then
      return request()
    end
    return wrk.request()
  end,
  response = function(status, headers, body)
    if type(response) == "function" then
      response(status, headers, body)
    end
  end,
  delay = function()
    return type(delay) == "function" and delay() or nil
  end,
  flush = function()
    stdout:flush()
  end,
}
