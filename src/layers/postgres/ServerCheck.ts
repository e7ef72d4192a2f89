import { Effect, Layer, type Scope, Schedule } from "effect"
import { Client } from "pg"
import { StartError } from "../process/StartError.ts"
import { followPrimary, requirePrimary } from "./servers/Primary.ts"
import { MainSessions } from "./MainSessions.ts"
import { PostgresAddress } from "./Address.ts"
import { atPrimary, type Login, ownSearchPath, pgConfig } from "./Login.ts"

const wait = Schedule.max([Schedule.spaced("500 millis"), Schedule.recurs(120)])

/** An error of Node's (`code` is a name) or of PostgreSQL (`code` is a SQLSTATE, and there is a severity). */
interface Failure {
  readonly code?: unknown
  readonly severity?: unknown
  readonly message?: unknown
}

const sqlState = ({ code, severity }: Failure) => (typeof severity === "string" ? String(code) : "")
const text = ({ message }: Failure) => String(message).split("\n")[0] ?? ""

/** Codes of OpenSSL and Node for a certificate that is not accepted, which does not change by waiting. */
const isCertificate = (failure: Failure) =>
  sqlState(failure) === "" && /CERT|SIGNATURE|ERR_TLS|ERR_SSL|ERR_OSSL|CRL/.test(String(failure.code ?? ""))

const hasNoTls = (failure: Failure) => text(failure).includes("does not support SSL")

/** PgBouncer's text for settings in the startup message, by which sessions of the service are safe from others' objects. */
const isStartupRefusal = (failure: Failure) => /unsupported startup parameter/i.test(text(failure))

/** Whether the server may be starting: it is unreachable, or says so. */
const isDown = (failure: Failure) =>
  !isCertificate(failure) &&
  !hasNoTls(failure) &&
  !isStartupRefusal(failure) &&
  /^(|57P03|08...|53300)$/.test(sqlState(failure))

const poolerHint =
  "Connections to PostgreSQL itself are required, for LISTEN and settings of sessions: use its own address (providers call it direct). The service has pools of its own"

const explained = ({ host, port }: Login, failure: Failure) => {
  if (isCertificate(failure)) {
    return `The certificate of the database server ${host}:${port} cannot be verified: ${text(failure).split(";")[0]}. Name the file of its authority with sslrootcert in DATABASE_URL, or in NODE_EXTRA_CA_CERTS; sslmode=require does not verify`
  }
  if (hasNoTls(failure)) {
    return `The database server ${host}:${port} does not support TLS, which sslmode in DATABASE_URL requires`
  }
  if (isStartupRefusal(failure)) {
    return `DATABASE_URL leads to a connection pooler, which does not accept settings of sessions (${text(failure)}). ${poolerHint}`
  }
  return undefined
}

const open = (given: Login): Effect.Effect<Client, Failure, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client = new Client({
          ...pgConfig(atPrimary(given), { search_path: ownSearchPath }),
          application_name: "svc start",
          connectionTimeoutMillis: 5_000,
          query_timeout: 10_000
        })
        // An "error" event without a handler would end the process.
        client.on("error", () => undefined)
        requirePrimary(client)
        await client.connect()
        return client
      },
      catch: (cause) => cause as Failure
    }),
    (client) => Effect.promise(() => client.end().catch(() => undefined)).pipe(Effect.timeoutOption("1 second"))
  )

const ask = (client: Client, sql: string) =>
  Effect.tryPromise({
    try: async () => (await client.query<{ readonly value: string | null }>(sql)).rows[0]?.value ?? null,
    catch: (cause) => cause as Failure
  })

const probe = "svc.probe"

/**
 * Whether two clients keep sessions of their own: a pooler in transaction mode gives each statement any session. The second
 * holds one in a transaction: if it is that of the first, it sees its setting, and the first gets another.
 */
const keepsSessions = Effect.fnUntraced(function* (login: Login) {
  const [first, second] = [yield* open(login), yield* open(login)]
  if ((yield* ask(first, "select current_setting('search_path') as value")) !== ownSearchPath) return false
  yield* ask(first, `select set_config('${probe}', 'first', false) as value`)
  yield* ask(second, "begin")
  const seen = yield* ask(second, `select current_setting('${probe}', true) as value`)
  if (seen === "first") return false // its pool may have no other session, for which the first would wait
  const kept = yield* ask(first, `select current_setting('${probe}', true) as value`)
  yield* ask(second, "rollback")
  return kept === "first"
})

/** Waits up to a minute for the server, and fails if the service cannot work on it. */
const checkServer = (login: Login): Effect.Effect<void, StartError> => {
  const at = `${login.host}:${login.port}/${login.database}`
  let warned = false
  return Effect.scoped(keepsSessions(login)).pipe(
    Effect.tapError((failure) => {
      if (warned || !isDown(failure)) return Effect.void
      warned = true
      return Effect.logWarning(`The database at ${at} is not reachable yet; waiting up to a minute: ${text(failure)}`)
    }),
    Effect.retry({ schedule: wait, while: isDown }),
    Effect.mapError(
      (failure) =>
        new StartError({
          message: explained(login, failure) ?? `The database at ${at} cannot be used: ${text(failure)}`
        })
    ),
    Effect.flatMap((keeps) =>
      keeps
        ? Effect.void
        : Effect.fail(
            new StartError({
              message: `DATABASE_URL leads to a connection pooler that shares sessions between clients, such as PgBouncer in transaction mode. ${poolerHint}`
            })
          )
    )
  )
}

/** Built before anything that connects, which would fail in ways that say less. */
export const layerServerCheck = Layer.effectDiscard(
  Effect.gen(function* () {
    const login = yield* PostgresAddress
    yield* followPrimary(login)
    yield* checkServer(login)
  })
).pipe(Layer.provide(MainSessions.layer))
