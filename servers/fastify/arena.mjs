// The arena contract on Fastify and node-postgres.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import postgres from '@fastify/postgres';
import { files } from './files.mjs';
import { create, listen, workers } from './listen.mjs';

const KEPT = 200;

const gzip = promisify(zlib.gzip);
const brotli = promisify(zlib.brotliCompress);
// The default, 11, is for files that are compressed once.
const brotliOptions = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };

// Schemas of responses: Fastify compiles a serialiser from each.
const integer = { type: 'integer' };
const string = { type: 'string' };
const properties = {
  id: integer,
  name: string,
  category: string,
  price: integer,
  quantity: integer,
  active: { type: 'boolean' },
  tags: { type: 'array', items: string },
  rating: { type: 'object', properties: { score: integer, count: integer } },
};
const item = { type: 'object', properties };
const itemWithTotal = { type: 'object', properties: { ...properties, total: integer } };
const listOf = (items) => ({
  type: 'object',
  properties: { items: { type: 'array', items }, count: integer },
});
const returns = (schema) => ({ schema: { response: { '2xx': schema } } });

const COLUMNS = `id, name, category, price, quantity, active, tags,
  json_build_object('score', rating_score, 'count', rating_count) AS rating`;
const BY_PRICE = `SELECT ${COLUMNS} FROM items WHERE price BETWEEN $1 AND $2 ORDER BY id LIMIT $3`;
const BY_ID = `SELECT ${COLUMNS} FROM items WHERE id = $1`;
const BY_CATEGORY = `SELECT ${COLUMNS} FROM items WHERE category = $1 ORDER BY id LIMIT $2 OFFSET $3`;
const UPDATE = `UPDATE items SET name = $2, price = $3, quantity = $4 WHERE id = $1
  RETURNING ${COLUMNS}`;
const UPSERT = `INSERT INTO items (id, name, category, price, quantity) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, category = EXCLUDED.category,
  price = EXCLUDED.price, quantity = EXCLUDED.quantity RETURNING ${COLUMNS}`;

/** The parameter, or the default when it is not a number. */
function number(text, otherwise) {
  const value = Number.parseInt(text, 10);
  return Number.isNaN(value) ? otherwise : value;
}

const clamp = (value) => Math.min(Math.max(value, 1), 50);

async function build() {
  const { DOCROOT } = process.env;
  const dataset = JSON.parse(readFileSync(path.join(DOCROOT, 'dataset.json'), 'utf8'));
  const folder = files(path.join(DOCROOT, 'static'));
  const app = create();
  // It connects when a connection is first needed.
  await app.register(postgres, {
    connectionString: process.env.DATABASE_URL,
    max: Math.max(Math.floor(Number(process.env.DATABASE_MAX_CONN) / workers), 1),
  });
  // The pool has already dropped an idle connection that broke; without a listener Node would end.
  app.pg.pool.on('error', () => {});
  // Its stream, instead of the whole body in memory.
  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => {
    done(null, payload);
  });

  const select = async (name, text, values) => (await app.pg.query({ name, text, values })).rows;
  const list = (items) => ({ items, count: items.length });
  // Items by id, and when they were read.
  const cache = new Map();

  const sum = async ({ query, body }, reply) =>
    reply.type('text/plain').send(`${Number(query.a) + Number(query.b) + Number(body ?? 0)}`);
  app.get('/baseline11', sum);
  app.post('/baseline11', sum);

  app.get('/pipeline', async (_request, reply) => reply.type('text/plain').send('ok'));

  app.get('/json/:count', returns(listOf(itemWithTotal)), async ({ params, query, headers }, reply) => {
    const m = number(query.m, 1);
    const items = dataset
      .slice(0, number(params.count, 0))
      .map((each) => ({ ...each, total: each.price * each.quantity * m }));
    const accepted = headers['accept-encoding'] ?? '';
    const coding = ['br', 'gzip'].find((each) => accepted.includes(each));
    if (!coding) return list(items);
    const text = reply.serialize(list(items));
    reply.type('application/json').header('content-encoding', coding);
    return reply.send(coding === 'br' ? await brotli(text, brotliOptions) : await gzip(text));
  });

  app.get('/static/:name', async ({ params, headers }, reply) => {
    const file = folder.get(params.name);
    if (!file) return reply.callNotFound();
    const accepted = headers['accept-encoding'] ?? '';
    const coding = ['br', 'gzip'].find((each) => file[each] && accepted.includes(each));
    if (coding) reply.header('content-encoding', coding);
    return reply.type(file.media).header('vary', 'accept-encoding').send(file[coding ?? 'plain']);
  });

  app.post('/upload', { bodyLimit: 2 ** 30 }, async ({ body }, reply) => {
    let size = 0;
    for await (const piece of body) size += piece.length;
    return reply.type('text/plain').send(`${size}`);
  });

  app.get('/async-db', returns(listOf(item)), async ({ query }) => {
    const limit = clamp(number(query.limit, 50));
    return list(await select('price', BY_PRICE, [number(query.min, 10), number(query.max, 50), limit]));
  });

  app.get('/crud/items', returns(listOf(item)), async ({ query }) => {
    const limit = clamp(number(query.limit, 10));
    const offset = (Math.max(number(query.page, 1), 1) - 1) * limit;
    return list(await select('category', BY_CATEGORY, [query.category, limit, offset]));
  });

  app.get('/crud/items/:id', returns(item), async ({ params }, reply) => {
    const id = Number(params.id);
    const now = performance.now();
    const kept = cache.get(id);
    if (kept && now - kept.read < KEPT) {
      reply.header('X-Cache', 'HIT');
      return kept.item;
    }
    const [found] = await select('id', BY_ID, [id]);
    if (!found) return reply.callNotFound();
    cache.set(id, { item: found, read: now });
    reply.header('X-Cache', 'MISS');
    return found;
  });

  app.put('/crud/items/:id', returns(item), async ({ params, body }, reply) => {
    const id = Number(params.id);
    const [found] = await select('update', UPDATE, [id, body.name, body.price, body.quantity]);
    cache.delete(id);
    return found ?? reply.callNotFound();
  });

  app.post('/crud/items', returns(item), async ({ body }, reply) => {
    const { id, name, category, price, quantity } = body;
    const [created] = await select('upsert', UPSERT, [id, name, category, price, quantity]);
    cache.delete(id);
    return reply.code(201).send(created);
  });

  return app;
}

await listen(build);
