import com.twitter.concurrent.AsyncSemaphore
import com.twitter.finagle.Service
import com.twitter.finagle.filter.RequestSemaphoreFilter
import com.twitter.finagle.http.{Message, Request, Response}
import com.twitter.util.Future

/** GET /any/path -> "/any/path at <date>". */
object HttpEcho {
  private val maxConcurrentRequests = 5000

  /** Requests above the limit are refused with 503; none waits. */
  def service: Service[Request, Response] =
    new RequestSemaphoreFilter[Request, Response](new AsyncSemaphore(maxConcurrentRequests, 0))
      .andThen(Service.mk(request => Future.value(echo(request))))

  private def echo(request: Request) = {
    val response = Response()
    response.contentType = "text/plain"
    response.contentString = s"${request.uri} at ${Message.httpDateFormat(System.currentTimeMillis)}"
    response
  }
}
