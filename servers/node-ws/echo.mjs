// WebSocket echo on ws: echo.mjs HOST PORT [WORKERS]
import cluster from 'node:cluster';
import { WebSocketServer } from 'ws';

const [host, ...numbers] = process.argv.slice(2);
const [port, workers = 1] = numbers.map(Number);

if (workers > 1 && cluster.isPrimary) {
  // The primary accepts and hands connections out in turn. Workers end with it, and it ends
  // with the first of them.
  for (let i = 0; i < workers; i++) cluster.fork();
  cluster.on('exit', (_worker, code) => process.exit(code || 1));
} else {
  const server = new WebSocketServer({ host, port, backlog: 4096 });
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    // A client that breaks the protocol or the connection: ws closes it.
    socket.on('error', () => {});
  });
}
