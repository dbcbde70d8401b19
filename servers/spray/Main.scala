import akka.actor.ActorSystem
import spray.routing.SimpleRoutingApp

/** Serves a weather gateway: Main HOST PORT UPSTREAM. */
object Main extends SimpleRoutingApp {
  def main(args: Array[String]): Unit = args match {
    case Array(host, port, upstream) =>
      implicit val system = ActorSystem()
      import system.dispatcher
      startServer(host, port.toInt, backlog = 4096)(new Weather(upstream).route).onFailure {
        case error =>
          Console.err.println(s"cannot listen: ${error.getMessage}")
          sys.exit(1)
      }
    case _ =>
      Console.err.println("usage: Main HOST PORT UPSTREAM")
      sys.exit(2)
  }
}
