import akka.actor.ActorSystem
import akka.util.Timeout
import scala.concurrent.duration._
import spray.routing.SimpleRoutingApp

/** Serves a weather gateway: Main HOST PORT UPSTREAM. */
object Main extends SimpleRoutingApp {
  def main(args: Array[String]): Unit = args match {
    case Array(host, port, upstream) =>
      implicit val system = ActorSystem()
      // By default binding may take 1 second, which is not enough on a busy machine.
      implicit val bindingTimeout = Timeout(30.seconds)
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
