import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect, Layer, Redacted } from "effect"
import { spawn } from "node:child_process"
import { secret } from "../../domain/Settings.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { atPlace, loginUri, type Login } from "../postgres/Login.ts"
import { layerRunning } from "../postgres/embedded/Embedded.ts"
import { DataDir } from "../process/DataDir.ts"
import { startFailure, StartError } from "../process/StartError.ts"
import { layerMainDatabase } from "../postgres/MainDatabase.ts"

/** The embedded server also listens on this machine, for programs that cannot use its Unix socket. */
const overTcp = (login: Login): Login =>
  login.at.host.startsWith("/") ? atPlace(login, { host: "127.0.0.1", port: login.at.port }) : login

/** `npm run --silent db:url`: prints the URL of the main database with its password, for other programs. */
const printUrl = Effect.gen(function* () {
  const given = yield* secret("DATABASE_URL")
  if (given !== undefined) return yield* Console.log(Redacted.value(given))
  const login = yield* Effect.provide(PostgresAddress, Layer.provide(layerRunning, DataDir.layer))
  return yield* Console.log(loginUri(overTcp(login)))
})

/** The parameters of a libpq URI as variables, because others on the machine see a program's arguments. */
const uriVariables: Readonly<Record<string, string>> = {
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY"
}

const variables = (login: Login, uri: string | undefined): Readonly<Record<string, string>> => ({
  PGHOST: (login.at.servers?.all ?? [login.at]).map(({ host }) => host).join(),
  PGPORT: (login.at.servers?.all ?? [login.at]).map(({ port }) => port).join(),
  PGTARGETSESSIONATTRS: "read-write",
  PGUSER: login.user,
  PGPASSWORD: Redacted.value(login.password),
  PGDATABASE: login.database,
  PGSSLMODE: "disable",
  ...Object.fromEntries(
    [...new URLSearchParams(/\?(.*)$/s.exec(uri ?? "")?.[1] ?? "")].flatMap(([name, value]) => {
      const variable = uriVariables[name]
      return variable === undefined ? [] : [[variable, value]]
    })
  )
})

/** `npm run psql`: PostgreSQL's own psql on the main database, with the arguments that follow `--`. */
const psql = Effect.gen(function* () {
  const login = overTcp(yield* PostgresAddress)
  const given = yield* secret("DATABASE_URL")
  const env = { ...process.env, ...variables(login, given === undefined ? undefined : Redacted.value(given)) }
  process.exitCode = yield* Effect.callback<number, StartError>((resume) => {
    const child = spawn("psql", process.argv.slice(2), { env, stdio: "inherit" })
    // A terminal sends SIGINT to both; psql cancels its statement.
    const ignore = () => undefined
    process.on("SIGINT", ignore)
    child.once("error", () => {
      const message =
        "psql was not found: install PostgreSQL's client programs, or give another program the URL of npm run --silent db:url"
      resume(Effect.fail(new StartError({ message })))
    })
    child.once("close", (code) => {
      process.off("SIGINT", ignore)
      resume(Effect.succeed(code ?? 1))
    })
  })
}).pipe(Effect.provide(layerMainDatabase))

const program: Effect.Effect<void, unknown> = process.argv[2] === "--print-url" ? printUrl : psql

program.pipe(
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Console.error(startFailure(cause)))),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
