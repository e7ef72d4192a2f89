import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { makePerson, tokenOf } from "../../support/identity/idp.ts"
import { as, type IdentityService, startIdentityService } from "../../support/identity/service.ts"

let parts: IdentityService
beforeAll(async () => {
  parts = await startIdentityService()
})
afterAll(() => parts[Symbol.asyncDispose]())

it("a session of another identity provider gets tokens for /v1 too", async () => {
  const { idp, service } = parts
  const person = await makePerson(idp)
  const reply = await as(service, await tokenOf(idp, person), "POST /api/auth/token")
  assert.strictEqual(reply.status, 200, reply.text)
  const { access_token: token, expires_in } = reply.json as { access_token: string; expires_in: number }
  assert.isAtMost(expires_in, 600)
  await sql(service, "create table whose (id int primary key, owner uuid default auth.uid())")
  const wrote = await ask(service, "POST /v1/db/whose", { key: service.anon, token, body: { id: 1 } })
  assert.deepStrictEqual(wrote.json, [{ id: 1, owner: person.id }])
  assertRefused(
    await ask(service, "POST /api/auth/token", { headers: { origin: service.url } }),
    401,
    "UNAUTHENTICATED"
  )
})

it("accounts of another identity provider are managed there", async () => {
  const { idp, service } = parts
  const key = service.service_role
  const body = { email: "ann@example.com", password: "four common words" }
  const login = { identifier: body.email, password: body.password }
  for (const reply of [
    await ask(service, "GET /api/auth/methods"),
    await ask(service, "POST /api/auth/register", { body }),
    await ask(service, "POST /api/auth/login", { body: login }),
    await ask(service, "POST /api/auth/recovery/confirm", { body: { flowId: "x", code: "1" } }),
    await ask(service, "POST /api/identities", { key, body }),
    await ask(service, "GET /auth/login")
  ]) {
    assert.include(String(assertRefused(reply, 501, "USE_IDP")["error"]), idp.publicUrl)
  }
  const page = await ask(service, "GET /auth/login", { headers: { accept: "text/html" } })
  assert.strictEqual(page.status, 501)
  assert.include(page.text, "Your account is kept elsewhere")
  assert.deepStrictEqual((await ask(service, "GET /api/mails", { key })).json, { mails: [], next: null })
})
