import { serveHttp } from './http.mjs';

serveHttp((request, response) => {
  // toUTCString() is an IMF-fixdate.
  const body = `${request.url} at ${new Date().toUTCString()}`;
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': body.length });
  // Node reads targets as Latin-1: one character is one byte, both ways.
  response.end(body, 'latin1');
});
