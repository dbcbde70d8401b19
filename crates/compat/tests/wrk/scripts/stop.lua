-- Each thread ends after a hundred answers.
local answers = 0

function response()
  answers = answers + 1
  if answers == 100 then
    wrk.thread:stop()
  end
end
