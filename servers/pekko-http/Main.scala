import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.Http

/** Serves a weather gateway: Main HOST PORT UPSTREAM. */
object Main {
  def main(args: Array[String]): Unit = args match {
    case Array(host, port, upstream) =>
      implicit val system: ActorSystem = ActorSystem()
      import system.dispatcher
      Http().newServerAt(host, port.toInt).bind(new Weather(upstream).route).failed.foreach {
        error =>
          Console.err.println(s"cannot listen: ${error.getMessage}")
          sys.exit(1)
      }
    case _ =>
      Console.err.println("usage: Main HOST PORT UPSTREAM")
      sys.exit(2)
  }
}
