import { Effect } from "effect"
import { DumpScript } from "../../../domain/dumps/Script.ts"
import { type DumpStatement } from "../../../domain/dumps/Statement.ts"
import { type DumpFailed, type OnProgress } from "../../../services/ports/DumpTools.ts"
import { type Login } from "../../postgres/Login.ts"
import { openDump } from "./File.ts"
import { PlainRestoreQuery } from "./Query.ts"
import { connectRestore, failed, refusal } from "./Session.ts"

/** Steps in which progress is told of. */
const progressStep = 0.005

/** Encodings in which a byte of a character may be a quote or a backslash. No database is in one of them. */
const unsafeEncoding = /^(BIG5|GB18030|GBK|JOHAB|SJIS|SHIFT_JIS_2004|UHC)$/i

/** What a branch is without: owners, limits of the session, and subscriptions, which would use the source's slots. */
const isLeftOut = ({ head, owner }: DumpStatement, superuser: boolean) => {
  const [first, second, third, fourth] = head
  if (owner) return true
  if (first === "SET" && second?.endsWith("_TIMEOUT") === true) return true
  if (second === "SESSION" && (third === "AUTHORIZATION" || fourth === "AUTHORIZATION")) return !superuser
  if (first === "CREATE" || first === "ALTER") return second === "SUBSCRIPTION"
  return (first === "COMMENT" || first === "SECURITY") && head[head.indexOf("ON") + 1] === "SUBSCRIPTION"
}

/** Runs the pieces of a script on a session of its own. */
const makeRunner = Effect.fnUntraced(function* (login: Login, script: DumpScript) {
  const { client, reported } = yield* connectRestore(login)
  const superuser = reported.get("is_superuser") === "on"
  let copying: { readonly query: PlainRestoreQuery; readonly statement: DumpStatement } | undefined

  const runStatement = Effect.fnUntraced(function* (statement: DumpStatement) {
    if (isLeftOut(statement, superuser)) return undefined
    const query = client.query(new PlainRestoreQuery(statement.parts, statement.size))
    const wantsRows = yield* Effect.tryPromise({
      try: () => query.wantsRows,
      catch: (cause) => refusal(cause, statement)
    })
    if (wantsRows) {
      copying = { query, statement }
      script.startRows()
    }
    // psql too goes by what PostgreSQL says of them.
    script.standardStrings = reported.get("standard_conforming_strings") !== "off"
    const encoding = reported.get("client_encoding") ?? ""
    return unsafeEncoding.test(encoding) ? yield* failed(`Scripts in ${encoding} can't be read`) : undefined
  })

  /** Undefined: there are no more. */
  const runRows = (bytes: Buffer | undefined): Effect.Effect<void, DumpFailed> => {
    if (copying === undefined) return Effect.void
    const { query, statement } = copying
    const waiting = bytes === undefined ? query.rowsEnd() : query.rows(bytes)
    if (bytes === undefined) copying = undefined
    if (waiting === undefined) return Effect.void
    return Effect.tryPromise({ try: () => waiting, catch: (cause) => refusal(cause, statement) })
  }

  return {
    run: Effect.fnUntraced(function* (chunk: Buffer) {
      for (const piece of script.read(chunk)) {
        if (piece.kind === "problem") return yield* failed(piece.problem)
        if (piece.kind === "statement") yield* runStatement(piece)
        else yield* runRows(piece.kind === "rows" ? piece.bytes : undefined)
      }
      return undefined
    }),
    end: Effect.suspend(() => {
      const open = client.getTransactionStatus() === "I" ? undefined : "The script leaves a transaction open"
      const problem = script.end() ?? open
      return problem === undefined ? Effect.void : Effect.fail(failed(problem))
    })
  }
})

const restored = Effect.fnUntraced(function* (login: Login, file: string, onProgress: OnProgress) {
  const dump = yield* openDump(file)
  const { end, run } = yield* makeRunner(login, new DumpScript())
  let told = 0
  for (let chunk = yield* dump.next; chunk !== undefined; chunk = yield* dump.next) {
    yield* run(chunk)
    // Indexes are made when all has been read.
    const fraction = Math.min(dump.fraction(), 0.99)
    if (fraction < told + progressStep) continue
    told = fraction
    yield* onProgress(fraction)
  }
  yield* end
  yield* onProgress(1)
})

/**
 * Fills an empty database from a plain dump (`.sql.zst`), statement by statement on one connection, with little in
 * memory whatever the size. Owners are left out. Ends at the first error; what was made until then stays.
 *
 * The script is not trusted to be more than statements: commands of psql are refused, and its event triggers don't fire.
 * But code of the source database runs as our login: constraints, index expressions and materialized views do.
 * @param options.timeout longest it may take, in ms
 */
export const restorePlain =
  (login: Login, options: { readonly timeout: number }) =>
  (file: string, database: string, onProgress: OnProgress): Effect.Effect<void, DumpFailed> =>
    restored({ ...login, database }, file, onProgress).pipe(
      Effect.scoped,
      Effect.timeoutOrElse({
        duration: options.timeout,
        orElse: () => Effect.fail(failed(`Not done after ${Math.round(options.timeout / 1000)} s (SVC_BACKUP_TIMEOUT)`))
      })
    )
