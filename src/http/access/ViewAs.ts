import { Effect, Option, Schema } from "effect"
import { type HttpServerRequest } from "effect/http"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { type Caller } from "./Caller.ts"

/**
 * The header with which a page of the dashboard reads as another caller, under the policies that apply to them:
 * percent-encoded JSON, as claims have more characters than headers.
 */
const viewAsHeader = "x-svc-view-as"

const Viewer = Schema.fromJsonString(
  Schema.Struct({
    role: Schema.Literals(["anon", "authenticated"]),
    sub: Schema.optionalKey(Schema.String),
    claims: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
  })
)
const decode = Schema.decodeUnknownOption(Viewer)

const invalid = new InvalidRequest({
  error: "X-Svc-View-As is invalid",
  hint: 'Send encodeURIComponent of JSON such as {"role":"authenticated","sub":"…","claims":{}}'
})
const readOnly = new Forbidden({ error: "X-Svc-View-As is for reading: only GET and HEAD accept it" })

const viewerOf = (text: string) => {
  try {
    return Option.getOrUndefined(decode(decodeURIComponent(text)))
  } catch {
    return undefined
  }
}

/** The actor as whom a request of a service_role caller reads; the caller itself without the header. */
export const asViewer = (
  request: HttpServerRequest.HttpServerRequest,
  caller: Caller
): Effect.Effect<Caller, Forbidden | InvalidRequest> => {
  const text = request.headers[viewAsHeader]
  if (text === undefined) return Effect.succeed(caller)
  if (request.method !== "GET" && request.method !== "HEAD") return Effect.fail(readOnly)
  const viewer = viewerOf(text)
  if (viewer === undefined) return Effect.fail(invalid)
  const { role, sub = "", claims } = viewer
  // An anon key comes without a token, and so without claims of a user.
  const actor =
    role === "anon"
      ? { ...caller.actor, role }
      : { ...caller.actor, role, sub, claims: JSON.stringify({ ...claims, ...(sub === "" ? {} : { sub }), role }) }
  return Effect.succeed({ keyType: "anon", actor })
}
