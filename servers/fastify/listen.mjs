// How the applications listen: SCRIPT HOST PORT [WORKERS [plain|tls|h2c|h2 [CERT KEY]]]
import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import fastify from 'fastify';

const [host, ...rest] = process.argv.slice(2);
const [port, count = 1] = rest.slice(0, 2).map(Number);
const [over = 'plain', cert, key] = rest.slice(2);

export const workers = count;

/** An application without routes. */
export function create() {
  const app = fastify({
    http2: over === 'h2' || over === 'h2c',
    ...(cert && { https: { cert: readFileSync(cert), key: readFileSync(key) } }),
  });
  // Idle connections stay open: at a low rate, a time-out would look like a failure. (Among
  // Fastify's own options, 0 means its default.)
  app.server.keepAliveTimeout = 0;
  return app;
}

/** Starts the workers, each with the application that `build` gives. */
export async function listen(build) {
  if (workers > 1 && cluster.isPrimary) {
    // The primary accepts and hands connections out in turn. Workers end with it, and it ends
    // with the first of them.
    for (let i = 0; i < workers; i++) cluster.fork();
    cluster.on('exit', (_worker, code) => process.exit(code || 1));
    return;
  }
  const app = await build();
  await app.listen({ host, port, backlog: 4096 });
}
