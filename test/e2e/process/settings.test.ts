import { assert, inject, it } from "vitest"
import { type KnownSetting } from "../../../src/domain/Settings.ts"
import { ask, assertRefused } from "../../support/client.ts"
import { startService } from "../../support/service.ts"

const shared = inject("service")

it("GET /api/settings lists what holds, without secrets", async () => {
  const secrets = { SVC_JWT_SECRET: `jwt-${"s3cret".repeat(8)}` }
  await using service = await startService({
    env: { ...secrets, SVC_DB_TIMEOUT: "90s", SVC_DB_SCHEMAS: "public,other" }
  })
  const reply = await ask(service, "GET /api/settings", { key: service.service_role })
  assert.strictEqual(reply.status, 200, reply.text)
  assert.notInclude(reply.text, "s3cret")
  assert.notInclude(reply.text, service.service_role)
  const settings = reply.json as ReadonlyArray<KnownSetting>
  const names = settings.map(({ name }) => name)
  assert.deepStrictEqual(names, [...new Set(names)].sort())
  const of = (wanted: string) => settings.find(({ name }) => name === wanted)
  assert.deepStrictEqual(of("SVC_DB_TIMEOUT"), { name: "SVC_DB_TIMEOUT", value: "90s", default: "8s", is_set: true })
  assert.deepInclude(of("SVC_DB_SCHEMAS"), { value: "public,other", default: "public", is_set: true })
  assert.deepInclude(of("SVC_JWT_SECRET"), { value: "****", default: null, is_set: true })
  assert.deepInclude(of("DATABASE_URL"), { value: null, is_set: false })
  assert.deepInclude(of("SVC_RESPONSE_STALL_TIMEOUT"), { value: "30s", default: "30s", is_set: false })
})

it("GET /api/settings requires a service_role key", async () => {
  assertRefused(await ask(shared, "GET /api/settings", { key: shared.anon }), 403, "FORBIDDEN")
})
