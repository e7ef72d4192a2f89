import { Effect, Option, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Forbidden, PayloadTooLarge, Unavailable, Unprocessable } from "../../domain/errors.ts"
import { type FrameBody } from "../../domain/realtime/channels/Frames.ts"
import { Channels } from "../../services/realtime/channels/Channels.ts"
import { noGate } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { headersOf } from "../wire/Headers.ts"
import { bodyBytes, bodyLimit, jsonBody } from "../wire/Body.ts"
import { queryOf } from "../wire/Paths.ts"
import { SupabaseGate } from "./Gate.ts"

const path = "/realtime/v1/api/broadcast"
const accepted = HttpServerResponse.empty({ status: 202 })

/** The largest message, in bytes, as through the socket. */
const maxMessage = 256 * 1024

const Name = Schema.NonEmptyString.check(Schema.isMaxLength(1000))
const Messages = Schema.Struct({
  messages: Schema.Array(
    Schema.Struct({
      topic: Name,
      event: Name,
      payload: Schema.Unknown,
      private: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
    })
  ).check(Schema.isMaxLength(100))
})
const decode = Schema.decodeUnknownOption(Messages)

const invalid = (error: string) => new Unprocessable({ error, hint: "See docs/supabase.md" })
const jsonText = (value: unknown) =>
  Effect.try({ try: () => JSON.stringify(value), catch: () => invalid("The payload is nested too deeply") })
const tooLarge = new PayloadTooLarge({ error: `A message exceeds ${maxMessage / 1024} KiB` })

/** The names in the path of one message; undefined for other paths. */
const namesOf = (url: string) => {
  const found = /^\/realtime\/v1\/api\/broadcast\/([^/?]+)\/events\/([^/?]+)(?:\?|$)/.exec(url)
  if (found === null) return undefined
  try {
    const [topic = "", event = ""] = found.slice(1).map(decodeURIComponent)
    return topic.length + event.length > 2000 ? undefined : { topic, event }
  } catch {
    return undefined
  }
}

/** `POST /realtime/v1/api/broadcast`: messages of callers that are in no channel. */
export const BroadcastRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const channels = yield* Channels
    if (channels === undefined) return
    const gate = yield* SupabaseGate

    const caller = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      // The router decodes percent-encoding, the gate does not.
      if (!request.url.startsWith(path)) return yield* noGate
      const served = yield* CurrentRequest
      const { actor } = yield* gate.enter(served.headers, served)
      return { actor, request }
    })
    const unreachable = (error: string) => new Unavailable({ error, retry_after: 5 })

    const several = Effect.gen(function* () {
      const { actor, request } = yield* caller
      const { value } = yield* jsonBody(request, bodyLimit)
      const decoded = decode(value)
      if (Option.isNone(decoded)) {
        return yield* invalid("messages must be a list of at most 100, each with topic, event and payload")
      }
      const messages = yield* Effect.forEach(decoded.value.messages, ({ payload, ...message }) =>
        Effect.map(jsonText(payload ?? {}), (body) => ({ ...message, body }))
      )
      if (messages.some(({ body }) => Buffer.byteLength(body) > maxMessage)) return yield* tooLarge
      // Messages that the caller may not send are skipped without an error, which would reveal the channels that exist.
      for (const { body, event, topic, private: hidden } of messages) {
        const room = { name: topic, private: hidden === true }
        yield* Effect.mapError(channels.publish(actor, room, { event, body }), unreachable)
      }
      return accepted
    })

    const one = Effect.gen(function* () {
      const { actor, request } = yield* caller
      const names = namesOf(request.url)
      if (names === undefined) return yield* invalid("The topic or event in the path is invalid")
      const query = new URLSearchParams(queryOf(request.url))
      if ([...query.keys()].some((name) => name.startsWith("persist"))) {
        return yield* invalid("This server does not store broadcasts of clients")
      }
      const bytes = headersOf(request)["content-type"]?.startsWith("application/octet-stream") === true
      const body: FrameBody = bytes
        ? yield* bodyBytes(request, bodyLimit)
        : yield* jsonText((yield* jsonBody(request, bodyLimit)).value)
      if (Buffer.byteLength(body) > maxMessage) return yield* tooLarge
      const room = { name: names.topic, private: query.get("private") === "true" }
      const sent = yield* Effect.mapError(channels.publish(actor, room, { event: names.event, body }), unreachable)
      return sent ? accepted : yield* new Forbidden({ error: "You do not have permissions to write to this channel" })
    })

    yield* router.add("POST", path, several)
    yield* router.add("POST", `${path}/:topic/events/:event`, one)
  })
)
