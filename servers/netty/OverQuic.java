import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http3.Http3;
import io.netty.handler.codec.http3.Http3FrameToHttpObjectCodec;
import io.netty.handler.codec.http3.Http3ServerConnectionHandler;
import io.netty.handler.codec.quic.QuicChannel;
import io.netty.handler.codec.quic.QuicSslContext;
import io.netty.handler.codec.quic.QuicSslContextBuilder;
import io.netty.handler.codec.quic.QuicStreamChannel;
import java.io.File;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.util.ArrayList;
import java.util.function.Function;

/** HTTP/3: each event loop has a UDP socket, over which the kernel spreads the connections. */
final class OverQuic {
    private static final int WINDOW = 1024 * 1024;
    private static final int STREAMS = 256;
    /** As far as the machine allows: all connections of a loop have but this one socket. */
    private static final int RECEIVE_BUFFER = 4 * 1024 * 1024;

    private OverQuic() {}

    static void serve(
            String host,
            int port,
            String cert,
            String key,
            Function<FullHttpRequest, FullHttpResponse> contract)
            throws Exception {
        QuicSslContext tls = QuicSslContextBuilder.forServer(new File(key), null, new File(cert))
                .applicationProtocols(Http3.supportedApplicationProtocols())
                .build();
        var loops = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
        try {
            var sockets = new ArrayList<Channel>();
            for (int i = 0; i < loops.executorCount(); i++) {
                sockets.add(new Bootstrap()
                        .group(loops)
                        .channel(NioDatagramChannel.class)
                        .option(NioChannelOption.of(StandardSocketOptions.SO_REUSEPORT), true)
                        .option(ChannelOption.SO_RCVBUF, RECEIVE_BUFFER)
                        .handler(Http3.newQuicServerCodecBuilder()
                                .sslContext(tls)
                                .initialMaxData(16 * WINDOW)
                                .initialMaxStreamDataBidirectionalRemote(WINDOW)
                                .initialMaxStreamsBidirectional(STREAMS)
                                .handler(connection(contract))
                                .build())
                        .bind(new InetSocketAddress(host, port)).sync()
                        .channel());
            }
            for (Channel socket : sockets) {
                socket.closeFuture().sync();
            }
        } finally {
            loops.shutdownGracefully();
        }
    }

    /** Each stream is a channel of its own, in which frames become the objects of HTTP/1.1. */
    private static ChannelInitializer<QuicChannel> connection(
            Function<FullHttpRequest, FullHttpResponse> contract) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(QuicChannel connection) {
                connection.pipeline().addLast(new Http3ServerConnectionHandler(
                        new ChannelInitializer<QuicStreamChannel>() {
                            @Override
                            protected void initChannel(QuicStreamChannel stream) {
                                stream.pipeline().addLast(
                                        new Http3FrameToHttpObjectCodec(true),
                                        new HttpObjectAggregator(Main.MAX_BODY),
                                        new Handler(contract));
                            }
                        }));
            }
        };
    }
}
