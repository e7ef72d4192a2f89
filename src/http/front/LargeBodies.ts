import { Effect } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type IncomingMessage } from "node:http"
import { RequestTimeout, type TooManyRequests } from "../../domain/errors.ts"
import { type Turns } from "../../services/access/Turns.ts"
import { largeBody } from "../../services/LoopTurn.ts"
import { headersOf } from "../wire/Headers.ts"
import { isImport } from "../wire/Paths.ts"

/** A large body must arrive within this time, in ms, and another second for each `slowestRate` bytes. */
const bodyMillis = 5_000
const slowestRate = 256 * 1024

/** Bytes of a body that is large, or may be: with chunks its length is not known (Infinity). Undefined if it is small. */
const largeBodyOf = (request: HttpServerRequest.HttpServerRequest): number | undefined => {
  const headers = headersOf(request)
  if (headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY
  const length = Number(headers["content-length"] ?? 0)
  return length > largeBody ? length : undefined
}

const tooSlow = new RequestTimeout({ error: "The body arrives too slowly; large bodies need 256 KiB a second" })

/** Never succeeds; fails if the body has not arrived in time. `bytes`: as in `largeBodyOf`. */
const slowBody = (
  request: HttpServerRequest.HttpServerRequest,
  bytes: number
): Effect.Effect<never, RequestTimeout> => {
  // Node itself ends requests whose body has not arrived after a minute.
  const millis = Math.min(bodyMillis + (bytes / slowestRate) * 1000, 60_000)
  return Effect.suspend(() =>
    (request.source as Partial<IncomingMessage>).complete === false ? Effect.fail(tooSlow) : Effect.never
  ).pipe(Effect.delay(millis))
}

/** Requests with a large body take turns before the body is read. `client`: see `Turns`. */
export const inTurnIfLarge = <A, E, R>(
  turns: Turns["Service"],
  client: string,
  request: HttpServerRequest.HttpServerRequest,
  app: Effect.Effect<A, E, R>
): Effect.Effect<A, E | TooManyRequests | RequestTimeout, R> => {
  const bytes = largeBodyOf(request)
  // The body of an import is not kept in memory, and may take as long as PostgreSQL needs for it.
  if (bytes !== undefined && isImport(request.url)) return turns.take(client, app)
  return bytes === undefined ? app : turns.take(client, Effect.raceFirst(app, slowBody(request, bytes)))
}
