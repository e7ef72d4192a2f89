import { Console, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { secret, text } from "../../domain/Settings.ts"
import { DashboardSessions } from "../../services/dashboard/Sessions.ts"
import { DashboardSettings } from "../../services/dashboard/Settings.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { DashboardFiles } from "../../services/ports/DashboardFiles.ts"
import { httpAddress } from "../net/Listener.ts"
import { workerNumber } from "../workers/Settings.ts"

const loopback = /^(?:127\.\d+\.\d+\.\d+|localhost|::1)$/

/**
 * Prints the dashboard's address. On the terminal of a development machine also links that sign in one browser, and make
 * the first administrator: the database is the embedded one, the service listens on this machine only, and nothing says
 * that it is reached from elsewhere. The dashboard's token is in the fragment, which browsers send to no server and do not
 * prefetch. What goes elsewhere than to a terminal is a log, which must contain no secret.
 */
export const layerDashboardAddress = Layer.effectDiscard(
  Effect.gen(function* () {
    const { enabled } = yield* DashboardSettings
    const { files } = yield* DashboardFiles
    // Workers share one address.
    if (!enabled || files === undefined || (workerNumber !== undefined && workerNumber !== "1")) return
    const { address } = yield* HttpServer.HttpServer
    if (address._tag === "UnixPathAddress") return
    const { admins, publicUrl } = yield* IdentitySettings
    const { host } = yield* httpAddress
    const reached = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host
    const url = `${publicUrl ?? `http://${reached}:${address.port}`}/dashboard/`
    if (!process.stdout.isTTY) return yield* Effect.logInfo(`Dashboard: ${url}`)
    const local =
      loopback.test(host) &&
      publicUrl === undefined &&
      (yield* secret("DATABASE_URL")) === undefined &&
      (yield* text("NODE_ENV", undefined)) !== "production"
    const sessions = yield* DashboardSessions
    const link = local ? yield* sessions.issueLink : undefined
    // Without accounts of its own, or with administrators by name, the service has nobody to make one.
    const first =
      local && admins.size === 0
        ? yield* (yield* Accounts).admin.pipe(
            Effect.flatMap((admin) => admin.first.link),
            Effect.orElseSucceed(() => undefined)
          )
        : undefined
    yield* Console.log(
      [
        "",
        `Dashboard: ${url}${link === undefined ? "" : `#sign-in=${link}`}`,
        ...(link === undefined ? [] : ["The link signs in one browser, once, within 10 minutes."]),
        // Passkeys need a host name.
        ...(first === undefined
          ? []
          : [
              `First administrator: http://localhost:${address.port}${first}`,
              "The link makes one person the administrator, once."
            ]),
        ""
      ]
        .map((line) => (line === "" ? "" : `  ${line}`))
        .join("\n")
    )
  })
)
