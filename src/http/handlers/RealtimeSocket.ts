import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Socket } from "effect/socket"
import { InvalidRequest } from "../../domain/errors.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { aLoopTurn } from "../../services/LoopTurn.ts"
import { Realtime } from "../../services/realtime/Realtime.ts"
import { RealtimeGate } from "../access/RealtimeGate.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"

/** Close codes of RFC 6455 7.4.1: shutdown, and credentials that are no longer valid. */
const goingAway = new Socket.CloseEvent(1001, "The service is shutting down")
const refused = (why: string) => new Socket.CloseEvent(1008, why)

/** RFC 9110 15.5.22; http/front adds the body. */
const upgradeRequired = HttpServerResponse.empty({ status: 426, headers: { upgrade: "websocket" } })

/** `/realtime`. Messages of clients are ignored. http/api/Realtime.ts documents the route. */
export const RealtimeSocket = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const realtime = yield* Realtime
    const gate = yield* RealtimeGate

    const connect = Effect.gen(function* () {
      // Clients that connect at the same moment must not block other requests.
      yield* aLoopTurn
      const request = yield* HttpServerRequest.HttpServerRequest
      const query = new URLSearchParams(request.url.split("?")[1])
      yield* refuseUnknown(query)
      const { actor, client, until } = yield* gate.enter(yield* CurrentRequest, {
        apikey: query.get("apikey") ?? undefined,
        jwt: query.get("jwt") ?? undefined
      })
      const since = yield* sinceOf(query.get("since"))
      if (request.headers["upgrade"]?.toLowerCase() !== "websocket") return upgradeRequired

      // Connects before the handshake, so that a client misses nothing once it is connected; earlier events are queued.
      const early: Array<string> = []
      let send = (text: string) => void early.push(text)
      const before = yield* realtime.connect({ actor, client, since, send: (text) => send(text) })
      const socket = yield* request.upgrade
      const { pull } = yield* socket.reader
      const { write } = yield* socket.writer
      send = (text) => void Effect.runSyncExit(write(text))
      for (const text of [...before, ...early]) send(text)
      yield* Effect.raceAllFirst([
        Effect.forever(pull),
        Effect.andThen(realtime.closed, write(goingAway)),
        Effect.catch(until, ({ error }) => write(refused(error)))
      ]).pipe(Effect.catchTag("SocketError", () => Effect.void)) // the client disconnected
      return HttpServerResponse.empty()
    })

    yield* router.add("GET", "/realtime", connect)
  })
)

const names = new Set(["apikey", "jwt", "since"])

/** A misspelt name would otherwise be a client without a JWT, which gets other events, or none. */
const refuseUnknown = (query: URLSearchParams): Effect.Effect<void, InvalidRequest> => {
  const unknown = [...new Set(query.keys())].filter((name) => !names.has(name))
  if (unknown.length === 0) return Effect.void
  return Effect.fail(
    new InvalidRequest({
      error: `Unknown query parameters: ${unknown
        .slice(0, 5)
        .map((name) => shorten(name, 50))
        .join(", ")}`,
      hint: "The parameters of /realtime are apikey, jwt and since"
    })
  )
}

const sinceOf = (given: string | null): Effect.Effect<number | undefined, InvalidRequest> => {
  if (given === null) return Effect.undefined
  const since = /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN
  return since <= Number.MAX_SAFE_INTEGER
    ? Effect.succeed(since)
    : Effect.fail(
        new InvalidRequest({ error: "since must be the id of an event", details: ["since: Expected a whole number"] })
      )
}
