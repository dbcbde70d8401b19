import static io.netty.handler.codec.http.HttpHeaderNames.CONNECTION;
import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_LENGTH;
import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_TYPE;
import static io.netty.handler.codec.http.HttpHeaderValues.CLOSE;
import static io.netty.handler.codec.http.HttpHeaderValues.TEXT_PLAIN;
import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.util.function.Function;

/** Answers the requests of one connection. */
final class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
    private final Function<FullHttpRequest, FullHttpResponse> contract;

    Handler(Function<FullHttpRequest, FullHttpResponse> contract) {
        this.contract = contract;
    }

    static FullHttpResponse response(HttpResponseStatus status, CharSequence type, byte[] body) {
        var content = Unpooled.wrappedBuffer(body);
        var response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, content);
        response.headers().set(CONTENT_TYPE, type).setInt(CONTENT_LENGTH, body.length);
        return response;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
        if (request.decoderResult().isSuccess()) {
            FullHttpResponse response = contract.apply(request);
            // Netty sees to it over HTTP/1.1 alone.
            if (HttpMethod.HEAD.equals(request.method())) {
                response.content().clear();
            }
            context.write(response);
        } else {
            // What follows cannot be understood either.
            FullHttpResponse refusal = response(BAD_REQUEST, TEXT_PLAIN, new byte[0]);
            refusal.headers().set(CONNECTION, CLOSE);
            context.write(refusal);
        }
    }

    /** Sends the answers to all requests that came in one read together. */
    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    /** The peer has reset the connection, most likely. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
