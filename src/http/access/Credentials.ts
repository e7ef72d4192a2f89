import { Effect } from "effect"
import { InvalidRequest } from "../../domain/errors.ts"
import { type Headers } from "../wire/Headers.ts"

/** The API key of a request: header `apikey`, or `x-api-key`, its alias. "" when there is none, or both are empty. */
export const apiKeyOf = (headers: Headers): Effect.Effect<string, InvalidRequest> => {
  const { apikey: key = "", "x-api-key": alias = "" } = headers
  return key !== "" && alias !== "" && key !== alias
    ? Effect.fail(
        new InvalidRequest({
          error: "apikey and x-api-key were both sent, with different values",
          code: "AMBIGUOUS_API_KEY"
        })
      )
    : Effect.succeed(key === "" ? alias : key)
}

/** The token of an `Authorization: Bearer …` header (RFC 6750); undefined for other schemes. */
export const bearerOf = ({ authorization }: Headers) => {
  const match = authorization === undefined ? null : /^bearer +(.+)$/i.exec(authorization)
  return match?.[1]?.trim()
}

/** Uses the bearer token as the API key when there is none, for clients that can send nothing else, such as OFREP's. */
export const withBearerKey = (headers: Headers): Headers => {
  const token = bearerOf(headers)
  if (token === undefined || headers["apikey"] !== undefined || headers["x-api-key"] !== undefined) return headers
  return { ...headers, apikey: token }
}
