import akka.actor.ActorSystem
import spray.routing.SimpleRoutingApp

/** Serves a weather gateway: Main PORT UPSTREAM. */
object Main extends SimpleRoutingApp {
  def main(args: Array[String]): Unit = args match {
    case Array(port, upstream) =>
      implicit val system = ActorSystem()
      import system.dispatcher
      startServer("127.0.0.1", port.toInt, backlog = 4096)(new Weather(upstream).route).onFailure {
        case error =>
          Console.err.println(s"cannot listen: ${error.getMessage}")
          sys.exit(1)
      }
    case _ =>
      Console.err.println("usage: Main PORT UPSTREAM")
      sys.exit(2)
  }
}
