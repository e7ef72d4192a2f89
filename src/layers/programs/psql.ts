import { Effect, Layer, Redacted } from "effect"
import { spawn } from "node:child_process"
import { secret } from "../../domain/Settings.ts"
import { exitWith, printResult } from "../process/Output.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { atPlace, loginUri, type Login } from "../postgres/Login.ts"
import { layerRunning } from "../postgres/embedded/Embedded.ts"
import { DataDir } from "../process/DataDir.ts"
import { StartError } from "../process/StartError.ts"
import { layerMainDatabase } from "../postgres/MainDatabase.ts"

/** The embedded server also listens on this machine, for programs that cannot use its Unix socket. */
const overTcp = (login: Login): Login =>
  login.at.host.startsWith("/") ? atPlace(login, { host: "127.0.0.1", port: login.at.port }) : login

/** `svc db-url`: prints the URL of the main database with its password, for other programs. */
export const printUrl = Effect.fnUntraced(function* () {
  const given = yield* secret("DATABASE_URL")
  const url =
    given === undefined
      ? loginUri(overTcp(yield* Effect.provide(PostgresAddress, Layer.provide(layerRunning, DataDir.layer))))
      : Redacted.value(given)
  yield* printResult(url, { url })
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

/** `svc psql`: PostgreSQL's own psql on the main database. Its exit code is this command's. */
export const runPsql = Effect.fnUntraced(function* ({ args }: { readonly args: ReadonlyArray<string> }) {
  const login = overTcp(yield* PostgresAddress)
  const given = yield* secret("DATABASE_URL")
  const env = { ...process.env, ...variables(login, given === undefined ? undefined : Redacted.value(given)) }
  const code = yield* Effect.callback<number, StartError>((resume) => {
    const child = spawn("psql", args, { env, stdio: "inherit" })
    // A terminal sends SIGINT to both; psql cancels its statement.
    const ignore = () => undefined
    process.on("SIGINT", ignore)
    child.once("error", () => {
      const message =
        "psql was not found: install PostgreSQL's client programs, or give another program the URL of svc db-url"
      resume(Effect.fail(new StartError({ message })))
    })
    child.once("close", (code) => {
      process.off("SIGINT", ignore)
      resume(Effect.succeed(code ?? 1))
    })
  })
  yield* exitWith(code)
}, Effect.provide(layerMainDatabase))
