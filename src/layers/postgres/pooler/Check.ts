import { Effect } from "effect"
import { StartError } from "../../process/StartError.ts"
import { type Login, pooled } from "../Login.ts"
import { aMinute, ask, type Failure, firstLine, openAtStart, sqlState } from "../servers/Opening.ts"
import { beginSql } from "./Transactions.ts"

const wrong = (message: string) => new StartError({ message })

/** PgBouncer has one SQLSTATE for most failures; these are of its configuration, which does not change by waiting. */
const refusal =
  /authentication|no such|not allowed|not exist|pooling|unsupported|login failed|rejected|no more connections/i

const isDown = (failure: Failure) =>
  !refusal.test(firstLine(failure)) && /^(|57P0.|08...|53300)$/.test(sqlState(failure))

/** A lock that a session of PostgreSQL's own has, and that the pooler's must find taken: it is then in the same database. */
const lock = (how: string) =>
  `select pg_catalog.${how}(pg_catalog.hashtextextended($1::pg_catalog.text, 0::pg_catalog.int8))::pg_catalog.text as value`

const compare = Effect.fnUntraced(function* (login: Login, at: string) {
  const direct = yield* openAtStart(login)
  const client = yield* openAtStart(pooled(login, 0))
  yield* ask(client, beginSql)
  const user = yield* ask(client, "select session_user::pg_catalog.text as value")
  if (user !== login.user) {
    return wrong(
      `The pooler of DATABASE_URL (${at}) logs ${login.user} in to PostgreSQL as ${user}: leave user= out of its entry for the database`
    )
  }
  const name = crypto.randomUUID()
  yield* ask(direct, lock("pg_advisory_lock"), [name])
  const free = yield* ask(client, lock("pg_try_advisory_xact_lock"), [name])
  yield* ask(client, "rollback")
  return free === "false"
    ? undefined
    : wrong(
        `DATABASE_URL (the pooler ${at}) and DATABASE_DIRECT_URL (${login.at.host}:${login.at.port}/${login.database}) lead to different databases: set both to the same one, on the primary`
      )
})

const explained = (failure: Failure, login: Login, at: string) => {
  const text = firstLine(failure)
  if (/statement pooling/i.test(text)) {
    return `The pooler of DATABASE_URL (${at}) is in statement mode, in which there are no transactions: set its pool_mode to transaction`
  }
  if (/authentication|no such user|login failed/i.test(text)) {
    return `The pooler of DATABASE_URL (${at}) does not accept the login ${login.user} (${text}): let it ask PostgreSQL for passwords, in PgBouncer with auth_query`
  }
  return `The pooler of DATABASE_URL (${at}) cannot be used by ${login.user}: ${text}`
}

/**
 * Fails unless the pooler, if there is one, leads to the same database, as the same login, with transactions. `waits`: up to
 * a minute for one that does not answer.
 */
export const checkPooler = Effect.fnUntraced(function* (login: Login, waits: boolean) {
  if (login.pooler === undefined) return
  const at = `${login.pooler.at.host}:${login.pooler.at.port}/${login.pooler.database}`
  let warned = false
  const problem = yield* Effect.scoped(compare(login, at)).pipe(
    Effect.tapError((failure) => {
      if (warned || !waits || !isDown(failure)) return Effect.void
      warned = true
      return Effect.logWarning(
        `The pooler at ${at} is not reachable yet; waiting up to a minute: ${firstLine(failure)}`
      )
    }),
    Effect.retry({ schedule: aMinute, while: (failure) => waits && isDown(failure) }),
    Effect.mapError((failure) => wrong(explained(failure, login, at)))
  )
  if (problem !== undefined) return yield* problem
})
