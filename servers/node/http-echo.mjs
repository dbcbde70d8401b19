import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { serve } from './workers.mjs';

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

serve(() =>
  create(options, (request, response) => {
    // toUTCString() is an IMF-fixdate.
    const body = `${request.url} at ${new Date().toUTCString()}`;
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': body.length });
    // Node reads targets as Latin-1: one character is one byte, both ways.
    response.end(body, 'latin1');
  }));
