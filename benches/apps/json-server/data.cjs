// What json-server serves, on standard output. The same on every machine.
'use strict'
const posts = Array.from({ length: 400 }, (_, n) => ({
  id: String(n + 1),
  title: `Post ${n + 1}`,
  author: `author-${n % 23}`,
  views: (n * 7919) % 1000,
}))
console.log(JSON.stringify({ posts }))
