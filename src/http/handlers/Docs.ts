import { hash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar } from "effect/http-api"
import { DashboardFiles } from "../../services/ports/DashboardFiles.ts"
import { Contract, document } from "../OpenApi.ts"
import { startPage } from "../pages/StartPage.ts"
import { preferredEncoding } from "../wire/Encoding.ts"
import { headersOf } from "../wire/Headers.ts"

const compress = promisify(gzip)

/**
 * Responses with a large text that is the same for every client: its bytes are made once, and shared by all responses,
 * so that many clients take no more memory than one. Compressed for those that accept gzip; 304 for those that have it.
 */
const staticText = (
  text: Effect.Effect<string>,
  contentType: string,
  further: Readonly<Record<string, string>> = {}
): Effect.Effect<Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>> =>
  Effect.map(
    Effect.cached(
      Effect.gen(function* () {
        const plain = Buffer.from(yield* text)
        const zipped = yield* Effect.promise(() => compress(plain))
        return { plain, zipped, etag: `W/"${hash("sha256", plain, "base64url").slice(0, 22)}"` }
      })
    ),
    (made) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { etag, plain, zipped } = yield* made
        const headers = headersOf(request)
        const common = { ...further, etag, vary: "Accept-Encoding", "cache-control": "no-cache" }
        if (headers["if-none-match"]?.includes(etag.slice(2)) === true) {
          return HttpServerResponse.empty({ status: 304, headers: common })
        }
        return preferredEncoding(headers["accept-encoding"], ["gzip"]) !== undefined
          ? HttpServerResponse.uint8Array(zipped, {
              contentType,
              headers: { ...common, "content-encoding": "gzip" }
            })
          : HttpServerResponse.uint8Array(plain, { contentType, headers: common })
      })
  )

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
