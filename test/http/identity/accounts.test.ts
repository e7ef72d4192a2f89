import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type CryptoKey, decodeJwt, importJWK, type JWK, jwtVerify } from "jose"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { asMember, elsewhere, logIn, mailTo, register, sessionCookie } from "../../support/identity/people.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { nextTotpCode, totpCode } from "../../support/identity/totp.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({ SVC_SESSION_IDLE: "1h" })
})
afterAll(() => service[Symbol.asyncDispose]())

type Json = Readonly<Record<string, unknown>>
const bodyOf = (reply: { readonly json: unknown }) => reply.json as Json
const tokenOf = async (cookie: string) => {
  const reply = await asMember(service, cookie, "POST /api/auth/token")
  assert.strictEqual(reply.status, 200, reply.text)
  return String(bodyOf(reply)["access_token"])
}
/** Adds an authenticator app; returns its secret, and the code that has added it. */
const addTotp = async (cookie: string) => {
  const setup = bodyOf(await asMember(service, cookie, "POST /api/auth/mfa/totp/setup"))
  const secret = String(setup["totp_secret"])
  const used = totpCode(secret)
  const body = { flow_id: setup["flow_id"], totp_code: used }
  assert.strictEqual((await asMember(service, cookie, "POST /api/auth/mfa/totp/verify", { body })).status, 200)
  return { secret, used }
}

it("a session ends when it is idle, is extended by use, and never beyond its lifetime", async () => {
  /** The status of a use, and the minutes that the session has left after it. */
  const used = async (sets: string) => {
    const { cookie, id } = await register(service)
    await sql(service, `update svc.identity_sessions set ${sets} where identity_id = $1`, [id])
    const { status } = await asMember(service, cookie, "POST /api/auth/token")
    const [row] = await sql(
      service,
      "select round(extract(epoch from expires_at - now()) / 60)::int as left from svc.identity_sessions where identity_id = $1",
      [id]
    )
    return [status, row?.["left"]]
  }
  assert.deepStrictEqual(await used("ip = ip"), [200, 60])
  assert.deepStrictEqual(await used("expires_at = now() + interval '58 minutes'"), [200, 58])
  assert.deepStrictEqual(await used("expires_at = now() + interval '10 minutes'"), [200, 60])
  const old = "issued_at = now() - interval '720 hours' + interval '20 minutes'"
  assert.deepStrictEqual(await used(`expires_at = now() + interval '10 minutes', ${old}`), [200, 20])
  assert.deepStrictEqual(await used("expires_at = now()"), [401, 0])
})

