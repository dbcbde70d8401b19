-- The functions change while it runs: first a token, then its use.
function request()
  return wrk.format("GET", "/token")
end

function response(status, headers)
  local token = headers["X-Token"]
  request = function()
    return wrk.format("GET", "/use/" .. token)
  end
end
