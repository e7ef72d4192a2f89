import { Console, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { secret, text } from "../../domain/Settings.ts"
import { DashboardSessions } from "../../services/dashboard/Sessions.ts"
import { DashboardSettings } from "../../services/dashboard/Settings.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { DashboardFiles } from "../../services/ports/DashboardFiles.ts"
import { httpAddress } from "../net/Listener.ts"
import { workerNumber } from "../process/WorkerSettings.ts"

const loopback = /^(?:127\.\d+\.\d+\.\d+|localhost|::1)$/

/** The path of a link that makes the first administrator; undefined if there is one, or accounts are kept elsewhere. */
const firstAdministrator = Effect.gen(function* () {
  const { admins } = yield* IdentitySettings
  if (admins.size > 0) return undefined
  const { first } = yield* (yield* Accounts).admin
  return yield* first.link
}).pipe(Effect.orElseSucceed(() => undefined))

/**
 * Prints the dashboard's address. On the terminal of a development machine also links: one signs in one browser, one makes
 * the first administrator. There, the database is the embedded one, the service listens on this machine only, and nothing
 * says that it is reached from elsewhere. The dashboard's token is in the fragment, which browsers send to no server and do
 * not prefetch. What goes elsewhere than to a terminal is a log, which must contain no secret.
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
    const url = `${publicUrl ?? `http://${reached}:${address.port}`}/dashboard/`
    if (!process.stdout.isTTY) return shown ? yield* Effect.logInfo(`Dashboard: ${url}`) : undefined
    const local =
      loopback.test(host) &&
      publicUrl === undefined &&
      (yield* secret("DATABASE_URL")) === undefined &&
      (yield* text("NODE_ENV", undefined)) !== "production"
    const sessions = yield* DashboardSessions
    const link = local && shown ? yield* sessions.issueLink : undefined
    const first = local ? yield* firstAdministrator : undefined
    const lines = [
      ...(shown ? [`Dashboard: ${url}${link === undefined ? "" : `#sign-in=${link}`}`] : []),
      ...(link === undefined ? [] : ["The link signs in one browser, once, within 10 minutes."]),
      // The link uses a name because passkeys work at no IP address.
      ...(first === undefined
        ? []
        : [
            `First administrator: http://localhost:${address.port}${first}`,
            "The link makes one account the administrator, once, within an hour."
          ])
    ]
    if (lines.length > 0) yield* Console.log(`\n${lines.map((line) => `  ${line}\n`).join("")}`)
  })
)
