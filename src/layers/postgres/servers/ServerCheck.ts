import { Effect, Layer } from "effect"
import { StartError } from "../../process/StartError.ts"
import { followPrimary } from "./Primary.ts"
import { MainSessions } from "../MainSessions.ts"
import { PostgresAddress } from "../Address.ts"
import { type Login, ownSearchPath } from "../Login.ts"
import { checkPooler } from "../pooler/Check.ts"
import { aMinute, ask, type Failure, firstLine, openAtStart, sqlState } from "./Opening.ts"

/** Codes of OpenSSL and Node for a certificate that is not accepted, which does not change by waiting. */
const isCertificate = (failure: Failure) =>
  sqlState(failure) === "" && /CERT|SIGNATURE|ERR_TLS|ERR_SSL|ERR_OSSL|CRL/.test(String(failure.code ?? ""))

const hasNoTls = (failure: Failure) => firstLine(failure).includes("does not support SSL")

/** PgBouncer's text for settings in the startup message, by which sessions of the service are safe from others' objects. */
const isStartupRefusal = (failure: Failure) => /unsupported startup parameter/i.test(firstLine(failure))

/** Whether the server may be starting: it is unreachable, or reports that. */
const isDown = (failure: Failure) =>
  !isCertificate(failure) &&
  !hasNoTls(failure) &&
  !isStartupRefusal(failure) &&
  /^(|57P03|08...|53300)$/.test(sqlState(failure))

const poolerHint = (variable: string) =>
  variable === "DATABASE_URL"
    ? "Set DATABASE_DIRECT_URL to PostgreSQL's own address (providers call it direct), for what needs sessions of its own, such as LISTEN; or DATABASE_URL, to do without the pooler"
    : "Set it to PostgreSQL's own address (providers call it direct)"

/** The setting with the address of PostgreSQL itself. */
const variableOf = ({ pooler }: Login) => (pooler === undefined ? "DATABASE_URL" : "DATABASE_DIRECT_URL")

const explained = (login: Login, failure: Failure) => {
  const { host, port } = login.at
  const variable = variableOf(login)
  if (isCertificate(failure)) {
    return `The certificate of the database server ${host}:${port} cannot be verified: ${firstLine(failure).split(";")[0]}. Name the file of its authority with sslrootcert in ${variable}, or in NODE_EXTRA_CA_CERTS; sslmode=require does not verify`
  }
  if (hasNoTls(failure)) {
    return `The database server ${host}:${port} does not support TLS, which sslmode in ${variable} requires`
  }
  if (isStartupRefusal(failure)) {
    return `${variable} leads to a connection pooler, which does not accept settings of sessions (${firstLine(failure)}). ${poolerHint(variable)}`
  }
  return undefined
}

const probe = "svc.probe"

/**
 * Whether two clients keep sessions of their own: a pooler in transaction mode gives each statement any session. The second
 * holds one in a transaction: if it is that of the first, it sees its setting, and the first gets another.
 */
const keepsSessions = Effect.fnUntraced(function* (login: Login) {
  const [first, second] = [yield* openAtStart(login), yield* openAtStart(login)]
  if ((yield* ask(first, "select current_setting('search_path') as value")) !== ownSearchPath) return false
  yield* ask(first, `select set_config('${probe}', 'first', false) as value`)
  yield* ask(second, "begin")
  const seen = yield* ask(second, `select current_setting('${probe}', true) as value`)
  if (seen === "first") return false // its pool may have no other session, for which the first would wait
  const kept = yield* ask(first, `select current_setting('${probe}', true) as value`)
  yield* ask(second, "rollback")
  return kept === "first"
})

/** Fails if the service cannot work on the server; `waits`: up to a minute for one that does not answer. */
const checkServer = (login: Login, waits: boolean): Effect.Effect<void, StartError> => {
  const at = `${login.at.host}:${login.at.port}/${login.database}`
  let warned = false
  return Effect.scoped(keepsSessions(login)).pipe(
    Effect.tapError((failure) => {
      if (warned || !waits || !isDown(failure)) return Effect.void
      warned = true
      return Effect.logWarning(
        `The database at ${at} is not reachable yet; waiting up to a minute: ${firstLine(failure)}`
      )
    }),
    Effect.retry({ schedule: aMinute, while: (failure) => waits && isDown(failure) }),
    Effect.mapError(
      (failure) =>
        new StartError({
          message: explained(login, failure) ?? `The database at ${at} cannot be used: ${firstLine(failure)}`
        })
    ),
    Effect.flatMap((keeps) =>
      keeps
        ? Effect.void
        : Effect.fail(
            new StartError({
              message: `${variableOf(login)} leads to a connection pooler that shares sessions between clients, such as PgBouncer in transaction mode. ${poolerHint(variableOf(login))}`
            })
          )
    )
  )
}

/** Fails if the service can't work on the servers of a login, and follows the primary until the scope closes. */
export const checkServers = Effect.fnUntraced(function* (login: Login, waits: boolean) {
  yield* followPrimary(login)
  yield* checkServer(login, waits)
  yield* checkPooler(login, waits)
})

/** It is built before everything that connects, which would fail with less helpful errors. */
export const layerServerCheck = Layer.effectDiscard(
  Effect.flatMap(PostgresAddress, (login) => checkServers(login, true))
).pipe(Layer.provide(MainSessions.layer))
