import com.fasterxml.jackson.databind.JsonNode
import com.twitter.conversions.DurationOps._
import com.twitter.finagle.{Http, Service}
import com.twitter.finagle.http.{Method, Request, Response, Status}
import com.twitter.finagle.http.path.{/, Root}
import com.twitter.finagle.http.service.RoutingService
import scala.util.control.NonFatal

/** GET /weather/{city} -> a summary of the upstream's answer, fetched for every request. */
object Weather {
  def service(upstream: String): Service[Request, Response] = {
    val client = newClient(upstream)
    val gateway = Service.mk { _: Request =>
      val get = Request(Method.Get, "/weather.json")
      get.host = upstream
      client(get).map(response => summary(Json.parse(response))).handle {
        case NonFatal(error) => Json.error(Status.BadGateway, s"upstream: ${error.getMessage}")
      }
    }
    RoutingService.byMethodAndPathObject { case (Method.Get, Root / "weather" / _) => gateway }
  }

  // Finagle's pool has no bound: there are as many connections as requests under way, so that
  // the pool is not what is measured. And with one upstream only, a failure must not make the
  // client avoid it.
  private def newClient(upstream: String) = Http.client
    .withSessionQualifier.noFailFast
    .withSessionQualifier.noFailureAccrual
    .withRequestTimeout(2.seconds)
    .newService(upstream)

  private def summary(weather: JsonNode): Response =
    if (weather.path("cod").asInt == 200) {
      val answer = Json.obj
        .put("code", int(weather, "/weather/0/id"))
        .put("temp", int(weather, "/main/temp"))
      Json.response(Status.Ok, answer)
    } else Json.error(Status.BadRequest, weather.required("message").asText)

  private def int(json: JsonNode, pointer: String): Int = {
    val number = json.requiredAt(pointer)
    require(number.isNumber, s"$pointer is not a number")
    number.intValue
  }
}
