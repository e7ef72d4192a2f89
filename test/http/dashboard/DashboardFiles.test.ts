import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { assert, it } from "vitest"
import { DashboardFilesRoutes } from "../../../src/http/handlers/DashboardFiles.ts"
import { DashboardSettings } from "../../../src/services/dashboard/Settings.ts"
import { DashboardFiles } from "../../../src/services/ports/DashboardFiles.ts"
import { ObjectStore } from "../../../src/services/ports/ObjectStore.ts"

const publicOrigin = "https://files.example.com"

const ask = async (files: DashboardFiles["Service"]["files"], path: string) => {
  const parts = Layer.mergeAll(
    Layer.succeed(DashboardFiles, DashboardFiles.of({ files })),
    Layer.succeed(DashboardSettings, DashboardSettings.of({ enabled: true })),
    Layer.mock(ObjectStore, { publicOrigin, admitsPages: () => false, locationOf: () => publicOrigin })
  )
  const { dispose, handler } = HttpRouter.toWebHandler(DashboardFilesRoutes.pipe(Layer.provide(parts)), {
    disableLogger: true
  })
  const response = await handler(new Request(`http://svc.example${path}`, { headers: { accept: "text/html" } }))
  const text = await response.text()
  await dispose()
  return { response, text }
}

it("without a build every page is 503 and says how to build it", async () => {
  for (const path of ["/dashboard/", "/dashboard/tables/public/orders", "/dashboard/assets/index-1.js"]) {
    const { response, text } = await ask(undefined, path)
    assert.strictEqual(response.status, 503)
    assert.match(response.headers.get("content-type") ?? "", /^text\/html/)
    assert.strictEqual(response.headers.get("cache-control"), "no-store")
    assert.include(text, "npm run build:dashboard")
  }
})

it("the policy allows the object store that browsers upload to, and no other origin", async () => {
  const index = { plain: Buffer.from("<p>__NONCE__ __NONCE__</p>"), gzip: undefined, br: undefined }
  const { response, text } = await ask(new Map([["index.html", index]]), "/dashboard/")
  const policy = response.headers.get("content-security-policy") ?? ""
  assert.include(policy, `connect-src 'self' ${publicOrigin}`)
  // Of the object store: images, recordings, PDF files and requests, but neither scripts nor styles.
  const allowed = policy.split("; ").filter((directive) => directive.includes(publicOrigin))
  assert.deepStrictEqual(
    allowed.map((directive) => directive.split(" ")[0]),
    ["img-src", "media-src", "frame-src", "connect-src"]
  )
  assert.lengthOf(policy.match(/https?:\/\/[^\s;]+/g) ?? [], allowed.length)
  const [, one, other] = /<p>(\S+) (\S+)<\/p>/.exec(text) ?? []
  assert.strictEqual(one, other)
  assert.include(policy, `'nonce-${one}'`)
})
