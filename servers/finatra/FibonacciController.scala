import com.fasterxml.jackson.databind.annotation.JsonDeserialize
import com.twitter.finatra.http.Controller
import jakarta.validation.constraints.{Max, Min}
import java.math.BigInteger
import java.util.UUID
import scala.annotation.tailrec

final case class FibonacciRequest(
    @JsonDeserialize(using = classOf[StrictString]) name: String,
    @Min(0) @Max(100000) fib: Int)

final case class FibonacciResponse(
    id: UUID,
    time: Long,
    name: String,
    service: String,
    answer: BigInteger)

class FibonacciController extends Controller {
  post("/fibonacci") { request: FibonacciRequest =>
    // Finatra hands on the JSON value null as such.
    if (request == null) response.badRequest(Refusal("null is not a request"))
    else
      FibonacciResponse(
        id = UUID.randomUUID,
        time = System.currentTimeMillis,
        name = request.name,
        service = "finatra",
        answer = fibonacci(request.fib).bigInteger)
  }

  @tailrec
  private def fibonacci(n: Int, a: BigInt = 0, b: BigInt = 1): BigInt =
    if (n == 0) a else fibonacci(n - 1, b, a + b)
}
