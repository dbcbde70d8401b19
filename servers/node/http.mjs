import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { serve } from './workers.mjs';

/** Serves over what the command line says: plain, tls, h2c or h2. */
export function serveHttp(answer) {
  const [over = 'plain', cert, key] = process.argv.slice(5);

  // Idle connections stay open: at a low rate, a time-out would look like a failure.
  const options = { keepAliveTimeout: 0 };
  if (cert) {
    options.cert = readFileSync(cert);
    options.key = readFileSync(key);
  }

  const create = {
    plain: http.createServer,
    tls: https.createServer,
    h2c: http2.createServer,
    h2: http2.createSecureServer,
  }[over];

  serve(() => create(options, answer));
}
