import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import java.util.Map;
import java.util.function.Function;

/** Serves one contract with Netty: Main CONTRACT HOST PORT. */
public final class Main {
    private static final Map<String, Function<FullHttpRequest, FullHttpResponse>> CONTRACTS =
            Map.of("http-echo", HttpEcho::answer, "fibonacci", Fibonacci::answer);
    private static final int MAX_BODY = 64 * 1024;

    public static void main(String[] args) throws InterruptedException {
        if (args.length != 3 || !CONTRACTS.containsKey(args[0])) {
            System.err.println("usage: Main http-echo|fibonacci HOST PORT");
            System.exit(2);
        }
        var contract = CONTRACTS.get(args[0]);
        var loops = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
        try {
            new ServerBootstrap()
                    .group(loops)
                    .channel(NioServerSocketChannel.class)
                    .option(ChannelOption.SO_BACKLOG, 4096)
                    .childOption(ChannelOption.TCP_NODELAY, true)
                    .childHandler(new ChannelInitializer<SocketChannel>() {
                        @Override
                        protected void initChannel(SocketChannel channel) {
                            channel.pipeline().addLast(
                                    new HttpServerCodec(),
                                    new HttpServerKeepAliveHandler(),
                                    new HttpObjectAggregator(MAX_BODY),
                                    new Handler(contract));
                        }
                    })
                    .bind(args[1], Integer.parseInt(args[2])).sync()
                    .channel().closeFuture().sync();
        } finally {
            loops.shutdownGracefully();
        }
    }
}
