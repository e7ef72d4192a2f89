import { assert, inject, it } from "vitest"
import { ask } from "../../support/client.ts"

const service = inject("service")

interface Operation {
  readonly requestBody?: { readonly content?: Readonly<Record<string, unknown>> }
}

/** Every operation of the management API that takes a JSON body, with values in its path. */
const operations = async () => {
  const { json } = await ask(service, "GET /openapi.json")
  const { paths } = json as { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }
  return (
    Object.entries(paths)
      // Evaluation is for clients, not for administrators.
      .filter(([path]) => path.startsWith("/api/") && !path.startsWith("/api/flags/evaluate"))
      .flatMap(([path, methods]) =>
        Object.entries(methods)
          .filter(([, { requestBody }]) => requestBody?.content?.["application/json"] !== undefined)
          .map(([method]) => ({ method: method.toUpperCase(), path }))
      )
  )
}

/** They are the identity provider's: without a session, or a provider, they answer before they read the body. */
const ofIdentities = /^\/api\/(auth|oauth2\/bridge)\//

it("an unknown field in the body of a management call is refused by its name", async () => {
  const all = await operations()
  assert.isAbove(all.length, 30)
  const refused: Array<string> = []
  for (const { method, path } of all) {
    const filled = path
      .replace("{bucket}", "bucket-1")
      .replace("functions/{name}", "functions/f1")
      .replaceAll(/\{\w+\}/g, "1")
    const reply = await ask(service, `${method} ${filled}`, { key: service.service_role, body: { rateLimitt: 3 } })
    if (ofIdentities.test(path) && [401, 503].includes(reply.status)) continue
    assert.strictEqual(reply.status, 400, `${method} ${path}: ${reply.text}`)
    assert.include(reply.text, "rateLimitt", `${method} ${path}`)
    refused.push(path)
  }
  assert.isAbove(refused.length, 25)
})

it("a misspelt limit does not make an unlimited key", async () => {
  const body = { keyType: "anon", rateLimit: 3 }
  const reply = await ask(service, "POST /api/keys", { key: service.service_role, body })
  assert.strictEqual(reply.status, 400, reply.text)
  assert.include(reply.text, "rateLimit: Unknown field")
})
