import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { asMember, logIn } from "../../support/identity/people.ts"
import { refused } from "../../support/identity/signIn.ts"
import {
  ageSessions,
  makeParty,
  makePerson,
  patchPerson,
  startProvider,
  walk
} from "../../support/oauth2/conformance.ts"

let service: Awaited<ReturnType<typeof startProvider>>
beforeAll(async () => {
  service = await startProvider()
})
afterAll(() => service[Symbol.asyncDispose]())

const scope = "openid offline_access profile email"

/** Every row of the server's tables that has one of the texts. */
const rowsWith = async (...texts: ReadonlyArray<string>) => {
  const tables = ["items", "consents", "challenges", "answers", "logouts", "requests", "subjects"]
  const found = await Promise.all(
    tables.map(async (table) => {
      const rows = await sql(
        service,
        `select 1 as one from svc.oauth2_${table} t where exists (
           select from unnest($1::text[]) x where strpos(t::text, x) > 0)`,
        [texts]
      )
      return [table, rows.length] as const
    })
  )
  return found.filter(([, count]) => count > 0).map(([table]) => table)
}

describe("a deleted person", () => {
  it.each(["by an administrator", "by themselves", "by SQL"])("leaves nothing behind: %s", async (how) => {
    const [person, app] = [await makePerson(service), await makeParty(service)]
    const { tokens } = await app.signIn(person, { scope, login_hint: person.email, prompt: "consent" })
    await app.authorize(person, { scope, prompt: "consent", id_token_hint: tokens.id_token })
    await person.browser.once(`${service.issuer}/oauth2/sessions/logout?id_token_hint=${tokens.id_token}`)
    assert.includeMembers(await rowsWith(person.id, person.email), ["items", "consents", "challenges", "subjects"])
    if (how === "by SQL") await sql(service, "delete from svc.identities where id = $1::text::uuid", [person.id])
    else {
      const reply =
        how === "by themselves"
          ? await asMember(service, person.cookie, "DELETE /api/auth/account")
          : await ask(service, `DELETE /api/identities/${person.id}`, { key: service.service_role })
      assert.strictEqual(reply.status, 200, reply.text)
    }
    assert.deepStrictEqual(await rowsWith(person.id, person.email, tokens.id_token ?? ""), [])
    const { json } = await ask(service, `GET /api/oauth2/consent/${person.id}`, { key: service.service_role })
    assert.deepStrictEqual(json, [])
    assert.strictEqual((await app.userinfo(tokens.access_token)).status, 401)
    assert.strictEqual(await refused(app.refresh(tokens.refresh_token ?? "")), "invalid_grant")
    assert.deepStrictEqual((await app.post("/oauth2/introspect", { token: tokens.access_token })).body, {
      active: false
    })
  })

  it("gets no tokens for a code", async () => {
    const [person, app] = [await makePerson(service), await makeParty(service)]
    const { parameters, url } = await app.authorize(person, { scope })
    await ask(service, `DELETE /api/identities/${person.id}`, { key: service.service_role })
    assert.strictEqual(await refused(app.exchange(url, parameters)), "invalid_grant")
    assert.deepStrictEqual(await rowsWith(person.id), [])
  })
})

