import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.concurrent.Executors;

/** The JDK's own HTTP server, answering "<path> at <date>". */
public final class HttpEcho {
    private static final DateTimeFormatter IMF_FIXDATE =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH)
                    .withZone(ZoneOffset.UTC);

    private record Date(long second, String text) {}

    private static volatile Date date = new Date(0, "");

    public static void main(String[] args) throws IOException {
        if (args.length != 2) {
            System.err.println("usage: HttpEcho HOST PORT");
            System.exit(2);
        }
        // The server writes head and body apart: without this, the second waits for an ACK.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        // By default only 200 idle connections are kept, and those for 30 seconds.
        System.setProperty("sun.net.httpserver.maxIdleConnections", "100000");
        System.setProperty("sun.net.httpserver.idleInterval", "3600");
        System.setProperty("sun.net.httpserver.maxReqHeaderSize", "16384");

        var address = new InetSocketAddress(args[0], Integer.parseInt(args[1]));
        HttpServer server = null;
        try {
            server = HttpServer.create(address, 4096);
        } catch (IOException e) {
            System.err.println("cannot listen on " + args[0] + ", port " + args[1] + ": " + e.getMessage());
            System.exit(1);
        }
        // Every target but one that begins with "//": the library takes that for a host, and
        // answers 404 by itself.
        server.createContext("/", HttpEcho::echo);
        // A request is read and answered by one blocking thread. With a fixed number of
        // threads as many slow clients would stop every client; this pool grows instead.
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }

    private static void echo(HttpExchange exchange) throws IOException {
        byte[] body = (exchange.getRequestURI() + " at " + now()).getBytes(StandardCharsets.ISO_8859_1);
        exchange.getResponseHeaders().set("Content-Type", "text/plain");
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(200, -1);
        } else {
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
        }
        exchange.close();
    }

    /** The time, formatted once a second. */
    private static String now() {
        long second = System.currentTimeMillis() / 1000;
        Date last = date;
        if (last.second != second) {
            date = last = new Date(second, IMF_FIXDATE.format(Instant.ofEpochSecond(second)));
        }
        return last.text;
    }
}
