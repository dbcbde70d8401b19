import com.google.inject.Module
import com.twitter.finagle.Http
import com.twitter.finagle.http.Request
import com.twitter.finagle.server.Listener
import com.twitter.finatra.http.HttpServer
import com.twitter.finatra.http.filters.ExceptionMappingFilter
import com.twitter.finatra.http.routing.HttpRouter

/** POST /fibonacci {"name": "...", "fib": n} -> the n-th Fibonacci number. */
object Main extends HttpServer {
  override val disableAdminHttpServer = true

  override def jacksonModule: Module = StrictJson

  override def configureHttpServer(server: Http.Server): Http.Server =
    server.configured(Listener.Backlog(Some(4096)))

  override def configureHttp(router: HttpRouter): Unit =
    router
      .filter[ExceptionMappingFilter[Request]]
      .exceptionMapper[SyntaxErrorMapper]
      .exceptionMapper[WrongFieldMapper]
      .add[FibonacciController]
}
