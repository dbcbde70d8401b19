-- Writes what a script finds, wherever it can look, to the file named by its first argument. Only
-- what is the same for every run.

local threads = {}

local function kinds(name, table)
  local lines = {}
  for key, value in pairs(table) do
    local text = type(value) == "string" and value or type(value)
    lines[#lines + 1] = name .. "." .. tostring(key) .. " = " .. text
  end
  return lines
end

local function write(file, lines)
  table.sort(lines)
  for _, line in ipairs(lines) do
    file:write(line, "\n")
  end
end

function setup(thread)
  threads[#threads + 1] = thread
  thread:set("id", #threads)
  thread:set("copied", { 1, "two", true, four = 4.5 })
  thread:set("nothing", nil)
  transferred = pcall(thread.set, thread, "f", print)
  assigned = pcall(function() thread.name = "x" end)
  address = tostring(thread.addr)
  thread.addr = thread.addr
end

function init(args)
  given = {}
  for index = 0, #args do
    given[index + 1] = args[index]
  end
  own = tostring(wrk.thread.addr)
  wrk.thread:set("by_itself", "yes")
  wrk.headers["X-Id"] = id
  seen = { tostring(nothing), copied[2], copied.four, wrk.thread:get("id") }
  text = wrk.format("PUT", "/other", { Host = "h" }, "body")
end

function done(summary, latency, requests)
  local file = io.open(threads[1]:get("given")[2], "w")
  file:write(#threads, " threads, transferred ", tostring(transferred), ", assigned ", tostring(assigned), "\n")
  for _, thread in ipairs(threads) do
    file:write("thread ", thread:get("id"), " ", thread:get("by_itself"), " ", thread:get("own"), "\n")
    local given = thread:get("given")
    file:write(#given, " arguments, last ", given[#given], "\n")
    file:write(table.concat(thread:get("seen"), " "), "\n")
    file:write(#thread:get("text"), " bytes: ", thread:get("text"):match("^[^\r]*"), "\n")
  end
  file:write("address ", address, " ", type(wrk.thread), "\n")
  local lookup = wrk.lookup(wrk.host, wrk.port)
  file:write(#lookup, " ", tostring(lookup[1]), " ", tostring(wrk.connect(lookup[1])), "\n")
  local expected = { scheme = 1, host = 1, port = 1, path = 1, method = 1, headers = 1, addrs = 1 }
  local found = {}
  for name in pairs(expected) do
    found[name] = wrk[name]
  end
  write(file, kinds("wrk", found))
  write(file, kinds("summary", summary))
  write(file, kinds("errors", summary.errors))
  for name, stats in pairs({ latency = latency }) do
    local total, previous, ordered = 0, -1, true
    for index = 1, #stats do
      local value, count = stats(index)
      total = total + count
      ordered = ordered and value > previous
      previous = value
    end
    file:write(name, " ordered ", tostring(ordered), ", enough ", tostring(total >= summary.requests), "\n")
    file:write("ends ", tostring(stats(1) == stats.min), " ", tostring(stats(#stats) == stats.max), "\n")
    local middle = stats:percentile(50)
    file:write("within ", tostring(stats.min <= middle and middle <= stats.max), " ")
    file:write(tostring(stats.min <= stats.mean and stats.mean <= stats.max), " ", type(stats.stdev), "\n")
  end
  file:write("rates ", type(requests.mean), " ", type(requests:percentile(50)), " ", type(#requests), "\n")
  file:close()
end
