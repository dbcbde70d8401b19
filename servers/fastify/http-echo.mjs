// Fastify, answering "<path> at <date>".
import { create, listen } from './listen.mjs';

await listen(() => {
  const app = create();
  app.get('*', (request, reply) => {
    // toUTCString() is an IMF-fixdate.
    reply.type('text/plain').send(`${request.raw.url} at ${new Date().toUTCString()}`);
  });
  return app;
});
