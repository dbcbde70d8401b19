// Starts a server's workers: `node SCRIPT HOST PORT [WORKERS]`.
import cluster from 'node:cluster';

/** @param {() => import('node:net').Server} createServer */
export function serve(createServer) {
  const [host, ...numbers] = process.argv.slice(2);
  const [port, workers = 1] = numbers.map(Number);
  if (!(port >= 1 && port <= 65535 && workers >= 1)) {
    console.error('usage: node SCRIPT HOST PORT [WORKERS]');
    process.exit(2);
  }
  if (workers > 1 && cluster.isPrimary) {
    startWorkers(workers);
    return;
  }
  const server = createServer();
  server.on('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  server.listen({ host, port, backlog: 4096 });
}

// The primary accepts and hands connections out in turn, which spreads them evenly.
// A worker whose primary is gone ends by itself; when a worker fails, so does the whole.
function startWorkers(count) {
  for (let i = 0; i < count; i++) cluster.fork();
  cluster.on('exit', (_worker, code) => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
    process.exit(code || 1);
  });
}
