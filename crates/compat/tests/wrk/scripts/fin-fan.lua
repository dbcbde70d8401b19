wrk.method = "POST"
wrk.body = "{\"name\":\"benchmark\",\"fib\":500}"
wrk.headers["Content-Type"] = "application/json"
