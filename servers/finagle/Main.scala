import com.twitter.finagle.Http
import com.twitter.finagle.server.Listener
import com.twitter.util.Await
import java.net.InetSocketAddress

/** Serves one contract with finagle-http: Main CONTRACT PORT [UPSTREAM]. */
object Main {
  def main(args: Array[String]): Unit = {
    val (port, service) = args match {
      case Array("http-echo", port, _*)     => (port, HttpEcho.service)
      case Array("fibonacci", port, _*)     => (port, Fibonacci.service)
      case Array("weather", port, upstream) => (port, Weather.service(upstream))
      case _ =>
        Console.err.println("usage: Main http-echo|fibonacci|weather PORT [UPSTREAM]")
        sys.exit(2)
    }
    val server = Http.server.configured(Listener.Backlog(Some(4096)))
    Await.ready(server.serve(new InetSocketAddress("127.0.0.1", port.toInt), service))
  }
}
