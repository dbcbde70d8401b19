import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode}
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import com.twitter.finagle.http.{MediaType, Message, Response, Status}

/** JSON with Jackson, which Finagle brings along. */
object Json {
  private val mapper =
    JsonMapper.builder.enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build

  /** The JSON in a message, or an IOException. */
  def parse(message: Message): JsonNode = mapper.readTree(message.getInputStream())

  def obj: ObjectNode = mapper.createObjectNode

  def response(status: Status, json: JsonNode): Response = {
    val response = Response(status)
    response.contentType = MediaType.Json
    response.contentString = json.toString
    response
  }

  def error(status: Status, message: String): Response =
    response(status, obj.put("error", message))
}
