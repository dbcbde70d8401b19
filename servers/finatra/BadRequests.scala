import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}
import com.fasterxml.jackson.databind.{DeserializationContext, DeserializationFeature, ObjectMapper}
import com.fasterxml.jackson.databind.cfg.{CoercionAction, CoercionInputShape}
import com.fasterxml.jackson.databind.deser.std.StdDeserializer
import com.fasterxml.jackson.databind.exc.MismatchedInputException
import com.twitter.finagle.http.{Request, Response}
import com.twitter.finatra.http.exceptions.ExceptionMapper
import com.twitter.finatra.http.response.ResponseBuilder
import com.twitter.finatra.jackson.modules.ScalaObjectMapperModule
import com.twitter.util.jackson.caseclass.exceptions.CaseClassMappingException
import javax.inject.Inject

/** Takes JSON values as what they are: by default, "5" and 5.5 would do for an integer. */
object StrictJson extends ScalaObjectMapperModule {
  override val deserializationConfig: Map[DeserializationFeature, Boolean] =
    super.deserializationConfig + (DeserializationFeature.FAIL_ON_TRAILING_TOKENS -> true)

  override def additionalMapperConfiguration(mapper: ObjectMapper): Unit =
    for (shape <- CoercionInputShape.values)
      mapper.coercionConfigDefaults.setCoercion(shape, CoercionAction.Fail)
}

/** Finatra takes any JSON value for a string, whatever the mapper says. */
class StrictString extends StdDeserializer[String](classOf[String]) {
  def deserialize(parser: JsonParser, context: DeserializationContext): String =
    if (parser.hasToken(JsonToken.VALUE_STRING)) parser.getText
    else throw MismatchedInputException.from(parser, classOf[String], "must be a string")
}

final case class Refusal(error: String)

class SyntaxErrorMapper @Inject() (response: ResponseBuilder)
    extends ExceptionMapper[JsonParseException] {
  def toResponse(request: Request, error: JsonParseException): Response =
    response.badRequest(Refusal(error.getOriginalMessage))
}

class WrongFieldMapper @Inject() (response: ResponseBuilder)
    extends ExceptionMapper[CaseClassMappingException] {
  def toResponse(request: Request, error: CaseClassMappingException): Response =
    response.badRequest(Refusal(error.errors.map(_.getMessage).mkString("; ")))
}