describe("a disabled person", () => {
  it("is refused at every endpoint, and comes back", async () => {
    const [person, app] = [await makePerson(service), await makeParty(service)]
    const { tokens } = await app.signIn(person, { scope })
    const pending = await app.authorize(person, { scope })
    const introspected = async (token: string | undefined) =>
      (await app.post("/oauth2/introspect", { token: token ?? "" })).body["active"]
    assert.isTrue(await introspected(tokens.access_token))
    await patchPerson(service, person.id, { state: "inactive" })
    assert.isFalse(await introspected(tokens.access_token))
    assert.isFalse(await introspected(tokens.refresh_token))
    assert.strictEqual((await app.userinfo(tokens.access_token)).status, 401)
    assert.strictEqual(await refused(app.refresh(tokens.refresh_token ?? "")), "invalid_grant")
    assert.strictEqual(await refused(app.exchange(pending.url, pending.parameters)), "invalid_grant")
    const silent = await app.authorize(person, { scope, prompt: "none" })
    assert.strictEqual(silent.query["error"], "login_required")
    assert.strictEqual((await logIn(service, person.email, person.password)).status, 401)
    // Another person signs in with the same browser.
    const other = { ...(await makePerson(service)), browser: person.browser }
    assert.strictEqual((await app.signIn(other, { scope })).claims.sub, other.id)
  })

  it("gets no code for a consent that they gave just before", async () => {
    const [person, app] = [await makePerson(service), await makeParty(service)]
    await app.signIn(person)
    const browser = person.browser
    const begun = await browser.go(
      `${service.issuer}/oauth2/auth?${new URLSearchParams({
        client_id: app.id,
        response_type: "code",
        scope: "openid",
        prompt: "consent",
        redirect_uri: "http://127.0.0.1:5555/callback"
      })}`,
      (to) => to.pathname === "/oauth2/consent"
    )
    const accepted = await ask(service, "POST /api/oauth2/bridge/consent/accept", {
      headers: { origin: service.issuer, cookie: `idp_session=${browser.cookie("127.0.0.1", "idp_session")}` },
      body: { challenge: begun.url.searchParams.get("consent_challenge"), grant_scope: ["openid"] }
    })
    assert.strictEqual(accepted.status, 200, accepted.text)
    await patchPerson(service, person.id, { state: "inactive" })
    const { url } = await walk(person, (accepted.json as { readonly redirect_to: string }).redirect_to)
    // Their answer and the request have ended with the account's sign-ins.
    assert.include(["access_denied", "request_forbidden"], url.searchParams.get("error"), url.href)
    assert.isFalse(url.searchParams.has("code"))
  })
})

describe("claims", () => {
  it("of standard scopes are those of now, and templates those of the consent", async () => {
    const [person, app] = [await makePerson(service), await makeParty(service)]
    await ask(service, "PUT /api/oauth2/claims-config", {
      key: service.service_role,
      body: {
        id_token_claims: { mail_then: "{{traits.email}}", nickname: "{{traits.nickname}}" },
        access_token_claims: {}
      }
    })
    const email = `new-${person.email}`
    const traits = { name: "Ann Before", nickname: "before" }
    await patchPerson(service, person.id, { traits, verified: true })
    const { tokens } = await app.signIn(person, { scope })
    const before = { name: "Ann Before", nickname: "before", email: person.email, email_verified: true }
    assert.deepInclude((await app.userinfo(tokens.access_token)).body, before)
    const [stored] = await sql(service, "select id_token_claims from svc.oauth2_consents where subject = $1", [
      person.id
    ])
    assert.deepStrictEqual(JSON.parse(String(stored?.["id_token_claims"])), {
      mail_then: person.email,
      nickname: "before"
    })
    await patchPerson(service, person.id, { traits: { name: "Ann After", nickname: "after", email } })
    const now = { name: "Ann After", nickname: "before", email, email_verified: false, mail_then: person.email }
    assert.deepInclude((await app.userinfo(tokens.access_token)).body, now)
    assert.deepInclude((await app.refresh(tokens.refresh_token ?? "")).claims() ?? {}, now)
  })

  it("say when the person signed in", async () => {
    const [person, app] = [await makePerson(service), await makeParty(service)]
    await ageSessions(service, person, 600)
    person.browser.setCookie("127.0.0.1", "idp_session", person.cookie.slice(person.cookie.indexOf("=") + 1))
    const { claims, seen } = await app.signIn(person, { max_age: "900" })
    assert.notInclude(seen, "/auth/login")
    assert.closeTo(Number(claims.auth_time), Date.now() / 1000 - 600, 30)
  })
})

describe("prompt=none", () => {
  it("needs the person of the id_token_hint", async () => {
    const [ann, bob, app] = [await makePerson(service), await makePerson(service), await makeParty(service)]
    const own = await app.signIn(ann, { scope })
    const other = await app.signIn(bob, { scope })
    const asked = (hint: string | undefined, more = {}) =>
      app.authorize(ann, { prompt: "none", id_token_hint: hint, scope: "openid", ...more })
    assert.strictEqual((await asked(other.tokens.id_token)).query["error"], "login_required")
    assert.strictEqual((await asked(other.tokens.id_token, { scope })).query["error"], "login_required")
    assert.isDefined((await asked(own.tokens.id_token, { scope })).query["code"])
    // With pages the request ends the same way, if the person does not sign in as the other one.
    const signedIn = await app.authorize(ann, { id_token_hint: other.tokens.id_token })
    assert.strictEqual(signedIn.query["error"], "login_required")
  })
})
