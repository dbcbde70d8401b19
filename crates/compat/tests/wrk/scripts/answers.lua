-- Writes the first answers as the script sees them to the file named by its first argument.

local seen = 0

function init(args)
  name = args[1]
end

function response(status, headers, body)
  seen = seen + 1
  local fields = {}
  for key, value in pairs(headers) do
    fields[#fields + 1] = key .. "=" .. value
  end
  table.sort(fields)
  local file = io.open(name, seen == 1 and "w" or "a")
  file:write(status, " {", table.concat(fields, "|"), "} ", #body, " ", body, "\n")
  file:close()
  if seen == 6 then
    wrk.thread:stop()
  end
end
