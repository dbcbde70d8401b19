import static io.netty.handler.codec.http.HttpHeaderValues.TEXT_PLAIN;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;

import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Date;

/** GET /any/path -> "/any/path at [date]". */
final class HttpEcho {
    private HttpEcho() {}

    static FullHttpResponse answer(FullHttpRequest request) {
        String body = request.uri() + " at " + DateFormatter.format(new Date());
        return Handler.response(OK, TEXT_PLAIN, body.getBytes(StandardCharsets.ISO_8859_1));
    }
}
