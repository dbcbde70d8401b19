// The techempower contract on node:http, Postgres.js and EJS: server.mjs HOST PORT [WORKERS]
import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import ejs from 'ejs';
import postgres from 'postgres';

const WORLDS = 10_000;
const [host, ...numbers] = process.argv.slice(2);
const [port, workers = 1] = numbers.map(Number);

const template = ejs.compile(readFileSync(new URL('fortunes.ejs', import.meta.url), 'utf8'));

// It connects when a connection is first needed.
const sql = postgres(process.env.DATABASE_URL, {
  max: Math.max(Math.floor(Number(process.env.DATABASE_MAX_CONN) / workers), 1),
});

const randomId = () => 1 + Math.floor(Math.random() * WORLDS);

function randomIds(count) {
  const ids = new Set();
  while (ids.size < count) ids.add(randomId());
  return [...ids];
}

/** The parameter within 1 and 500; 1 when it is not a number. */
const clamp = (text) => Math.min(Math.max(Number.parseInt(text, 10) || 1, 1), 500);

async function selectWorld(id) {
  const [row] = await sql`SELECT id, randomnumber AS "randomNumber" FROM world WHERE id = ${id}`;
  return row;
}

async function updateWorlds(count) {
  const ids = randomIds(count).sort((a, b) => a - b);
  const rows = await Promise.all(ids.map(selectWorld));
  for (const row of rows) row.randomNumber = randomId();
  // The planner keeps the order of the arrays, so that rows are locked by ascending id.
  await sql`UPDATE world SET randomnumber = new.number
    FROM unnest(${ids}::int[], ${rows.map((row) => row.randomNumber)}::int[]) AS new (id, number)
    WHERE world.id = new.id`;
  return rows;
}

async function fortunes() {
  const rows = [...(await sql`SELECT id, message FROM fortune`)];
  rows.push({ id: 0, message: 'Additional fortune added at request time.' });
  rows.sort((a, b) => (a.message < b.message ? -1 : 1));
  return template({ fortunes: rows });
}

let cached;
async function cachedWorlds(count) {
  cached ??= await sql`SELECT id, randomnumber AS "randomNumber" FROM cachedworld`;
  return Array.from({ length: count }, () => cached[Math.floor(Math.random() * cached.length)]);
}

const json = (value) => ['application/json', JSON.stringify(value)];

/** The type and the body of the answer. */
async function answer(path, query) {
  switch (path) {
    case '/json':
      return json({ message: 'Hello, World!' });
    case '/plaintext':
      return ['text/plain', 'Hello, World!'];
    case '/db':
      return json(await selectWorld(randomId()));
    case '/queries':
      return json(await Promise.all(randomIds(clamp(query.get('queries'))).map(selectWorld)));
    case '/fortunes':
      return ['text/html; charset=utf-8', await fortunes()];
    case '/updates':
      return json(await updateWorlds(clamp(query.get('queries'))));
    case '/cached-queries':
      return json(await cachedWorlds(clamp(query.get('count'))));
  }
}

async function serve(request, response) {
  const [path, query] = request.url.split('?', 2);
  let status = 200;
  let body = ['text/plain', ''];
  try {
    const found = await answer(path, new URLSearchParams(query));
    if (found) body = found;
    else status = 404;
  } catch (error) {
    status = 500;
    body = ['text/plain', String(error)];
  }
  // Node sets Date.
  response.writeHead(status, {
    Server: 'Node.js',
    'Content-Type': body[0],
    'Content-Length': Buffer.byteLength(body[1]),
  });
  response.end(body[1]);
}

if (workers > 1 && cluster.isPrimary) {
  // The primary accepts and hands connections out in turn. Workers end with it, and it ends
  // with the first of them.
  for (let i = 0; i < workers; i++) cluster.fork();
  cluster.on('exit', (_worker, code) => process.exit(code || 1));
} else {
  // Idle connections stay open: at a low rate, a time-out would look like a failure.
  createServer({ keepAliveTimeout: 0 }, serve).listen({ host, port, backlog: 4096 });
}
