// The techempower contract on Ktor, JDBC with HikariCP, and kotlinx.html: HOST PORT
import com.zaxxer.hikari.HikariConfig
import com.zaxxer.hikari.HikariDataSource
import io.ktor.http.ContentType
import io.ktor.http.HttpHeaders
import io.ktor.serialization.kotlinx.json.json
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.install
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.html.respondHtml
import io.ktor.server.netty.Netty
import io.ktor.server.plugins.contentnegotiation.ContentNegotiation
import io.ktor.server.response.header
import io.ktor.server.response.respond
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.routing
import io.netty.channel.ChannelOption
import java.net.URI
import java.sql.Connection
import java.sql.PreparedStatement
import java.sql.ResultSet
import java.time.ZoneOffset
import java.time.ZonedDateTime
import java.time.format.DateTimeFormatter
import java.util.Locale
import java.util.concurrent.ThreadLocalRandom
import kotlin.system.exitProcess
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.withContext
import kotlinx.html.body
import kotlinx.html.head
import kotlinx.html.table
import kotlinx.html.td
import kotlinx.html.th
import kotlinx.html.title
import kotlinx.html.tr
import kotlinx.serialization.Serializable

const val WORLDS = 10_000
const val SELECT_WORLD = "SELECT id, randomnumber FROM world WHERE id = ?"
const val SELECT_CACHED = "SELECT id, randomnumber FROM cachedworld"
const val SELECT_FORTUNES = "SELECT id, message FROM fortune"

// The planner keeps the order of the arrays, so that rows are locked by ascending id.
const val UPDATE =
    "UPDATE world SET randomnumber = new.number " +
        "FROM unnest(?::int[], ?::int[]) AS new (id, number) WHERE world.id = new.id"

@Serializable
data class Message(val message: String)

@Serializable
data class World(val id: Int, val randomNumber: Int)

data class Fortune(val id: Int, val message: String)

fun main(args: Array<String>) {
    if (args.size != 2) {
        System.err.println("usage: server HOST PORT")
        exitProcess(2)
    }
    val connections = System.getenv("DATABASE_MAX_CONN").toInt()
    val database = Database(pool(URI(System.getenv("DATABASE_URL")), connections), connections)
    val server =
        embeddedServer(
            Netty,
            configure = {
                connector {
                    host = args[0]
                    port = args[1].toInt()
                }
                configureBootstrap = { option(ChannelOption.SO_BACKLOG, 4096) }
                // Told to end, it would wait for connections that are open.
                shutdownGracePeriod = 0
                shutdownTimeout = 0
            },
        ) {
            install(headers)
            install(ContentNegotiation) { json() }
            routing {
                get("/json") { call.respond(Message("Hello, World!")) }
                get("/plaintext") { call.respondText("Hello, World!", ContentType.Text.Plain) }
                get("/db") { call.respond(database.worlds(randomIds(1)).single()) }
                get("/queries") { call.respond(database.worlds(randomIds(call.number("queries")))) }
                get("/fortunes") { call.respondFortunes(database.fortunes()) }
                get("/updates") { call.respond(database.update(randomIds(call.number("queries")).sorted())) }
                get("/cached-queries") {
                    val cached = database.cached()
                    call.respond(List(call.number("count")) { cached.random() })
                }
            }
        }
    server.start(wait = true)
}

/** Ktor leaves both to the application. */
val headers =
    createApplicationPlugin("headers") {
        // An IMF-fixdate has two digits for the day; RFC_1123_DATE_TIME may have one.
        val format = DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ROOT)
        onCall { call ->
            call.response.header(HttpHeaders.Server, "Ktor")
            call.response.header(HttpHeaders.Date, ZonedDateTime.now(ZoneOffset.UTC).format(format))
        }
    }

fun pool(url: URI, connections: Int): HikariDataSource {
    val (user, password) = url.userInfo.split(':', limit = 2)
    val config = HikariConfig()
    config.jdbcUrl = "jdbc:postgresql://${url.host}:${url.port}${url.path}"
    config.username = user
    config.password = password
    config.maximumPoolSize = connections
    // Milliseconds until a request fails for want of a connection.
    config.connectionTimeout = 5000
    // It listens without the database, and fails requests while there is none.
    config.initializationFailTimeout = -1
    return HikariDataSource(config)
}

class Database(private val pool: HikariDataSource, connections: Int) {
    // JDBC blocks: a thread for each connection.
    @OptIn(ExperimentalCoroutinesApi::class)
    private val threads = Dispatchers.IO.limitedParallelism(connections)

    @Volatile private var cached: List<World>? = null

    private suspend fun <T> use(work: (Connection) -> T): T =
        withContext(threads) { pool.connection.use(work) }

    suspend fun worlds(ids: List<Int>): List<World> = use { it.select(ids) }

    suspend fun update(ids: List<Int>): List<World> = use { connection ->
        val rows = connection.select(ids).map { it.copy(randomNumber = randomId()) }
        connection.prepareStatement(UPDATE).use {
            it.setArray(1, connection.createArrayOf("int4", ids.toTypedArray()))
            it.setArray(2, connection.createArrayOf("int4", Array(rows.size) { i -> rows[i].randomNumber }))
            it.executeUpdate()
        }
        rows
    }

    suspend fun fortunes(): List<Fortune> = use { connection ->
        connection.prepareStatement(SELECT_FORTUNES).use { select ->
            select.rows { Fortune(it.getInt(1), it.getString(2)) }
        }
    }

    /** Read when they are first asked for. */
    suspend fun cached(): List<World> =
        cached
            ?: use { connection -> connection.prepareStatement(SELECT_CACHED).use { it.rows(::world) } }
                .also { cached = it }
}

/** Rows, each selected by a statement of its own. */
fun Connection.select(ids: List<Int>): List<World> =
    prepareStatement(SELECT_WORLD).use { select ->
        ids.map {
            select.setInt(1, it)
            select.rows(::world).single()
        }
    }

fun <T> PreparedStatement.rows(read: (ResultSet) -> T): List<T> =
    executeQuery().use { buildList { while (it.next()) add(read(it)) } }

fun world(row: ResultSet) = World(row.getInt(1), row.getInt(2))

suspend fun ApplicationCall.respondFortunes(rows: List<Fortune>) {
    val fortunes = rows + Fortune(0, "Additional fortune added at request time.")
    respondHtml {
        head { title("Fortunes") }
        body {
            table {
                tr {
                    th { +"id" }
                    th { +"message" }
                }
                for (fortune in fortunes.sortedBy(Fortune::message)) {
                    tr {
                        td { +fortune.id.toString() }
                        td { +fortune.message }
                    }
                }
            }
        }
    }
}

/** The parameter within 1 and 500; 1 when it is not a number. */
fun ApplicationCall.number(name: String): Int =
    (request.queryParameters[name]?.toIntOrNull() ?: 1).coerceIn(1, 500)

fun randomId(): Int = ThreadLocalRandom.current().nextInt(1, WORLDS + 1)

/** Distinct ones. */
fun randomIds(count: Int): List<Int> =
    generateSequence(::randomId).distinct().take(count).toList()
