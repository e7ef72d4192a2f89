import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import { NotFound } from "../../domain/errors.ts"
import { DashboardSettings } from "../../services/dashboard/Settings.ts"
import { DashboardFiles } from "../../services/ports/DashboardFiles.ts"
import { ObjectStore } from "../../services/ports/ObjectStore.ts"
import { builtFile } from "../wire/BuiltFile.ts"
import { headersOf } from "../wire/Headers.ts"
import { notBuiltPage } from "../pages/NoticePages.ts"
import { queryOf } from "../wire/Paths.ts"

const html = "text/html; charset=utf-8"

/** The place of the nonce in index.html. CodeMirror makes a `<style>`, which needs one. */
const noncePlace = "__NONCE__"

/**
 * The Content-Security-Policy allows this origin and the object store, to which browsers upload with presigned URLs,
 * and no inline script.
 */
const policy = (nonce: string, store: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    // Browsers set styles of their own while text is edited.
    "style-src-attr 'unsafe-inline'",
    `img-src 'self' data: blob: ${store}`,
    // Recordings and PDF files are shown by the browser's own players.
    `media-src ${store}`,
    `frame-src ${store}`,
    "font-src 'self'",
    `connect-src 'self' ${store}`,
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'"
  ].join("; ")

const noFile = new NotFound({
  error: "No such file of the dashboard",
  hint: "Reload the page: the service was updated"
})
const turnedOff = new NotFound({ error: "The dashboard is turned off (SVC_DASHBOARD)", code: "DASHBOARD_DISABLED" })

/** `/dashboard/`: the built files, and index.html for every other path, which the page itself interprets. */
export const DashboardFilesRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { enabled } = yield* DashboardSettings
    const { files } = yield* DashboardFiles
    const { publicOrigin } = yield* ObjectStore
    const index = Buffer.from(files?.get("index.html")?.plain ?? "").toString("utf8")

    const page = Effect.sync(() => {
      const nonce = randomBytes(18).toString("base64url")
      return HttpServerResponse.text(index.replaceAll(noncePlace, nonce), {
        contentType: html,
        headers: {
          "content-security-policy": policy(nonce, publicOrigin),
          "cache-control": "no-store",
          "referrer-policy": "same-origin",
          "cross-origin-opener-policy": "same-origin",
          "x-frame-options": "DENY",
          "permissions-policy": "camera=(), microphone=(), geolocation=()"
        }
      })
    })

    const file = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (!enabled) return yield* turnedOff
      if (files === undefined) return notBuiltPage()
      const path = request.url.split("?")[0] ?? ""
      if (path === "/dashboard") return HttpServerResponse.redirect("/dashboard/", { status: 308 })
      const name = path.slice("/dashboard/".length)
      // The consent of other apps' users is the service's own page: they never load the dashboard.
      if (name === "oauth2/consent") {
        return HttpServerResponse.redirect(`/oauth2/consent?${queryOf(request.url)}`, { status: 302 })
      }
      const found = name === "index.html" ? undefined : files.get(name)
      if (found === undefined) return name.startsWith("assets/") ? yield* noFile : yield* page
      return builtFile(name, found, headersOf(request)["accept-encoding"])
    })

    yield* router.add("GET", "/dashboard/*", file)
  })
)
