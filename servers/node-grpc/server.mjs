// The contract grpc-echo with @grpc/grpc-js: server.mjs HOST PORT [WORKERS]
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const [host, ...numbers] = process.argv.slice(2);
const [port, workers = 1] = numbers.map(Number);
if (!(port >= 1 && port <= 65535 && workers >= 1)) {
  console.error('usage: node server.mjs HOST PORT [WORKERS]');
  process.exit(2);
}

// Numbers of 64 bits as text: a number of JavaScript holds 53 of them.
const file = fileURLToPath(new URL('echo.proto', import.meta.url));
const definition = loader.loadSync(file, { longs: String });
const { EchoService } = grpc.loadPackageDefinition(definition).prony.echo;

const methods = {
  Echo(call, answer) {
    answer(null, call.request);
  },
  Fail(call, answer) {
    answer({ code: call.request.code, details: call.request.text });
  },
  async Stream(call) {
    const { payload, times } = call.request;
    const first = BigInt(payload.number ?? 0);
    for (let i = 0; i < times && !call.cancelled; i++) {
      const room = call.write({ ...payload, number: String(first + BigInt(i)) });
      if (!room) await new Promise((resolve) => call.once('drain', resolve));
    }
    call.end();
  },
};

if (workers > 1 && cluster.isPrimary) {
  // The primary accepts and hands connections out in turn. Workers end with it, and it ends
  // with the first of them.
  for (let i = 0; i < workers; i++) cluster.fork();
  cluster.on('exit', (_worker, code) => process.exit(code || 1));
} else {
  const server = new grpc.Server();
  server.addService(EchoService.service, methods);
  const at = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  server.bindAsync(at, grpc.ServerCredentials.createInsecure(), (error) => {
    if (error) {
      console.error(error.message);
      process.exit(1);
    }
  });
}
