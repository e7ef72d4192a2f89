import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Socket } from "effect/socket"
import { InvalidRequest } from "../../domain/errors.ts"
import { Realtime } from "../../services/realtime/Realtime.ts"
import { RealtimeGate } from "../access/RealtimeGate.ts"

/** RFC 6455 7.4.1, and what a revoked key is told. */
const goingAway = new Socket.CloseEvent(1001, "The service is shutting down")
const refused = (why: string) => new Socket.CloseEvent(1008, why)

/** RFC 9110 15.5.22: the body comes from the front door. */
const upgradeRequired = HttpServerResponse.empty({ status: 426, headers: { upgrade: "websocket" } })

/** `/realtime`. What clients say is not listened to; the contract for readers is http/api/Realtime.ts. */
export const RealtimeSocket = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const realtime = yield* Realtime
    const gate = yield* RealtimeGate

    const connect = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const query = new URLSearchParams(request.url.split("?")[1])
      const { role, until } = yield* gate.enter(request, query.get("apikey") ?? undefined)
      const since = yield* sinceOf(query.get("since"))
      if (request.headers["upgrade"]?.toLowerCase() !== "websocket") return upgradeRequired

      // Before the handshake, so that whoever is connected misses nothing; what comes too early waits.
      const early: Array<string> = []
      let tell = (text: string) => void early.push(text)
      const before = yield* realtime.connect({ role, since, tell: (text) => tell(text) })
      const socket = yield* request.upgrade
      const { pull } = yield* socket.reader
      const { write } = yield* socket.writer
      tell = (text) => void Effect.runSyncExit(write(text))
      for (const text of [...before, ...early]) tell(text)
      yield* Effect.raceAllFirst([
        Effect.forever(pull),
        Effect.andThen(realtime.closed, write(goingAway)),
        Effect.catch(until, ({ error }) => write(refused(error)))
      ]).pipe(Effect.catchTag("SocketError", () => Effect.void)) // the client has left
      return HttpServerResponse.empty()
    })

    yield* router.add("GET", "/realtime", connect)
  })
)

const sinceOf = (given: string | null): Effect.Effect<number | undefined, InvalidRequest> => {
  if (given === null) return Effect.undefined
  const since = /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN
  return since <= Number.MAX_SAFE_INTEGER
    ? Effect.succeed(since)
    : Effect.fail(new InvalidRequest({ error: "since must be the id of an event", details: ["since: a whole number"] }))
}
