import akka.actor.ActorSystem
import akka.util.Timeout
import scala.concurrent.duration._
import scala.util.control.NonFatal
import spray.client.pipelining._
import spray.http.{HttpCharsets, HttpResponse, StatusCode}
import spray.http.StatusCodes.{BadGateway, BadRequest, OK}
import spray.httpx.SprayJsonSupport._
import spray.json._
import spray.json.DefaultJsonProtocol._
import spray.routing.Directives._
import spray.routing.Route

/** GET /weather/{city} -> a summary of the upstream's answer, fetched for every request. */
class Weather(upstream: String)(implicit system: ActorSystem) {
  import system.dispatcher

  private implicit val printer: JsonPrinter = CompactPrinter
  private implicit val timeout: Timeout = 2.seconds
  private val request = Get(s"http://$upstream/weather.json")
  private val exchange = sendReceive ~> summary

  val route: Route =
    pathPrefix("weather" / Segment) { _ =>
      pathEndOrSingleSlash {
        get {
          complete(exchange(request).recover {
            case NonFatal(error) => BadGateway -> failure(s"upstream: ${error.getMessage}")
          })
        }
      }
    }

  private def summary(response: HttpResponse): (StatusCode, JsObject) = {
    val json = response.entity.asString(HttpCharsets.`UTF-8`).parseJson
    val fields = json.asJsObject.fields
    if (fields("cod") == JsNumber(200)) {
      val report = json.convertTo[Report]
      val code = JsNumber(report.weather.head.id)
      OK -> JsObject("code" -> code, "temp" -> JsNumber(report.main.temp.toInt))
    } else BadRequest -> failure(fields("message").convertTo[String])
  }

  private def failure(message: String): JsObject = JsObject("error" -> JsString(message))
}

final case class Condition(id: Int)
object Condition { implicit val format: RootJsonFormat[Condition] = jsonFormat1(apply) }

final case class Measurements(temp: Double)
object Measurements { implicit val format: RootJsonFormat[Measurements] = jsonFormat1(apply) }

final case class Report(weather: Vector[Condition], main: Measurements)
object Report { implicit val format: RootJsonFormat[Report] = jsonFormat2(apply) }