describe("a person", () => {
  it("registers, signs in, gets a token, and reaches their own rows only", async () => {
    const ann = await register(service)
    const bob = await register(service)
    await sql(
      service,
      "create table diary (id serial primary key, owner uuid default auth.uid() references svc.identities on delete cascade, text text)"
    )
    await sql(service, "alter table diary enable row level security")
    await sql(service, "create policy own on diary using (owner = auth.uid()) with check (owner = auth.uid())")
    const signedIn = await logIn(service, ann.email.toUpperCase(), ann.password)
    assert.strictEqual(signedIn.status, 200, signedIn.text)
    const token = await tokenOf(sessionCookie(signedIn))
    const wrote = await ask(service, "POST /v1/db/diary", { key: service.anon, token, body: { text: "mine" } })
    assert.strictEqual(wrote.status, 201, wrote.text)
    const read = (token: string) => ask(service, "GET /v1/db/diary?select=text,owner", { key: service.anon, token })
    assert.deepStrictEqual((await read(token)).json, [{ text: "mine", owner: ann.id }])
    assert.deepStrictEqual((await read(await tokenOf(bob.cookie))).json, [])
    const removed = await asMember(service, ann.cookie, "DELETE /api/auth/account")
    assert.strictEqual(removed.status, 200, removed.text)
    assert.deepStrictEqual(await sql(service, "select * from diary"), [])
    assertRefused(await asMember(service, ann.cookie, "GET /api/auth/session"), 401, "UNAUTHENTICATED")
  })

  it("gets a token that others verify by the public keys, and that is no one else's", async () => {
    const { cookie, email, id } = await register(service)
    assert.notProperty(decodeJwt(await tokenOf((await register(service)).cookie)), "email", "nobody has proven it")
    await sql(service, "update svc.identity_addresses set verified_at = now() where value = $1", [email])
    const token = await tokenOf(cookie)
    const set = await ask(service, "GET /.well-known/jwks.json")
    assert.strictEqual(set.status, 200)
    const { keys } = set.json as { readonly keys: ReadonlyArray<JWK> }
    const key = (await importJWK(keys[0]!)) as CryptoKey
    assert.notMatch(set.text, /"(?:d|p|q|dp|dq|qi)"/, "contains no private key")
    const { payload, protectedHeader } = await jwtVerify(token, key)
    assert.deepInclude(payload, {
      sub: id,
      role: "authenticated",
      email,
      email_verified: true,
      aal: "aal1",
      amr: ["password"]
    })
    assert.closeTo((payload.exp ?? 0) - (payload.iat ?? 0), 600, 1)
    assert.strictEqual(protectedHeader.typ, "session+jwt")
    const [head, body = "", signature] = token.split(".")
    const forged = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: "x" })).toString("base64url")
    for (const bad of [`${head}.${forged}.${signature}`, `${head}.${body}.`]) {
      assertRefused(await ask(service, "GET /v1/db/none", { key: service.anon, token: bad }), 401, "JWT_INVALID")
    }
  })

  it("with a second factor has half a session until it is shown", async () => {
    const { cookie, email, password } = await register(service)
    const { secret, used } = await addTotp(cookie)
    const due = await logIn(service, email, password)
    assertRefused(due, 403, "aal2_required")
    const half = sessionCookie(due)
    for (const line of [
      "POST /api/auth/token",
      "GET /api/auth/session",
      "GET /api/auth/sessions",
      "GET /api/auth/account",
      "GET /api/auth/passkeys",
      "POST /api/auth/passkeys/setup",
      "DELETE /api/auth/account",
      "GET /api/auth/mfa/status",
      "DELETE /api/auth/mfa/totp",
      "POST /api/auth/mfa/recovery-codes/generate"
    ]) {
      assertRefused(await asMember(service, half, line), 403, "aal2_required")
    }
    const change = { body: { password: "another long password" } }
    assertRefused(await asMember(service, half, "PUT /api/auth/password", change), 403, "aal2_required")
    assertRefused(await asMember(service, half, "GET /api/keys"), 403)
    const factors = await asMember(service, half, "GET /api/auth/login/factor")
    assert.deepStrictEqual(factors.json, { totp: true, webauthn: null, recovery_codes: false })
    const show = (code: string) =>
      asMember(service, half, "POST /api/auth/login/factor", { body: { method: "totp", code } })
    assertRefused(await show("000000"), 400, "INVALID_CODE")
    // The code that has added the app.
    assertRefused(await show(used), 400, "INVALID_CODE")
    const next = nextTotpCode(secret)
    const done = await show(next)
    assert.strictEqual(done.status, 200, done.text)
    assert.strictEqual(decodeJwt(await tokenOf(half))["aal"], "aal2")
    // The same code in another session.
    const other = sessionCookie(await logIn(service, email, password))
    const again = { body: { method: "totp", code: next } }
    assertRefused(await asMember(service, other, "POST /api/auth/login/factor", again), 400, "INVALID_CODE")
  })

  it("is told when a second factor is removed, once for each", async () => {
    const { cookie, email } = await register(service)
    await addTotp(cookie)
    for (let times = 0; times < 2; times++) {
      assert.strictEqual((await asMember(service, cookie, "DELETE /api/auth/mfa/totp")).status, 200)
      assert.strictEqual((await asMember(service, cookie, "DELETE /api/auth/mfa/recovery-codes")).status, 200)
      assert.strictEqual((await asMember(service, cookie, "DELETE /api/auth/mfa/webauthn")).status, 200)
    }
    const mails = await sql(service, "select subject from svc.mails where recipient = $1 order by id offset 1", [email])
    assert.deepStrictEqual(
      mails.map(({ subject }) => String(subject).split(" – ")[0]),
      ["An authenticator app was added to your account", "A way to sign in was removed from your account"]
    )
  })

  it("of an app without cookies has a session token", async () => {
    const { email, id, password } = await register(service)
    const body = { identifier: email, password, token: true }
    const reply = await ask(service, "POST /api/auth/login", { body, headers: elsewhere() })
    assert.deepStrictEqual(reply.headers.getSetCookie(), [])
    const token = String(bodyOf(reply)["session_token"])
    const as = (name: string) => asMember(service, `${name}=${token}`, "GET /api/auth/session")
    assert.strictEqual((await as("svc_session")).status, 200)
    assertRefused(await as("idp_session"), 401, "UNAUTHENTICATED")
    await sql(service, "insert into svc.identity_recovery_codes values ($1::text::uuid, 'x')", [id])
    const due = await ask(service, "POST /api/auth/login", { body, headers: elsewhere() })
    assertRefused(due, 403, "aal2_required")
    const half = `svc_session=${String(bodyOf(due)["session_token"])}`
    const shown = await asMember(service, half, "GET /api/auth/login/factor")
    assert.deepStrictEqual(shown.json, { totp: false, webauthn: null, recovery_codes: true })
    assertRefused(await asMember(service, half, "POST /api/auth/token"), 403, "aal2_required")
  })

  it("recovers the account, sets a password, and so ends all other sessions", async () => {
    const { cookie, email, password } = await register(service)
    await sql(service, "update svc.identity_addresses set verified_at = now() where value = $1", [email])
    const { id } = bodyOf(await ask(service, "GET /api/auth/recovery")) as { id: string }
    const body = { flowId: id, email }
    assert.strictEqual((await ask(service, "POST /api/auth/recovery", { body, headers: elsewhere() })).status, 200)
    const mail = await mailTo(service, email)
    const wrong = { body: { flowId: id, code: mail.code === "00000000" ? "00000001" : "00000000" } }
    assertRefused(await ask(service, "POST /api/auth/recovery/confirm", wrong), 400, "INVALID_CODE")
    const confirm = { body: { flowId: id, code: mail.code } }
    const back = await ask(service, "POST /api/auth/recovery/confirm", confirm)
    assert.deepInclude(bodyOf(back), { password_due: true })
    assertRefused(await ask(service, "POST /api/auth/recovery/confirm", confirm), 410, "FLOW_EXPIRED")
    const linked = { body: { flowId: id, token: mail.token } }
    assertRefused(await ask(service, "POST /api/auth/recovery/confirm", linked), 410, "FLOW_EXPIRED")
    const recovered = sessionCookie(back)
    assertRefused(await asMember(service, cookie, "GET /api/auth/session"), 401, "UNAUTHENTICATED")
    const set = await asMember(service, recovered, "PUT /api/auth/password", { body: { password: "a new password!" } })
    assert.strictEqual(set.status, 200, set.text)
    assertRefused(await logIn(service, email, password), 401, "INVALID_CREDENTIALS")
    assert.strictEqual((await logIn(service, email, "a new password!")).status, 200)
  })

  it("takes an address that was registered by another person, who loses all access", async () => {
    const thief = await register(service)
    await addTotp(thief.cookie)
    const { id } = bodyOf(await ask(service, "GET /api/auth/recovery")) as { id: string }
    await ask(service, "POST /api/auth/recovery", { body: { flowId: id, email: thief.email }, headers: elsewhere() })
    const { token } = await mailTo(service, thief.email)
    const owner = await ask(service, "POST /api/auth/recovery/confirm", { body: { flowId: id, token } })
    assert.strictEqual(owner.status, 200, owner.text)
    assertRefused(await logIn(service, thief.email, thief.password), 401, "INVALID_CREDENTIALS")
    assert.strictEqual((await asMember(service, sessionCookie(owner), "GET /api/auth/session")).status, 200)
  })

  it("loses what was set before its address was confirmed by the link of an operator, which proves no address", async () => {
    const { email, id, password } = await register(service)
    const made = await ask(service, `POST /api/identities/${id}/recovery`, { key: service.service_role })
    const fields = new URL(String(bodyOf(made)["recovery_link"])).searchParams
    const body = { flowId: fields.get("flow"), token: fields.get("token") }
    const { session } = bodyOf(await ask(service, "POST /api/auth/recovery/confirm", { body })) as {
      session: { identity: Json }
    }
    assert.deepInclude(session.identity, { id, addresses: [{ value: email, verified: false }] })
    assertRefused(await logIn(service, email, password), 401, "INVALID_CREDENTIALS")
  })

  it("confirms the address, and changes it", async () => {
    const { cookie, email, password } = await register(service)
    const first = await mailTo(service, email)
    const confirm = (body: object) => ask(service, "POST /api/auth/verification/confirm", { body })
    assert.deepStrictEqual((await confirm({ flowId: first.flowId, token: first.token })).json, {
      success: true,
      session: null
    })
    const next = freshEmail()
    const sent = await asMember(service, cookie, "POST /api/auth/account/email", { body: { email: next } })
    assert.deepInclude(bodyOf(sent), { state: "sent_email" })
    assert.match((await mailTo(service, email)).text, /change of your account's address/)
    assert.strictEqual((await logIn(service, email, password)).status, 200, "until it is confirmed")
    const { code, flowId } = await mailTo(service, next)
    assertRefused(await confirm({ flowId, code }), 403, "FLOW_FORBIDDEN")
    const own = await asMember(service, cookie, "POST /api/auth/verification/confirm", { body: { flowId, code } })
    assert.strictEqual(own.status, 200, own.text)
    assertRefused(await logIn(service, email, password), 401, "INVALID_CREDENTIALS")
    const { session } = bodyOf(await logIn(service, next, password)) as { session: { identity: Json } }
    assert.deepInclude(session.identity, {
      traits: { email: next },
      addresses: [{ value: next, verified: true }]
    })
  })

  it("has traits of their own, but neither a role nor another's address", async () => {
    const { cookie, email } = await register(service)
    const patch = (traits: object) => asMember(service, cookie, "PATCH /api/auth/account", { body: { traits } })
    assert.deepInclude(bodyOf(await patch({ name: "Zoë" })), { traits: { name: "Zoë", email }, metadata_public: {} })
    assertRefused(await patch({ email: "boss@example.com" }), 400)
    assertRefused(await patch({ text: "a\0b" }), 400)
    assertRefused(await patch({ text: "\ud800" }), 400)
    assertRefused(await patch({ text: "x".repeat(9000) }), 400)
    const body = { traits: {}, metadata_public: { svc_role: "admin" } }
    assertRefused(await asMember(service, cookie, "PATCH /api/auth/account", { body }), 400)
    assertRefused(await asMember(service, cookie, "GET /api/keys"), 403)
  })
})
