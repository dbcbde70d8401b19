import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A TCP echo server: one selector per worker thread. The first worker accepts as well. */
public final class TcpEcho {
    public static void main(String[] args) throws IOException {
        if (args.length < 2 || args.length > 3) {
            System.err.println("usage: TcpEcho HOST PORT [WORKERS]");
            System.exit(2);
        }
        var address = new InetSocketAddress(args[0], Integer.parseInt(args[1]));
        var loops = new EventLoop[args.length == 3 ? Integer.parseInt(args[2]) : 1];
        for (int i = 0; i < loops.length; i++) loops[i] = new EventLoop();

        var listener = ServerSocketChannel.open();
        try {
            listener.bind(address, 4096);
        } catch (IOException e) {
            System.err.println("cannot listen on " + args[0] + ", port " + args[1] + ": " + e.getMessage());
            System.exit(1);
        }
        loops[0].accept(listener, loops);

        for (int i = 1; i < loops.length; i++) new Thread(loops[i]).start();
        loops[0].run();
    }

    private static final class EventLoop implements Runnable {
        private final Selector selector = Selector.open();
        private final Queue<SocketChannel> accepted = new ConcurrentLinkedQueue<>();
        /** Shared by all connections of the loop: it is empty whenever one is left. */
        private final ByteBuffer buffer = ByteBuffer.allocateDirect(64 * 1024);
        private EventLoop[] loops;
        private int next;

        EventLoop() throws IOException {}

        void accept(ServerSocketChannel listener, EventLoop[] loops) throws IOException {
            this.loops = loops;
            listener.configureBlocking(false);
            listener.register(selector, SelectionKey.OP_ACCEPT);
        }

        @Override
        public void run() {
            try {
                while (true) {
                    selector.select(this::handle);
                    for (SocketChannel channel; (channel = accepted.poll()) != null; ) {
                        channel.register(selector, SelectionKey.OP_READ);
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void handle(SelectionKey key) {
            try {
                if (key.isAcceptable()) {
                    acceptAll((ServerSocketChannel) key.channel());
                } else if (key.isWritable()) {
                    resume(key);
                } else {
                    echo(key);
                }
            } catch (IOException e) {
                close(key);
            }
        }

        private void acceptAll(ServerSocketChannel listener) throws IOException {
            for (SocketChannel channel; (channel = listener.accept()) != null; ) {
                channel.configureBlocking(false);
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                EventLoop loop = loops[next++ % loops.length];
                if (loop == this) {
                    channel.register(selector, SelectionKey.OP_READ);
                } else {
                    // Registering from here would wait for the other thread's select() to return.
                    loop.accepted.add(channel);
                    loop.selector.wakeup();
                }
            }
        }

        private void echo(SelectionKey key) throws IOException {
            var channel = (SocketChannel) key.channel();
            buffer.clear();
            if (channel.read(buffer) < 0) {
                close(key);
                return;
            }
            channel.write(buffer.flip());
            if (buffer.hasRemaining()) {
                // The peer reads too slowly: keep the rest, and read no more until it is gone.
                key.attach(ByteBuffer.allocateDirect(buffer.remaining()).put(buffer).flip());
                key.interestOps(SelectionKey.OP_WRITE);
            }
        }

        private void resume(SelectionKey key) throws IOException {
            var rest = (ByteBuffer) key.attachment();
            ((SocketChannel) key.channel()).write(rest);
            if (!rest.hasRemaining()) {
                key.attach(null);
                key.interestOps(SelectionKey.OP_READ);
            }
        }

        private static void close(SelectionKey key) {
            try {
                key.channel().close();
            } catch (IOException e) {
                // The connection is gone either way.
            }
        }
    }
}
