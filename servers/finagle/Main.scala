import com.twitter.finagle.Http
import com.twitter.finagle.server.Listener
import com.twitter.util.Await
import java.net.InetSocketAddress

/** Serves one contract with finagle-http: Main CONTRACT HOST PORT [UPSTREAM]. */
object Main {
  def main(args: Array[String]): Unit = {
    val (host, port, service) = args match {
      case Array("http-echo", host, port, _*)     => (host, port, HttpEcho.service)
      case Array("fibonacci", host, port, _*)     => (host, port, Fibonacci.service)
      case Array("weather", host, port, upstream) => (host, port, Weather.service(upstream))
      case _ =>
        Console.err.println("usage: Main http-echo|fibonacci|weather HOST PORT [UPSTREAM]")
        sys.exit(2)
    }
    val server = Http.server.configured(Listener.Backlog(Some(4096)))
    Await.ready(server.serve(new InetSocketAddress(host, port.toInt), service))
  }
}
