-- Another path and header field for each request.
counter = 0

function request()
  counter = counter + 1
  wrk.headers["X-Counter"] = counter
  return wrk.format("GET", "/" .. counter)
end
