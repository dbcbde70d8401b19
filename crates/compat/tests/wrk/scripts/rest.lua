-- A rest before each request.
function delay()
  return 20
end
