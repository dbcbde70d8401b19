// A page of tasks, rendered by EJS: `app.cjs EXPRESS PORT`. Run in the folder that has the packages.
'use strict'
const path = require('node:path')
const { createRequire } = require('node:module')
const [, , version, port] = process.argv
const installed = createRequire(path.join(process.cwd(), 'package.json'))
const express = installed(version)

const tasks = Array.from({ length: 300 }, (_, n) => ({
  text: `Task ${n}`,
  done: n % 3 === 0,
  due: new Date(Date.UTC(2026, n % 12, (n % 28) + 1)),
}))

const app = express()
// Else EJS would read and compile the page for each request.
app.enable('view cache')
app.engine('ejs', installed('ejs').renderFile)
app.set('view engine', 'ejs')
app.set('views', path.join(__dirname, 'views'))

app.get('/tasks', (request, response) => {
  const page = Number(request.query.page ?? 0)
  response.render('tasks', { page, tasks: tasks.slice(page * 25, page * 25 + 25) })
})

app.listen(Number(port), '127.0.0.1')
