// The techempower contract on Vert.x, its PostgreSQL client and Handlebars: HOST PORT WORKERS
import io.vertx.core.AbstractVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.templ.handlebars.HandlebarsTemplateEngine;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.SqlClient;
import io.vertx.sqlclient.Tuple;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

/** One for each event loop: a listener and its share of the connections to the database. */
public class Main extends AbstractVerticle {
    private static final int WORLDS = 10_000;
    private static final String SELECT_WORLD = "SELECT id, randomnumber FROM world WHERE id = $1";
    private static final String SELECT_CACHED = "SELECT id, randomnumber FROM cachedworld";
    private static final String SELECT_FORTUNES = "SELECT id, message FROM fortune";
    // The planner keeps the order of the arrays, so that rows are locked by ascending id.
    private static final String UPDATE =
            "UPDATE world SET randomnumber = new.number "
                    + "FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id";
    // An IMF-fixdate has two digits for the day; RFC_1123_DATE_TIME may have one.
    private static final DateTimeFormatter DATE =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ROOT)
                    .withZone(ZoneOffset.UTC);

    public record Fortune(int id, String message) {}

    private final HttpServerOptions listener;
    private final int connections;
    private Pool pool;
    private HandlebarsTemplateEngine templates;
    private String date;
    private long shown;
    private Future<List<JsonObject>> cached;

    Main(HttpServerOptions listener, int connections) {
        this.listener = listener;
        this.connections = connections;
    }

    public static void main(String[] args) {
        int workers = Integer.parseInt(args[2]);
        int most = Integer.parseInt(System.getenv("DATABASE_MAX_CONN"));
        HttpServerOptions listener =
                new HttpServerOptions()
                        .setHost(args[0])
                        .setPort(Integer.parseInt(args[1]))
                        .setAcceptBacklog(4096);
        Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(workers));
        vertx.deployVerticle(
                        () -> new Main(listener, Math.max(most / workers, 1)),
                        new DeploymentOptions().setInstances(workers))
                .onFailure(
                        error -> {
                            System.err.println(error.getMessage());
                            System.exit(1);
                        });
    }

    @Override
    public void start(Promise<Void> started) {
        PgConnectOptions database =
                PgConnectOptions.fromUri(System.getenv("DATABASE_URL"))
                        .setCachePreparedStatements(true);
        // Connects when a connection is first needed.
        pool =
                PgBuilder.pool()
                        .with(new PoolOptions().setMaxSize(connections))
                        .connectingTo(database)
                        .using(vertx)
                        .build();
        templates = HandlebarsTemplateEngine.create(vertx);

        Router router = Router.router(vertx);
        router.route().handler(this::addHeaders);
        router.get("/json").handler(ctx -> ctx.json(new JsonObject().put("message", "Hello, World!")));
        router.get("/plaintext").handler(this::plaintext);
        router.get("/db").handler(ctx -> selectWorld(pool, randomId()).onComplete(ctx::json, ctx::fail));
        router.get("/queries").handler(this::queries);
        router.get("/fortunes").handler(this::fortunes);
        router.get("/updates").handler(this::updates);
        router.get("/cached-queries").handler(this::cachedQueries);
        vertx.createHttpServer(listener)
                .requestHandler(router)
                .listen()
                .<Void>mapEmpty()
                .onComplete(started);
    }

    /** Formatted once a second, when it is asked for: a timer may come late. */
    private String date() {
        long now = System.currentTimeMillis() / 1000;
        if (now != shown) {
            date = DATE.format(Instant.ofEpochSecond(now));
            shown = now;
        }
        return date;
    }

    /** Vert.x leaves both to the application. */
    private void addHeaders(RoutingContext ctx) {
        ctx.response().putHeader(HttpHeaders.SERVER, "Vert.x").putHeader(HttpHeaders.DATE, date());
        ctx.next();
    }

    private void plaintext(RoutingContext ctx) {
        ctx.response().putHeader(HttpHeaders.CONTENT_TYPE, "text/plain").end("Hello, World!");
    }

    private void queries(RoutingContext ctx) {
        List<Integer> ids = randomIds(number(ctx, "queries"));
        pool.withConnection(connection -> selectWorlds(connection, ids))
                .onSuccess(rows -> ctx.json(new JsonArray(rows)))
                .onFailure(ctx::fail);
    }

    private void updates(RoutingContext ctx) {
        List<Integer> ids = randomIds(number(ctx, "queries")).stream().sorted().toList();
        pool.withConnection(
                        connection ->
                                selectWorlds(connection, ids)
                                        .compose(rows -> update(connection, ids, rows)))
                .onSuccess(rows -> ctx.json(new JsonArray(rows)))
                .onFailure(ctx::fail);
    }

    private Future<List<JsonObject>> update(
            SqlClient connection, List<Integer> ids, List<JsonObject> rows) {
        rows.forEach(row -> row.put("randomNumber", randomId()));
        Integer[] numbers =
                rows.stream().map(row -> row.getInteger("randomNumber")).toArray(Integer[]::new);
        Tuple update =
                Tuple.tuple()
                        .addArrayOfInteger(ids.toArray(Integer[]::new))
                        .addArrayOfInteger(numbers);
        return connection
                .preparedQuery(UPDATE)
                .execute(update)
                .map(rows);
    }

    private void fortunes(RoutingContext ctx) {
        pool.preparedQuery(SELECT_FORTUNES)
                .execute()
                .compose(
                        rows -> {
                            List<Fortune> fortunes = new ArrayList<>();
                            for (Row row : rows) {
                                fortunes.add(new Fortune(row.getInteger(0), row.getString(1)));
                            }
                            fortunes.add(new Fortune(0, "Additional fortune added at request time."));
                            fortunes.sort(Comparator.comparing(Fortune::message));
                            return templates.render(Map.of("fortunes", fortunes), "templates/fortunes.hbs");
                        })
                .onSuccess(
                        page ->
                                ctx.response()
                                        .putHeader(HttpHeaders.CONTENT_TYPE, "text/html; charset=utf-8")
                                        .end(page))
                .onFailure(ctx::fail);
    }

    private void cachedQueries(RoutingContext ctx) {
        int count = number(ctx, "count");
        cached()
                .map(
                        rows ->
                                Stream.generate(() -> rows.get(randomId() - 1))
                                        .limit(count)
                                        .toList())
                .onSuccess(rows -> ctx.json(new JsonArray(rows)))
                .onFailure(ctx::fail);
    }

    /** Read when they are first asked for, and again after a failure. */
    private Future<List<JsonObject>> cached() {
        if (cached == null || cached.failed()) {
            cached =
                    pool.query(SELECT_CACHED)
                            .execute()
                            .map(rows -> rows.stream().map(Main::world).toList());
        }
        return cached;
    }

    /** Each row by a statement of its own; all of them are sent before a result is awaited. */
    private static Future<List<JsonObject>> selectWorlds(SqlClient connection, List<Integer> ids) {
        List<Future<JsonObject>> rows =
                ids.stream().map(id -> selectWorld(connection, id)).toList();
        return Future.all(rows).map(all -> all.<JsonObject>list());
    }

    private static Future<JsonObject> selectWorld(SqlClient client, int id) {
        return client.preparedQuery(SELECT_WORLD)
                .execute(Tuple.of(id))
                .map(rows -> world(rows.iterator().next()));
    }

    private static JsonObject world(Row row) {
        return new JsonObject()
                .put("id", row.getInteger(0))
                .put("randomNumber", row.getInteger(1));
    }

    /** The parameter within 1 and 500; 1 when it is not a number. */
    private static int number(RoutingContext ctx, String name) {
        try {
            return Math.min(Math.max(Integer.parseInt(ctx.request().getParam(name, "")), 1), 500);
        } catch (NumberFormatException error) {
            return 1;
        }
    }

    private static int randomId() {
        return ThreadLocalRandom.current().nextInt(1, WORLDS + 1);
    }

    /** Distinct ones. */
    private static List<Integer> randomIds(int count) {
        return ThreadLocalRandom.current()
                .ints(1, WORLDS + 1)
                .distinct()
                .limit(count)
                .boxed()
                .toList();
    }
}
