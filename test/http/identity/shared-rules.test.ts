import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { elsewhere, mailTo, register } from "../../support/identity/people.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({ SVC_SUPABASE: "true" })
})
afterAll(() => service[Symbol.asyncDispose]())

const verification = (email: string, headers = elsewhere()) =>
  ask(service, "POST /api/auth/verification", { body: { email }, headers })
const mailsTo = async (email: string) =>
  (await sql(service, "select from svc.mails where recipient = $1", [email])).length

describe("mailed codes of both sign-in APIs", () => {
  it("are guessed within one limit of a client, for which right ones do not count", async () => {
    const { email } = await register(service)
    const { code, flowId } = await mailTo(service, email)
    const headers = elsewhere()
    const own = (code: string) =>
      ask(service, "POST /api/auth/verification/confirm", { body: { flowId, code }, headers })
    const ofSupabase = () =>
      ask(service, "POST /auth/v1/verify", {
        key: service.anon,
        body: { type: "signup", email, token: "000000" },
        headers
      })
    const guesses = "from svc.identity_guesses where key like 'mailed codes of %'"
    await sql(service, `delete ${guesses}`)
    assertRefused(await own(code === "12345678" ? "12345679" : "12345678"), 400, "INVALID_CODE")
    assert.strictEqual((await ofSupabase()).status, 403)
    assert.deepStrictEqual(await sql(service, `select count ${guesses}`), [{ count: 2 }])
    await sql(service, "update svc.identity_guesses set count = 100 where key like 'mailed codes of %'")
    assertRefused(await own(code), 429, "TOO_MANY_GUESSES")
    assert.strictEqual((await ofSupabase()).status, 429)
    await sql(service, "update svc.identity_guesses set count = 99 where key like 'mailed codes of %'")
    assert.strictEqual((await own(code)).status, 200)
    assert.deepStrictEqual(await sql(service, `select count ${guesses}`), [{ count: 99 }])
  })

  it("are requested within one limit of a client and address", async () => {
    const { email } = await register(service)
    const headers = elsewhere()
    for (let turn = 0; turn < 4; turn++) await verification(email, headers)
    const before = await mailsTo(email)
    const resend = (from: Record<string, string>) =>
      ask(service, "POST /auth/v1/resend", { key: service.anon, body: { type: "signup", email }, headers: from })
    assert.strictEqual((await resend(headers)).status, 429)
    await verification(email, headers)
    assert.strictEqual(await mailsTo(email), before)
    assert.strictEqual((await resend(elsewhere())).status, 200)
    assert.strictEqual(await mailsTo(email), before + 1)
  })

  it("are not sent to the owner of a disabled account", async () => {
    const { email, id } = await register(service)
    await sql(service, "update svc.identities set state = 'inactive' where id = $1", [id])
    const before = await mailsTo(email)
    assert.strictEqual((await verification(email)).status, 200)
    const resend = { key: service.anon, body: { type: "signup", email }, headers: elsewhere() }
    assert.strictEqual((await ask(service, "POST /auth/v1/resend", resend)).status, 200)
    assert.strictEqual(await mailsTo(email), before)
  })
})

describe("an administrator who writes an address in another case", () => {
  it("neither confirms it nor takes a confirmation back, at either API", async () => {
    const verified = async (id: string) =>
      (
        await sql(
          service,
          "select value, verified_at is not null as yes from svc.identity_addresses where identity_id = $1",
          [id]
        )
      )[0]
    const ofSupabase = (id: string, email: string) =>
      ask(service, `PUT /auth/v1/admin/users/${id}`, {
        key: service.service_role,
        token: service.service_role,
        body: { email }
      })
    const own = (id: string, email: string) =>
      ask(service, `PATCH /api/identities/${id}`, { key: service.service_role, body: { traits: { email } } })
    for (const change of [ofSupabase, own]) {
      const { email, id } = await register(service)
      const upper = email.toUpperCase()
      assert.strictEqual((await change(id, upper)).status, 200)
      assert.deepStrictEqual(await verified(id), { value: upper, yes: false })
      await sql(service, "update svc.identity_addresses set verified_at = now() where identity_id = $1", [id])
      assert.strictEqual((await change(id, email)).status, 200)
      assert.deepStrictEqual(await verified(id), { value: email, yes: true })
    }
  })
})
