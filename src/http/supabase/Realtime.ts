import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Socket } from "effect/socket"
import { IncomingMessage } from "node:http"
import { leewaySeconds } from "../../domain/access/JwtClaims.ts"
import { type ClientError, InvalidRequest } from "../../domain/errors.ts"
import { looksLikeKey } from "../../domain/access/ApiKey.ts"
import { aLoopTurn } from "../../services/LoopTurn.ts"
import { Keys } from "../../services/access/Keys.ts"
import { receive } from "../../services/realtime/Inbound.ts"
import { Channels } from "../../services/realtime/channels/Channels.ts"
import { type Authorized } from "../../services/realtime/channels/Connection.ts"
import { CurrentMeters } from "../../services/metrics/Meters.ts"
import { Realtime } from "../../services/realtime/Realtime.ts"
import { noGate } from "../access/Caller.ts"
import { apiKeyOf } from "../access/Credentials.ts"
import { RealtimeGate } from "../access/RealtimeGate.ts"
import { CurrentRequest, newAdmission } from "../access/ServedRequest.ts"
import { queryOf } from "../wire/Paths.ts"
import { SupabaseGate } from "./Gate.ts"

const socketPath = "/realtime/v1/websocket"

/**
 * Limits on what clients of channels send: 256 KiB a message, and enough messages for one that draws at 60 a second.
 */
const inbound = { bytes: 256 * 1024, messages: 2_000, millis: 10_000 }

const goingAway = new Socket.CloseEvent(1001, "The service is shutting down")
const refused = (why: string) => new Socket.CloseEvent(1008, why)
const upgradeRequired = HttpServerResponse.empty({ status: 426, headers: { upgrade: "websocket" } })

/** The error texts of Supabase, which clients compare. */
const reasonOf = ({ code, error }: ClientError) => {
  if (code === "JWT_EXPIRED") return `InvalidJWTToken: Token has expired`
  return code.startsWith("JWT_") ? "JwtSignatureError: Failed to validate JWT signature" : `${code}: ${error}`
}

/** The expiry of a verified JWT, in ms since 1970; undefined for API keys and JWTs without one. */
const expiryOf = (token: string | undefined): number | undefined => {
  if (token === undefined || looksLikeKey(token)) return undefined
  const [, payload = ""] = token.split(".", 3)
  const { exp } = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as { readonly exp?: unknown }
  return typeof exp === "number" ? (exp + leewaySeconds) * 1000 : undefined
}

/** `/realtime/v1/websocket`: channels of Supabase's clients, by Phoenix's protocol (docs/supabase.md). */
export const ChannelSocketRoute = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const channels = yield* Channels
    if (channels === undefined) return
    const realtime = yield* Realtime
    const gate = yield* SupabaseGate
    const { revoked } = yield* RealtimeGate
    const keys = yield* Keys
    const sent = (yield* CurrentMeters).counter("svc_realtime_messages_total", {})

    const connect = Effect.gen(function* () {
      yield* aLoopTurn
      const request = yield* HttpServerRequest.HttpServerRequest
      if (!request.url.startsWith(socketPath) || !(request.source instanceof IncomingMessage)) return yield* noGate
      const query = new URLSearchParams(queryOf(request.url))
      const served = yield* CurrentRequest
      const { address, headers } = served
      const key = (yield* apiKeyOf(headers)) || (query.get("apikey") ?? "")
      const { actor } = yield* gate.enter({ apikey: key }, served)
      const vsn = query.get("vsn") ?? "1.0.0"
      if (!/^[12]\.0\.0$/.test(vsn)) return yield* new InvalidRequest({ error: "vsn must be 1.0.0 or 2.0.0" })
      if (headers["upgrade"]?.toLowerCase() !== "websocket") return upgradeRequired
      yield* realtime.takePlace(actor.client ?? address)

      /** Keys that have opened the connection or a channel: once one is revoked, the connection ends. */
      const used = new Set([key])
      const authorize = (token: string | undefined): Effect.Effect<Authorized, string> =>
        gate
          .enter(
            { apikey: key, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
            newAdmission(address)
          )
          .pipe(
            Effect.map(({ actor }) => {
              if (token !== undefined && looksLikeKey(token)) used.add(token)
              return { actor, expires: expiryOf(token ?? key) }
            }),
            Effect.mapError(reasonOf)
          )
      const verified = Effect.suspend(() =>
        Effect.forEach([...used].filter(looksLikeKey), keys.verify, { discard: true })
      )

      receive(request.source.socket, inbound)
      const socket = yield* request.upgrade
      const { pull } = yield* socket.reader
      const { write } = yield* socket.writer
      const connection = yield* channels.connect({
        version: vsn === "2.0.0" ? 2 : 1,
        key,
        authorize,
        send: (frame) => {
          sent()
          Effect.runSyncExit(write(frame))
        }
      })
      const serve = Effect.flatMap(pull, (frames) => Effect.forEach(frames, connection.receive, { discard: true }))
      yield* Effect.raceAllFirst([
        Effect.catchTag(Effect.forever(serve), "InvalidRequest", ({ error }) => write(refused(error))),
        Effect.andThen(realtime.closed, write(goingAway)),
        Effect.catch(revoked(verified), ({ error }) => write(refused(error)))
      ]).pipe(Effect.catchTag("SocketError", () => Effect.void)) // the client disconnected
      return HttpServerResponse.empty()
    })
    yield* router.add("GET", socketPath, connect)
  })
)
