import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar } from "effect/http-api"
import { DashboardFiles } from "../../services/ports/DashboardFiles.ts"
import { Contract, document } from "../OpenApi.ts"
import { startPage } from "../pages/StartPage.ts"
import { staticText } from "../wire/StaticText.ts"

/**
 * Settings of Scalar, of which HttpApiScalar's types list only some: without fonts of another origin, tools for Scalar's
 * own products, and telemetry.
 */
const scalar: object = {
  withDefaultFonts: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  telemetry: false,
  favicon: "data:,",
  customCss: 'a[href^="https://www.scalar.com"] { display: none; }'
}

/** The page contains its scripts and styles and requests nothing from other origins. */
const docsPolicy = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'"
].join("; ")

/** The page of `/docs`, as HttpApiScalar serves it. */
const page = Effect.promise(async () => {
  const { dispose, handler } = HttpRouter.toWebHandler(HttpApiScalar.layer(Contract, { scalar }), {
    disableLogger: true
  })
  const response = await handler(new Request("http://docs/docs"))
  const text = await response.text()
  await dispose()
  return text
})

/** `GET /`, `GET /docs` and `GET /openapi.json` (OpenAPI 3.1). */
export const DocsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const json = Effect.sync(() => JSON.stringify(document()))
    yield* router.add("GET", "/openapi.json", yield* staticText(json, "application/json"))
    const html = "text/html; charset=utf-8"
    yield* router.add("GET", "/docs", yield* staticText(page, html, { "content-security-policy": docsPolicy }))
    // People who type the address of the API go on to the dashboard, if there is one.
    const { files } = yield* DashboardFiles
    const start = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      files !== undefined && headers["accept"]?.includes("text/html") === true
        ? HttpServerResponse.redirect("/dashboard/", { status: 302, headers: { vary: "Accept" } })
        : startPage()
    )
    yield* router.add("GET", "/", start)
    // Browsers ask for it on every page.
    const noIcon = HttpServerResponse.empty({ headers: { "cache-control": "max-age=86400" } })
    yield* router.add("GET", "/favicon.ico", Effect.succeed(noIcon))
  })
)
