-- Three requests at once.
function init()
  local all = { wrk.format("GET", "/a"), wrk.format("POST", "/b", nil, "hello"), wrk.format("HEAD", "/c") }
  batch = table.concat(all)
end

function request()
  return batch
end
