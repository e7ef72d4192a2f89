import { corsAnswer, type CorsRule, parseCors, parseHeaderNames } from "./operations/Cors.ts"
import { emptyReply, type Reply } from "./Exchange.ts"
import { s3Error } from "./Error.ts"
import { type S3Request } from "./Request.ts"
import { type BucketInfo } from "./store/Model.ts"

const vary = { vary: "Origin, Access-Control-Request-Headers, Access-Control-Request-Method" }

/** The headers that a bucket's rules put on any answer. */
export const corsHeaders = (request: S3Request, info: BucketInfo | undefined): Readonly<Record<string, string>> => {
  if (info?.cors === undefined) return {}
  const { origin } = request.message.headers
  if (origin === undefined) return vary
  return corsAnswer(rulesOf(info.cors), { origin, method: request.method, headers: [] }) ?? vary
}

/** The answer to a browser that asks before it sends. Throws BadRequest and AccessForbidden. */
export const preflight = (request: S3Request, info: BucketInfo | undefined): Reply => {
  const { headers } = request.message
  const method = headers["access-control-request-method"]
  if (headers.origin === undefined) {
    throw s3Error("BadRequest", "Insufficient information. Origin request header needed.")
  }
  if (method === undefined) throw s3Error("BadRequest", "Invalid Access-Control-Request-Method: null")
  const named = parseHeaderNames(headers["access-control-request-headers"])
  const forbidden = (why: string) =>
    s3Error("AccessForbidden", `CORSResponse: ${why}`, {
      Method: method,
      ResourceType: request.key === "" ? "BUCKET" : "OBJECT"
    })
  if (info?.cors === undefined) throw forbidden("CORS is not enabled for this bucket.")
  const answer = corsAnswer(rulesOf(info.cors), { origin: headers.origin, method, headers: named })
  if (answer === undefined) {
    throw forbidden(
      "This CORS request is not allowed. This is usually because the evalution of Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec."
    )
  }
  return emptyReply(200, answer)
}

const parsed = new Map<string, ReadonlyArray<CorsRule>>()

/** Parsed once as long as it is in use. */
const rulesOf = (text: string) => {
  let rules = parsed.get(text)
  if (rules === undefined) {
    rules = parseCors(text)
    if (parsed.size >= 200) parsed.clear()
    parsed.set(text, rules)
  }
  return rules
}
