import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.util.Map;
import java.util.function.Function;

/** Serves one contract with Netty: Main CONTRACT HOST PORT [plain|tls|h2c|h2|h3 [CERT KEY]]. */
public final class Main {
    private static final Map<String, Function<FullHttpRequest, FullHttpResponse>> CONTRACTS =
            Map.of("http-echo", HttpEcho::answer, "fibonacci", Fibonacci::answer);
    static final int MAX_BODY = 64 * 1024;

    public static void main(String[] args) throws Exception {
        if (args.length < 3 || !(CONTRACTS.containsKey(args[0]) || args[0].equals("ws-echo"))) {
            System.err.println("usage: Main http-echo|fibonacci|ws-echo HOST PORT [plain|tls|h2c|h2|h3 [CERT KEY]]");
            System.exit(2);
        }
        var contract = CONTRACTS.get(args[0]);
        String over = args.length > 3 ? args[3] : "plain";
        if (over.equals("h3")) {
            OverQuic.serve(args[1], Integer.parseInt(args[2]), args[4], args[5], contract);
            return;
        }
        boolean http2 = over.startsWith("h2");
        SslContext tls = over.equals("tls") || over.equals("h2") ? tls(args[4], args[5], http2) : null;
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
                            if (contract == null) {
                                speakWebSocket(channel);
                                return;
                            }
                            ChannelPipeline pipeline = channel.pipeline();
                            if (tls != null) {
                                pipeline.addLast(tls.newHandler(channel.alloc()));
                            }
                            if (http2) {
                                http2(pipeline, contract);
                            } else {
                                http1(pipeline, contract);
                            }
                        }
                    })
                    .bind(args[1], Integer.parseInt(args[2])).sync()
                    .channel().closeFuture().sync();
        } finally {
            loops.shutdownGracefully();
        }
    }

    private static void speakWebSocket(SocketChannel channel) {
        var config = WebSocketServerProtocolConfig.newBuilder()
                .websocketPath("/")
                .decoderConfig(WebSocketDecoderConfig.newBuilder()
                        .maxFramePayloadLength(WsEcho.MAX_MESSAGE)
                        .build())
                .build();
        channel.pipeline().addLast(
                new HttpServerCodec(),
                new HttpObjectAggregator(MAX_BODY),
                new WebSocketServerProtocolHandler(config),
                new WebSocketFrameAggregator(WsEcho.MAX_MESSAGE),
                new WsEcho());
    }

    private static SslContext tls(String cert, String key, boolean http2) throws Exception {
        return SslContextBuilder.forServer(new File(cert), new File(key))
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE,
                        SelectedListenerFailureBehavior.ACCEPT,
                        http2 ? "h2" : "http/1.1"))
                .build();
    }

    private static void http1(
            ChannelPipeline pipeline, Function<FullHttpRequest, FullHttpResponse> contract) {
        pipeline.addLast(
                new HttpServerCodec(),
                new HttpServerKeepAliveHandler(),
                new HttpObjectAggregator(MAX_BODY),
                new Handler(contract));
    }

    /** Each stream is a channel of its own, in which frames become the objects of HTTP/1.1. */
    private static void http2(
            ChannelPipeline pipeline, Function<FullHttpRequest, FullHttpResponse> contract) {
        pipeline.addLast(
                Http2FrameCodecBuilder.forServer().build(),
                new Http2MultiplexHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel stream) {
                        stream.pipeline().addLast(
                                new Http2StreamFrameToHttpObjectCodec(true),
                                new HttpObjectAggregator(MAX_BODY),
                                new Handler(contract));
                    }
                }));
    }
}
