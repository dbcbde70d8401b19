import static io.netty.handler.codec.http.HttpHeaderValues.APPLICATION_JSON;
import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.netty.buffer.ByteBufInputStream;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.util.UUID;

/** POST /fibonacci {"name": "...", "fib": n} -> the n-th Fibonacci number. */
final class Fibonacci {
    private static final int MAX_INDEX = 100_000;
    private static final ObjectMapper JSON =
            JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();

    private record Answer(UUID id, long time, String name, String service, BigInteger answer) {}

    private record Refusal(String error) {}

    private Fibonacci() {}

    static FullHttpResponse answer(FullHttpRequest request) {
        try {
            if (!request.method().equals(HttpMethod.POST) || !request.uri().equals("/fibonacci")) {
                return json(NOT_FOUND, new Refusal("not found"));
            }
            return answer(JSON.readTree((InputStream) new ByteBufInputStream(request.content())));
        } catch (IOException e) {
            return json(BAD_REQUEST, new Refusal("the body is not JSON"));
        }
    }

    private static FullHttpResponse answer(JsonNode request) {
        JsonNode name = request.path("name");
        JsonNode fib = request.path("fib");
        if (!name.isTextual()) {
            return json(BAD_REQUEST, new Refusal("name must be a string"));
        }
        if (!fib.isInt() || fib.intValue() < 0 || fib.intValue() > MAX_INDEX) {
            String error = "fib must be an integer from 0 to " + MAX_INDEX;
            return json(BAD_REQUEST, new Refusal(error));
        }
        return json(OK, new Answer(UUID.randomUUID(), System.currentTimeMillis(),
                name.textValue(), "netty", fibonacci(fib.intValue())));
    }

    private static BigInteger fibonacci(int n) {
        BigInteger a = BigInteger.ZERO;
        BigInteger b = BigInteger.ONE;
        for (int i = 0; i < n; i++) {
            BigInteger next = a.add(b);
            a = b;
            b = next;
        }
        return a;
    }

    private static FullHttpResponse json(HttpResponseStatus status, Object value) {
        try {
            return Handler.response(status, APPLICATION_JSON, JSON.writeValueAsBytes(value));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
