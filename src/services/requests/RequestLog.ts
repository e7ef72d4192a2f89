import { Clock, Context, Effect, Layer } from "effect"
import { type Counted, countsOf, Minutes } from "../../domain/requests/Minutes.ts"
import {
  type KeyCounts,
  type LoggedRequest,
  type MinutesQuery,
  type RequestCounts,
  type RequestKeys,
  type RequestList,
  type RequestQuery
} from "../../domain/requests/Request.ts"
import { keyCountsOf, KeyMinutes } from "../../domain/requests/KeyMinutes.ts"
import { type Kept, Ring, selects, shown } from "../../domain/requests/Ring.ts"
import { samplesOfRequests } from "../../domain/metrics/Sample.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { Peers } from "../ports/workers/Peers.ts"

/** Numbers of requests that are kept: the latest, and the latest notable ones, which a busy service would soon lose. */
const latestSize = 1000
const notableSize = 500
/** ms from which a request is notable; errors always are. */
const slowMillis = 1000

const defaultLimit = 200

/** Codes of errors that are counted by themselves; functions of users may choose others. */
const countedCodes = [
  "RATE_LIMITED",
  "TOO_MANY_LARGE_REQUESTS",
  "TOO_MANY_GUESSES",
  "TOO_MANY_CONNECTIONS",
  "TOO_MANY_CLIENTS",
  "POOL_EXHAUSTED",
  "BRANCH_POOL_EXHAUSTED",
  "DATABASE_UNAVAILABLE",
  "DATABASE_NO_SPACE",
  "SHUTTING_DOWN",
  "57014"
] as const

/** A question to the other processes. */
type Question =
  | { readonly about: "requests"; readonly query: RequestQuery }
  | { readonly about: "minutes"; readonly now: number; readonly query: MinutesQuery }
  | { readonly about: "keys"; readonly now: number }

/**
 * The latest requests, and counts of the last hour: of this service on this machine, all its workers included. In memory
 * only, so that it costs a request about a microsecond; a restart loses it.
 */
export class RequestLog extends Context.Service<
  RequestLog,
  {
    readonly record: (request: Kept) => void
    /** The newest first. */
    readonly list: (query: RequestQuery) => Effect.Effect<RequestList>
    readonly counts: (query: MinutesQuery) => Effect.Effect<RequestCounts>
    readonly keys: Effect.Effect<RequestKeys>
    /** What this process has counted in a minute of the last hour, without the requests of the dashboard. */
    readonly minute: (minute: number) => ReturnType<Minutes["of"]>
  }
>()("svc/services/RequestLog") {
  static readonly layer = Layer.effect(
    RequestLog,
    Effect.gen(function* () {
      const peers = yield* Peers
      const latest = new Ring(latestSize)
      const notable = new Ring(notableSize)
      const [minutes, minutesOfDashboard] = [new Minutes(), new Minutes()]
      const keys = new KeyMinutes()
      const meters = yield* CurrentMeters
      const refusals = new Map(
        countedCodes.map((code) => [code as string, meters.counter("svc_http_refusals_total", { code })])
      )
      const otherRefusals = meters.counter("svc_http_refusals_total", { code: "other" })
      yield* meters.sample(() => [...samplesOfRequests(minutes), ...samplesOfRequests(minutesOfDashboard)])

      const record = (request: Kept) => {
        const { at, bytes, code, dashboard, keyId, method, millis, route, status } = request
        latest.add(request)
        if (status >= 400 || millis >= slowMillis) notable.add(request)
        const counts = dashboard ? minutesOfDashboard : minutes
        // The request counts in the minute in which it ended: a WebSocket may have begun hours ago.
        counts.add(at + millis, route, method, status, millis, bytes)
        if (status === 429 || status === 503 || status === 504) (refusals.get(code) ?? otherRefusals)()
        if (keyId > 0 && !dashboard) keys.add(at + millis, keyId, status)
      }

      /** The requests of this process. */
      const here = (query: RequestQuery): ReadonlyArray<LoggedRequest> => {
        const wanted = selects(query)
        const found = new Map<string, LoggedRequest>()
        for (const ring of [latest, notable]) {
          for (const request of ring.newest()) {
            if (!wanted(request)) continue
            // A client may send the same id with each request.
            const same = `${request.id} ${request.at} ${request.path}`
            if (!found.has(same)) found.set(same, shown(request))
          }
        }
        return newest(Array.from(found.values()), query)
      }

      const counted = (now: number, query: MinutesQuery): ReadonlyArray<Counted> =>
        (query.dashboard === "false" ? [minutes] : [minutes, minutesOfDashboard]).map((one) => one.counted(now, query))

      const answer = (question: Question) =>
        question.about === "requests"
          ? here(question.query)
          : question.about === "minutes"
            ? counted(question.now, question.query)
            : keys.counted(question.now)
      yield* peers.on("requests", (message) =>
        Effect.sync(() => JSON.stringify(answer(JSON.parse(message) as Question)))
      )

      /** The answers of all processes, this one first. */
      const everywhere = <A>(question: Question) =>
        Effect.map(peers.ask("requests", JSON.stringify(question)), (others) => [
          answer(question) as A,
          ...others.map((json) => JSON.parse(json) as A)
        ])

      return RequestLog.of({
        record,
        minute: (minute) => minutes.of(minute),
        list: (query) =>
          Effect.map(everywhere<ReadonlyArray<LoggedRequest>>({ about: "requests", query }), (all) => ({
            processes: all.length,
            requests: newest(all.flat(), query)
          })),
        counts: (query) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.map(everywhere<ReadonlyArray<Counted>>({ about: "minutes", now, query }), (all) =>
              countsOf(now, all)
            )
          ),
        keys: Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.map(everywhere<ReadonlyArray<KeyCounts>>({ about: "keys", now }), (all) => ({
            processes: all.length,
            keys: keyCountsOf(all)
          }))
        )
      })
    })
  )
}

const newest = (requests: ReadonlyArray<LoggedRequest>, { limit = defaultLimit }: RequestQuery) =>
  requests.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, limit)
