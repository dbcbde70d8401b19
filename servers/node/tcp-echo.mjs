import net from 'node:net';
import { serve } from './workers.mjs';

// Half-open sockets: after the peer's FIN, pipe() sends the rest and then ends our side.
serve(() =>
  net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  }));
