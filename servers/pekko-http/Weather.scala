import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.Http
import org.apache.pekko.http.scaladsl.marshallers.sprayjson.SprayJsonSupport._
import org.apache.pekko.http.scaladsl.model.{HttpRequest, StatusCode}
import org.apache.pekko.http.scaladsl.model.StatusCodes.{BadGateway, BadRequest, OK}
import org.apache.pekko.http.scaladsl.server.Directives._
import org.apache.pekko.http.scaladsl.server.Route
import org.apache.pekko.pattern.after
import scala.concurrent.{Future, TimeoutException}
import scala.concurrent.duration._
import scala.util.control.NonFatal
import spray.json._
import spray.json.DefaultJsonProtocol._

/** GET /weather/{city} -> a summary of the upstream's answer, fetched for every request. */
class Weather(upstream: String)(implicit system: ActorSystem) {
  import system.dispatcher

  private val timeout = 2.seconds

  val route: Route =
    pathPrefix("weather" / Segment) { _ =>
      pathEndOrSingleSlash {
        get {
          complete(fetch().map(summary).recover {
            case NonFatal(error) => BadGateway -> failure(s"upstream: ${error.getMessage}")
          })
        }
      }
    }

  private def fetch(): Future[JsValue] = {
    val json = for {
      response <- Http().singleRequest(HttpRequest(uri = s"http://$upstream/weather.json"))
      entity <- response.entity.toStrict(timeout)
    } yield entity.data.utf8String.parseJson
    val late = after(timeout)(Future.failed(new TimeoutException(s"no answer within $timeout")))
    Future.firstCompletedOf(Seq(json, late))
  }

  private def summary(json: JsValue): (StatusCode, JsObject) = {
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
