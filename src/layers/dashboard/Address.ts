import { Console, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { resolve } from "node:path"
import { secret, text } from "../../domain/Settings.ts"
import { DashboardSessions } from "../../services/dashboard/Sessions.ts"
import { DashboardSettings } from "../../services/dashboard/Settings.ts"
import { Example } from "../../services/example/Example.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { DashboardFiles } from "../../services/ports/DashboardFiles.ts"
import { version } from "../../domain/Version.ts"
import { httpAddress } from "../net/Listener.ts"
import { stylesFor } from "../process/Output.ts"
import { workerNumber } from "../process/WorkerSettings.ts"
import { ObjectStoreAddress } from "../storage/Address.ts"

const loopback = /^(?:127\.\d+\.\d+\.\d+|localhost|::1)$/

/** The path of a link that makes the first administrator; undefined if there is one, or accounts are kept elsewhere. */
const firstAdministrator = Effect.gen(function* () {
  const { admins } = yield* IdentitySettings
  if (admins.size > 0) return undefined
  const { first } = yield* (yield* Accounts).admin
  return yield* first.link
}).pipe(Effect.orElseSucceed(() => undefined))

interface Row {
  readonly name: string
  readonly value: string
  readonly note?: string
}

/** The page of the example and its people. */
const exampleRow = Effect.fnUntraced(function* (api: string) {
  const record = yield* Effect.orElseSucceed((yield* Example).current, () => undefined)
  if (record === undefined) return []
  const people = record.people.map(({ email }) => email).join(", ")
  return [{ name: "Example", value: `${api}/example/`, note: `${people}; svc example remove todo removes it` }]
})

/** The rows under each other, with a note below its value. */
const summary = (rows: ReadonlyArray<Row>) => {
  const { bold, cyan, dim, green } = stylesFor(process.stdout)
  const width = Math.max(...rows.map(({ name }) => name.length)) + 2
  const lines = rows.flatMap(({ name, note, value }) => [
    `${bold(name.padEnd(width))}${cyan(value)}`,
    ...(note === undefined ? [] : [`${" ".repeat(width)}${dim(note)}`])
  ])
  return ["", green(`svc ${version} is ready`), ...lines, ""].map((line) => (line === "" ? "" : `  ${line}`)).join("\n")
}

/**
 * Prints where things are to a terminal. On that of a development machine also links: one signs in one browser, one makes the
 * first administrator. There, the database is the embedded one, the service listens on this machine only, and nothing says
 * that it is reached from elsewhere. The dashboard's token is in the fragment, which browsers send to no server and do not
 * prefetch. What goes elsewhere than to a terminal is a log, which must contain no secret.
 */
export const layerDashboardAddress = Layer.effectDiscard(
  Effect.gen(function* () {
    const { enabled } = yield* DashboardSettings
    const { files } = yield* DashboardFiles
    const { address } = yield* HttpServer.HttpServer
    // Workers share one address.
    if (address._tag === "UnixPathAddress" || (workerNumber !== undefined && workerNumber !== "1")) return
    const { publicUrl } = yield* IdentitySettings
    const { host } = yield* httpAddress
    const reached = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host
    const shown = enabled && files !== undefined
    const api = publicUrl ?? `http://${reached}:${address.port}`
    const url = `${api}/dashboard/`
    const example = yield* exampleRow(api)
    if (!process.stdout.isTTY) {
      for (const { value } of example) yield* Effect.logInfo(`Example: ${value}`)
      return shown ? yield* Effect.logInfo(`Dashboard: ${url}`) : undefined
    }
    const embedded = (yield* secret("DATABASE_URL")) === undefined
    const local =
      loopback.test(host) &&
      publicUrl === undefined &&
      embedded &&
      (yield* text("NODE_ENV", undefined)) !== "production"
    const sessions = yield* DashboardSessions
    const link = local && shown ? yield* sessions.issueLink : undefined
    const first = local ? yield* firstAdministrator : undefined
    const rows: ReadonlyArray<Row> = [
      { name: "API", value: api, note: `documentation: ${api}/docs` },
      ...(link !== undefined
        ? [
            {
              name: "Dashboard",
              value: `${url}#sign-in=${link}`,
              note: "signs in one browser, once, within 10 minutes"
            }
          ]
        : shown
          ? [{ name: "Dashboard", value: url }]
          : []),
      // The link uses a name because passkeys work at no IP address.
      ...(first === undefined
        ? []
        : [
            {
              name: "First administrator",
              value: `http://localhost:${address.port}${first}`,
              note: "makes one account the administrator, once, within an hour"
            }
          ]),
      ...example,
      { name: "Files (S3)", value: (yield* ObjectStoreAddress).publicEndpoint },
      {
        name: "Data",
        value: resolve(yield* text("SVC_DATA_DIR", ".svc")),
        note: embedded
          ? "PostgreSQL and its secrets; keys.json has the first API keys"
          : "keys.json has the first API keys"
      }
    ]
    yield* Console.log(summary(rows))
  })
)
