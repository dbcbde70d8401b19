import com.twitter.finagle.Service
import com.twitter.finagle.http.{Method, Request, Response, Status}
import com.twitter.finagle.http.path.{/, Root}
import com.twitter.finagle.http.service.RoutingService
import com.twitter.util.Future
import java.io.IOException
import java.util.UUID
import scala.annotation.tailrec

/** POST /fibonacci {"name": "...", "fib": n} -> the n-th Fibonacci number. */
object Fibonacci {
  private val maxIndex = 100000

  def service: Service[Request, Response] = RoutingService.byMethodAndPathObject {
    case (Method.Post, Root / "fibonacci") => Service.mk(request => Future.value(answer(request)))
  }

  private def answer(request: Request): Response =
    try {
      val json = Json.parse(request)
      val (name, fib) = (json.path("name"), json.path("fib"))
      if (!name.isTextual) badRequest("name must be a string")
      else if (!fib.isInt || fib.intValue < 0 || fib.intValue > maxIndex)
        badRequest(s"fib must be an integer from 0 to $maxIndex")
      else {
        val answer = Json.obj
          .put("id", UUID.randomUUID.toString)
          .put("time", System.currentTimeMillis)
          .put("name", name.textValue)
          .put("service", "finagle")
          .put("answer", fibonacci(fib.intValue).bigInteger)
        Json.response(Status.Ok, answer)
      }
    } catch {
      case error: IOException => badRequest(error.getMessage)
    }

  private def badRequest(message: String) = Json.error(Status.BadRequest, message)

  @tailrec
  private def fibonacci(n: Int, a: BigInt = 0, b: BigInt = 1): BigInt =
    if (n == 0) a else fibonacci(n - 1, b, a + b)
}
