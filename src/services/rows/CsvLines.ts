import { Deferred, Effect, Exit, Pull, Scope, Stream } from "effect"
import { type ErrorCode } from "../../domain/codes/ErrorCode.ts"
import { type ClientError, type DatabaseError, type TooManyRequests, type Unavailable } from "../../domain/errors.ts"
import { type RowPlan } from "../../domain/rows/plan/Plan.ts"
import { maxAnswerSetting } from "../../domain/rows/sql/Size.ts"
import { csvHead } from "../../domain/rows/sql/Csv.ts"
import { allRowsSql } from "../../domain/rows/sql/Statement.ts"
import { type AnswerForm, type Preferences, type RequestContext } from "../../domain/rows/Preferences.ts"
import { type RowRange } from "../../domain/rows/plan/Page.ts"
import { type Turns } from "../access/Turns.ts"
import { type Actor, type Database } from "../ports/Db.ts"

/** The fields of a request for rows that matter here. */
interface CsvRequest {
  readonly database: Database
  readonly actor: Actor
  readonly searchPath: string
  readonly preferences: Preferences
  readonly range: RowRange | undefined
  readonly form: AnswerForm
  readonly context: RequestContext
}

/** Bytes of the arrays in one row. */
const maxRowSize = 16 * 1024 * 1024

/** Whether all rows of a read may be sent as they come, without a limit: a CSV for a service key, without a page or a count. */
export const mayStream = ({ actor, context, form, preferences, range }: CsvRequest) =>
  form.media === "csv" &&
  actor.role === "service_role" &&
  context.method === "GET" &&
  range === undefined &&
  preferences.count === undefined

export const isTooLarge = (error: { readonly code: ErrorCode }) => error.code === "RESULT_TOO_LARGE"

/** The settings in which user code can read the request, as in `Statement`. */
const contextSettings = `select pg_catalog.set_config('request.method', $1, false), pg_catalog.set_config('request.path', $2, false),
  pg_catalog.set_config('request.headers', $3, false), pg_catalog.set_config('request.cookies', $4, false)`

const settings = `select pg_catalog.set_config('search_path', $1, false), pg_catalog.set_config('timezone', $2, false),
  pg_catalog.set_config('default_transaction_read_only', 'on', false), pg_catalog.set_config('${maxAnswerSetting}', '${maxRowSize}', false)`

/** A response that has not begun after this time, in ms, never will: its client has gone. */
const beginMillis = 10_000

/** Takes a turn of costly work, and keeps it until the scope closes. */
const keepTurn = (turns: Turns["Service"], client: string) =>
  Effect.gen(function* () {
    const taken = yield* Deferred.make<void, TooManyRequests>()
    const kept = turns.take(client, Effect.andThen(Deferred.succeed(taken, undefined), Effect.never))
    yield* Effect.forkScoped(Effect.catch(kept, (error) => Deferred.fail(taken, error)))
    yield* Deferred.await(taken)
  })

/**
 * The rows of a plan, as CSV that is made while it is taken, in a session of their own. Fails here if
 * there is no session or turn, or if the statement fails before its first rows; both end with the stream.
 */
export const csvLines = (
  { actor, context, database, preferences, searchPath }: CsvRequest,
  rows: RowPlan,
  turns: Turns["Service"]
): Effect.Effect<Stream.Stream<Uint8Array, DatabaseError | Unavailable>, ClientError> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const close = Scope.close(scope, Exit.void)
    const opened = Effect.gen(function* () {
      if (actor.client !== undefined) yield* keepTurn(turns, actor.client)
      const session = yield* database.session(actor)
      const { cookies, headers, method, path } = context
      yield* session.query(contextSettings, [method, path, headers, cookies], 1)
      yield* session.query(settings, [searchPath, preferences.timezone ?? "UTC"], 1)
      const { params, text } = allRowsSql(rows)
      const pull = yield* Stream.toPull(session.csv(text, params))
      const first = yield* Pull.catchDone(pull, () => Effect.undefined)
      return { pull, first }
    })
    const { first, pull } = yield* Effect.onError(Scope.provide(opened, scope), () => close)
    let begun = false
    const abandoned = Effect.suspend(() => (begun ? Effect.void : close))
    yield* Effect.forkDetach(Effect.delay(abandoned, beginMillis))
    const lines = Stream.suspend(() => {
      begun = true
      const some = Stream.fromIterable(first ?? [])
      return first === undefined ? some : Stream.concat(some, Stream.fromPull(Effect.succeed(pull)))
    })
    return Stream.ensuring(Stream.concat(Stream.make(Buffer.from(`${csvHead(rows)}\n`)), lines), close)
  })
