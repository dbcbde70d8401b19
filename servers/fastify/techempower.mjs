// The techempower contract on Fastify, node-postgres and Handlebars.
import postgres from '@fastify/postgres';
import view from '@fastify/view';
import handlebars from 'handlebars';
import { create, listen, workers } from './listen.mjs';

const WORLDS = 10_000;

// Schemas of responses: Fastify compiles a serialiser from each.
const message = { type: 'object', properties: { message: { type: 'string' } } };
const world = {
  type: 'object',
  properties: { id: { type: 'integer' }, randomNumber: { type: 'integer' } },
};
const returns = (schema) => ({ schema: { response: { 200: schema } } });
const returnsWorlds = returns({ type: 'array', items: world });

const randomId = () => 1 + Math.floor(Math.random() * WORLDS);

function randomIds(count) {
  const ids = new Set();
  while (ids.size < count) ids.add(randomId());
  return [...ids];
}

/** The parameter within 1 and 500; 1 when it is not a number. */
const clamp = (text) => Math.min(Math.max(Number.parseInt(text, 10) || 1, 1), 500);

async function selectWorld(client, id) {
  const { rows } = await client.query({
    name: 'world',
    text: 'SELECT id, randomnumber AS "randomNumber" FROM world WHERE id = $1',
    values: [id],
  });
  return rows[0];
}

async function selectWorlds(client, ids) {
  const rows = [];
  for (const id of ids) rows.push(await selectWorld(client, id));
  return rows;
}

async function build() {
  const app = create();
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('Server', 'Fastify');
  });
  app.register(view, { engine: { handlebars }, root: import.meta.dirname, production: true });
  // It connects when a connection is first needed.
  await app.register(postgres, {
    connectionString: process.env.DATABASE_URL,
    max: Math.max(Math.floor(Number(process.env.DATABASE_MAX_CONN) / workers), 1),
  });
  // The pool has already dropped an idle connection that broke; without a listener Node would end.
  app.pg.pool.on('error', () => {});

  async function withClient(work) {
    const client = await app.pg.connect();
    try {
      return await work(client);
    } finally {
      client.release();
    }
  }

  let cached;
  async function cachedWorlds() {
    if (!cached) {
      const text = 'SELECT id, randomnumber AS "randomNumber" FROM cachedworld';
      cached = (await app.pg.query(text)).rows;
    }
    return cached;
  }

  app.get('/json', returns(message), async () => ({ message: 'Hello, World!' }));

  app.get('/plaintext', async (_request, reply) => reply.type('text/plain').send('Hello, World!'));

  app.get('/db', returns(world), () => selectWorld(app.pg, randomId()));

  app.get('/queries', returnsWorlds, ({ query }) =>
    withClient((client) => selectWorlds(client, randomIds(clamp(query.queries)))),
  );

  app.get('/fortunes', async (_request, reply) => {
    const { rows } = await app.pg.query({ name: 'fortunes', text: 'SELECT id, message FROM fortune' });
    const fortunes = [...rows, { id: 0, message: 'Additional fortune added at request time.' }];
    fortunes.sort((a, b) => (a.message < b.message ? -1 : 1));
    return reply.view('fortunes.hbs', { fortunes });
  });

  app.get('/updates', returnsWorlds, ({ query }) =>
    withClient(async (client) => {
      const ids = randomIds(clamp(query.queries)).sort((a, b) => a - b);
      const rows = await selectWorlds(client, ids);
      for (const row of rows) row.randomNumber = randomId();
      // The planner keeps the order of the arrays, so that rows are locked by ascending id.
      await client.query({
        name: 'update',
        text: `UPDATE world SET randomnumber = new.number
          FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id`,
        values: [ids, rows.map((row) => row.randomNumber)],
      });
      return rows;
    }),
  );

  app.get('/cached-queries', returnsWorlds, async ({ query }) => {
    const worlds = await cachedWorlds();
    return Array.from(
      { length: clamp(query.count) },
      () => worlds[Math.floor(Math.random() * worlds.length)],
    );
  });

  return app;
}

await listen(build);
