import play.api.routing.Router
import play.core.server.{DefaultPekkoHttpServerComponents, ServerConfig}
import scala.util.control.NonFatal

/** Serves a weather gateway: Main HOST PORT UPSTREAM. */
object Main {
  def main(args: Array[String]): Unit = args match {
    case Array(host, port, upstream) =>
      try new Components(host, port.toInt, upstream).server
      catch {
        // Other threads would keep the program alive.
        case NonFatal(error) =>
          Console.err.println(s"cannot start: ${error.getMessage}")
          sys.exit(1)
      }
    case _ =>
      Console.err.println("usage: Main HOST PORT UPSTREAM")
      sys.exit(2)
  }
}

class Components(host: String, port: Int, upstream: String)
    extends DefaultPekkoHttpServerComponents {
  override lazy val serverConfig: ServerConfig =
    ServerConfig(address = host, port = Some(port))

  override lazy val router: Router = new WeatherRouter(Action, upstream)
}
