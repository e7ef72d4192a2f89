import { Effect } from "effect"
import { afterAll, assert, beforeAll, it } from "vitest"
import { type OAuth2Server, startOAuth2Server } from "../../fakes/oauth2/server.ts"
import { ask, sql } from "../../support/client.ts"
import { eventually } from "../../support/eventually.ts"
import { asMember, elsewhere, type Member, mailTo, register } from "../../support/identity/people.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

/** An OAuth 2.0 server of its own, beside accounts of this service. */
let hydra: OAuth2Server
let service: InProcessService
beforeAll(async () => {
  hydra = await startOAuth2Server()
  hydra.intercept = ({ method, path, query }) => {
    calls.push(`${method} ${path} ${query.toString()}`)
    return down-- > 0 ? { status: 400 } : undefined
  }
  service = await serveInProcess({ OAUTH2_ADMIN_URL: hydra.adminUrl, OAUTH2_PUBLIC_URL: hydra.publicUrl })
  const announced = Effect.promise(() => pending(""))
  await Effect.runPromise(eventually(announced, (rows) => rows.length === 1))
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await hydra[Symbol.asyncDispose]()
})

/** What that server was asked for, and how many requests it still fails. */
const calls: Array<string> = []
let down = 0
const revoked = (subject: string) => ({
  logins: calls.filter((call) => call === `DELETE /admin/oauth2/auth/sessions/login subject=${subject}`).length,
  consents: calls.filter((call) => call === `DELETE /admin/oauth2/auth/sessions/consent subject=${subject}&all=true`)
    .length
})
const pending = (subject: string) => sql(service, "select from svc.oauth2_revocations where subject = $1", [subject])
const done = (subject: string) =>
  Effect.runPromise(
    eventually(
      Effect.promise(() => pending(subject)),
      (rows) => rows.length === 0
    )
  )

const events: Readonly<Record<string, (ann: Member) => Promise<{ readonly status: number }>>> = {
  "a new password": ({ cookie }) =>
    asMember(service, cookie, "PUT /api/auth/password", { body: { password: "five other common words" } }),
  "a recovery": async ({ email }) => {
    const { id } = (await ask(service, "GET /api/auth/recovery")).json as { id: string }
    await ask(service, "POST /api/auth/recovery", { body: { flowId: id, email }, headers: elsewhere() })
    const { code } = await mailTo(service, email)
    return ask(service, "POST /api/auth/recovery/confirm", { body: { flowId: id, code } })
  },
  "an operator who disables the account": ({ id }) =>
    ask(service, `PATCH /api/identities/${id}`, { key: service.service_role, body: { state: "inactive" } }),
  "an operator who deletes the account": ({ id }) =>
    ask(service, `DELETE /api/identities/${id}`, { key: service.service_role })
}

it.each(Object.keys(events))("%s ends what another OAuth 2.0 server has granted", async (name) => {
  const ann = await register(service)
  assert.deepStrictEqual(revoked(ann.id), { logins: 0, consents: 0 })
  const reply = await events[name]!(ann)
  assert.strictEqual(reply.status, 200)
  await done(ann.id)
  assert.deepStrictEqual(revoked(ann.id), { logins: 1, consents: 1 })
})

it("is repeated until that server has done it", async () => {
  const ann = await register(service)
  down = 2
  assert.strictEqual((await events["a new password"]!(ann)).status, 200)
  await done(ann.id)
  assert.deepStrictEqual(revoked(ann.id), { logins: 3, consents: 1 })
})
