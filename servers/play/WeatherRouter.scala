import org.apache.pekko.stream.Materializer
import play.api.libs.json.{JsObject, JsValue, Json}
import play.api.libs.ws.JsonBodyReadables._
import play.api.libs.ws.ahc.StandaloneAhcWSClient
import play.api.mvc.{ActionBuilder, AnyContent, Request, Result}
import play.api.mvc.Results.{BadGateway, BadRequest, Ok}
import play.api.routing.Router.Routes
import play.api.routing.SimpleRouter
import play.api.routing.sird._
import scala.concurrent.ExecutionContext
import scala.concurrent.duration._
import scala.util.control.NonFatal

/** GET /weather/{city} -> a summary of the upstream's answer, fetched for every request. */
class WeatherRouter(action: ActionBuilder[Request, AnyContent], upstream: String)(implicit
    materializer: Materializer,
    executor: ExecutionContext)
    extends SimpleRouter {

  // Its pool has no bound: there are as many connections as requests under way, so that the pool
  // is not what is measured.
  private val client = StandaloneAhcWSClient()
  private val request = client.url(s"http://$upstream/weather.json").withRequestTimeout(2.seconds)

  override def routes: Routes = { case GET(p"/weather/$_<[^/]+/?>") => gateway }

  private val gateway = action.async {
    request.get().map(response => summary(response.body[JsValue])).recover {
      case NonFatal(error) => BadGateway(failure(s"upstream: ${error.getMessage}"))
    }
  }

  private def summary(json: JsValue): Result =
    if ((json \ "cod").asOpt[Int].contains(200)) {
      val code = (json \ "weather" \ 0 \ "id").as[Int]
      val temp = (json \ "main" \ "temp").as[Double].toInt
      Ok(Json.obj("code" -> code, "temp" -> temp))
    } else BadRequest(failure((json \ "message").as[String]))

  private def failure(message: String): JsObject = Json.obj("error" -> message)
}
