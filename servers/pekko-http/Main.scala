import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.Http

/** Serves a weather gateway: Main PORT UPSTREAM. */
object Main {
  def main(args: Array[String]): Unit = args match {
    case Array(port, upstream) =>
      implicit val system: ActorSystem = ActorSystem()
      import system.dispatcher
      Http().newServerAt("127.0.0.1", port.toInt).bind(new Weather(upstream).route).failed.foreach {
        error =>
          Console.err.println(s"cannot listen: ${error.getMessage}")
          sys.exit(1)
      }
    case _ =>
      Console.err.println("usage: Main PORT UPSTREAM")
      sys.exit(2)
  }
}
