import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;

/** Sends every message back as it came. */
final class WsEcho extends SimpleChannelInboundHandler<WebSocketFrame> {
    /** Longer messages are refused. */
    static final int MAX_MESSAGE = 64 << 20;

    @Override
    protected void channelRead0(ChannelHandlerContext context, WebSocketFrame message) {
        context.write(message.retain());
    }

    /** Sends the answers to all messages that came in one read together. */
    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    /** The peer has broken the protocol or the connection. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
