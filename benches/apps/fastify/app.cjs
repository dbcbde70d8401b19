// Stations with a schema of the response: `app.cjs FASTIFY PORT`. Run in the folder that has the packages.
'use strict'
const path = require('node:path')
const { createRequire } = require('node:module')
const [, , version, port] = process.argv
const fastify = createRequire(path.join(process.cwd(), 'package.json'))(version)

const stations = Array.from({ length: 500 }, (_, n) => ({
  id: n,
  name: `Station ${n}`,
  line: 'ABCDEFG'[n % 7],
  position: { east: (n * 37) % 1000, north: (n * 91) % 1000 },
}))

const station = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    line: { type: 'string' },
    position: { type: 'object', properties: { east: { type: 'number' }, north: { type: 'number' } } },
  },
}
const schema = {
  params: { type: 'object', properties: { line: { type: 'string', pattern: '^[A-G]$' } } },
  response: { 200: { type: 'array', items: station } },
}

const app = fastify()
app.get('/lines/:line', { schema }, async (request) => stations.filter(({ line }) => line === request.params.line))
app.listen({ host: '127.0.0.1', port: Number(port) })
