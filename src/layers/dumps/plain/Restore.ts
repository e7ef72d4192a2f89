import { Effect } from "effect"
import { DumpScript } from "../../../domain/dumps/Script.ts"
import { type DumpStatement } from "../../../domain/dumps/Statement.ts"
import { withinBackupTimeout } from "../../../services/backups/Settings.ts"
import { type DumpFailed, type OnProgress } from "../../../services/ports/DumpTools.ts"
import { type Login } from "../../postgres/Login.ts"
import { openDump } from "./File.ts"
import { PlainRestoreQuery } from "./Query.ts"
import { connectRestore, failed, refusal } from "./Session.ts"

/** Smallest change of the progress that is reported. */
const progressStep = 0.005

/** Client-only encodings in which a byte of a character may be a quote or a backslash. */
const unsafeEncoding = /^(BIG5|GB18030|GBK|JOHAB|SJIS|SHIFT_JIS_2004|UHC)$/i

/** Skips owners, timeouts of the session, and subscriptions, which would use the source's slots. */
const isSkipped = ({ head, owner }: DumpStatement, superuser: boolean) => {
  const [first, second, third, fourth] = head
  if (owner) return true
  if (first === "SET" && second?.endsWith("_TIMEOUT") === true) return true
  if (second === "SESSION" && (third === "AUTHORIZATION" || fourth === "AUTHORIZATION")) return !superuser
  if (first === "CREATE" || first === "ALTER") return second === "SUBSCRIPTION"
  return (first === "COMMENT" || first === "SECURITY") && head[head.indexOf("ON") + 1] === "SUBSCRIPTION"
}

/** Runs the parts of a script in a session of its own. */
const makeRunner = Effect.fnUntraced(function* (login: Login, script: DumpScript) {
  const { client, reported } = yield* connectRestore(login)
  const superuser = reported.get("is_superuser") === "on"
  let copying: { readonly query: PlainRestoreQuery; readonly statement: DumpStatement } | undefined

  const runStatement = Effect.fnUntraced(function* (statement: DumpStatement) {
    if (isSkipped(statement, superuser)) return undefined
    const query = client.query(new PlainRestoreQuery(statement.parts, statement.size))
    const wantsRows = yield* Effect.tryPromise({
      try: () => query.wantsRows,
      catch: (cause) => refusal(cause, statement)
    })
    if (wantsRows) {
      copying = { query, statement }
      script.startRows()
    }
    // psql, too, follows the values that PostgreSQL reports.
    script.standardStrings = reported.get("standard_conforming_strings") !== "off"
    const encoding = reported.get("client_encoding") ?? ""
    return unsafeEncoding.test(encoding)
      ? yield* failed(`The encoding ${encoding} is not supported for scripts`)
      : undefined
  })

  /** `undefined` ends the rows. */
  const runRows = (bytes: Buffer | undefined): Effect.Effect<void, DumpFailed> => {
    if (copying === undefined) return Effect.void
    const { query, statement } = copying
    const waiting = bytes === undefined ? query.endRows() : query.rows(bytes)
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
      const open = client.getTransactionStatus() === "I" ? undefined : "The script does not end its transaction"
      const problem = script.end() ?? open
      return problem === undefined ? Effect.void : Effect.fail(failed(problem))
    })
  }
})

const restored = Effect.fnUntraced(function* (login: Login, file: string, onProgress: OnProgress) {
  const dump = yield* openDump(file)
  const { end, run } = yield* makeRunner(login, new DumpScript())
  let reported = 0
  for (let chunk = yield* dump.next; chunk !== undefined; chunk = yield* dump.next) {
    yield* run(chunk)
    // Indexes are created after everything is read.
    const fraction = Math.min(dump.fraction(), 0.99)
    if (fraction < reported + progressStep) continue
    reported = fraction
    yield* onProgress(fraction)
  }
  yield* end
  yield* onProgress(1)
})

/**
 * Fills an empty database from a plain dump (`.sql.zst`), statement by statement on one connection, in constant memory.
 * Owners are skipped. Stops at the first error; earlier statements stay.
 *
 * The script is only trusted as SQL: psql commands are rejected, and its event triggers don't fire. Code of the source
 * database runs as the service's login in constraints, index expressions and materialized views.
 * @param options.timeout time limit in ms
 */
export const restorePlain =
  (login: Login, options: { readonly timeout: number }) =>
  (file: string, database: string, onProgress: OnProgress): Effect.Effect<void, DumpFailed> =>
    restored({ ...login, database }, file, onProgress).pipe(Effect.scoped, withinBackupTimeout(options.timeout))
