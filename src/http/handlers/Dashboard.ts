import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type Author } from "../../domain/Author.ts"
import { DashboardSessions } from "../../services/dashboard/Sessions.ts"
import { EncryptionKeys } from "../../services/ports/EncryptionKeys.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { OAuth2 } from "../../services/ports/OAuth2.ts"
import { FunctionEngine } from "../../services/ports/functions/FunctionEngine.ts"
import { ObjectStore } from "../../services/ports/ObjectStore.ts"
import { version } from "../../domain/Version.ts"
import { CurrentBrowser } from "../access/BrowserRequests.ts"
import { CurrentAuthor } from "../access/Caller.ts"
import { clearDashboardCookie, dashboardTokenOf, setDashboardCookie } from "../access/cookies/DashboardCookie.ts"
import { ManagementAudit } from "../access/ManagementAudit.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const DashboardHandlers = HttpApiBuilder.group(
  Api,
  "dashboard",
  Effect.fn(function* (handlers) {
    const sessions = yield* DashboardSessions
    const audit = yield* ManagementAudit
    const idp = yield* IdP
    const oauth2 = yield* OAuth2
    const { current } = yield* EncryptionKeys
    const { installed } = yield* FunctionEngine
    const { admitsPages, publicOrigin } = yield* ObjectStore

    const tokenOfBrowser = Effect.gen(function* () {
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      const { secure } = yield* CurrentBrowser
      return dashboardTokenOf(headers["cookie"], secure)
    })

    return handlers.handleAll({
      show: Effect.fnUntraced(function* () {
        const author: Author = yield* CurrentAuthor
        const token = yield* tokenOfBrowser
        // If the cookie's session has ended, the caller signed in by a key in a header or at the identity provider.
        const session = token === undefined ? undefined : yield* Effect.option(sessions.verify(token))
        return { author, expires_at: session?._tag === "Some" ? session.value.expiresAt : null }
      }),
      open: Effect.fnUntraced(function* ({ payload }) {
        const { address, secure } = yield* CurrentBrowser
        const opened = sessions.open(payload, address, yield* tokenOfBrowser)
        const { expiresAt, key, token } = yield* audit.signing(opened, "dashboard.sign_in")
        yield* setDashboardCookie(token, secure)
        return { author: { type: "key" as const, id: key.id, label: key.label }, expires_at: expiresAt }
      }),
      close: Effect.fnUntraced(function* () {
        const token = yield* tokenOfBrowser
        if (token !== undefined) yield* audit.signing(sessions.close(token), "dashboard.sign_out")
        yield* clearDashboardCookie((yield* CurrentBrowser).secure)
        return success
      }),
      config: Effect.fnUntraced(function* () {
        const { baseUrl } = yield* CurrentBrowser
        const login = idp.configured
          ? // A provider that is down must not hide the other way to sign in.
            yield* Effect.orElseSucceed(idp.loginUrl({ returnTo: `${baseUrl}/dashboard/` }), () => null)
          : null
        return {
          version,
          sign_in: { key: true, idp_login_url: login },
          s3_public_origin: publicOrigin,
          s3_admits_pages: URL.canParse(baseUrl) && admitsPages(new URL(baseUrl).origin),
          features: {
            identity: idp.configured,
            oauth2: oauth2.configured,
            encryption: current !== undefined,
            functions: installed
          }
        }
      })
    })
  })
)
