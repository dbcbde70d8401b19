// Fastify, answering "<path> at <date>": http-echo.mjs HOST PORT [WORKERS]
import cluster from 'node:cluster';
import fastify from 'fastify';

const [host, ...numbers] = process.argv.slice(2);
const [port, workers = 1] = numbers.map(Number);

if (workers > 1 && cluster.isPrimary) {
  // The primary accepts and hands connections out in turn. Workers end with it, and it ends
  // with the first of them.
  for (let i = 0; i < workers; i++) cluster.fork();
  cluster.on('exit', (_worker, code) => process.exit(code || 1));
} else {
  const app = fastify();
  // Idle connections stay open: at a low rate, a time-out would look like a failure. (Among
  // Fastify's own options, 0 means its default.)
  app.server.keepAliveTimeout = 0;
  app.get('*', (request, reply) => {
    // toUTCString() is an IMF-fixdate.
    reply.type('text/plain').send(`${request.raw.url} at ${new Date().toUTCString()}`);
  });
  await app.listen({ host, port, backlog: 4096 });
}
