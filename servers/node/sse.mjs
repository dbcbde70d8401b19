import { setTimeout as sleep } from 'node:timers/promises';
import { serveHttp } from './http.mjs';

const ASKED = /^\/events\/(\d+)\/(\d+)\/([^/]+)$/;

serveHttp(async (request, response) => {
  const asked = ASKED.exec(request.url);
  if (!asked || request.method !== 'GET') {
    response.writeHead(404, { 'Content-Length': 0 });
    response.end();
    return;
  }
  const [n, gap] = [Number(asked[1]), Number(asked[2])];
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  for (let i = 1; i <= n && !response.destroyed; i += 1) {
    if (i > 1 && gap > 0) await sleep(gap);
    response.write(`data: ${asked[3]} ${i}\n\n`);
  }
  response.end('data: [DONE]\n\n');
});
