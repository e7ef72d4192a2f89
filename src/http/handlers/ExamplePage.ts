import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/errors.ts"
import { Example } from "../../services/example/Example.ts"
import { ExampleSettings } from "../../services/example/Settings.ts"
import { ExampleFiles } from "../../services/ports/example/ExampleFiles.ts"
import { builtFile } from "../wire/BuiltFile.ts"
import { headersOf } from "../wire/Headers.ts"

/** The page talks to this origin only, which is the dashboard's too: it runs no script but its own, and is in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const gone = new NotFound({
  error: "The example does not exist any more",
  hint: "svc start --example todo makes it again"
})
const noFile = new NotFound({ error: "No such file of the example", hint: "Reload the page: the service was updated" })

/** `/example/`: the page, its assets, and the public key that it sends; nothing else. Without SVC_EXAMPLE there is no route. */
export const ExamplePageRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { enabled } = yield* ExampleSettings
    if (!enabled) return
    const { files } = yield* ExampleFiles
    const { current } = yield* Example
    const existing = Effect.flatMap(current, (record) =>
      record === undefined ? Effect.fail(gone) : Effect.succeed(record)
    )

    const page = Effect.map(existing, () =>
      HttpServerResponse.uint8Array(files?.get("index.html")?.plain ?? new Uint8Array(), {
        contentType: "text/html; charset=utf-8",
        headers: {
          "content-security-policy": policy,
          "cache-control": "no-store",
          "referrer-policy": "same-origin",
          "cross-origin-opener-policy": "same-origin",
          "x-frame-options": "DENY",
          "permissions-policy": "camera=(), microphone=(), geolocation=()"
        }
      })
    )
    const key = Effect.map(existing, (record) =>
      HttpServerResponse.jsonUnsafe({ key: record.key.text }, { headers: { "cache-control": "no-store" } })
    )

    const file = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const path = request.url.split("?")[0] ?? ""
      // The route of a star includes the path without a slash.
      if (path === "/example") return HttpServerResponse.redirect("/example/", { status: 308 })
      const name = path.slice("/example/".length)
      if (name === "") return yield* page
      if (name === "key.json") return yield* key
      const found = /^(?:assets\/|licenses\.txt$)/.test(name) ? files?.get(name) : undefined
      return found === undefined ? yield* noFile : builtFile(name, found, headersOf(request)["accept-encoding"])
    })

    yield* router.add("GET", "/example/*", file)
  })
)
