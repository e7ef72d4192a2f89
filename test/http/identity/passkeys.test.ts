import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { Authenticator } from "../../support/identity/authenticator.ts"
import { asMember, elsewhere, register, sessionCookie } from "../../support/identity/people.ts"
import { nextTotpCode, totpCode } from "../../support/identity/totp.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

const origin = "https://id.example.com"
let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({ PUBLIC_URL: origin })
})
afterAll(() => service[Symbol.asyncDispose]())

type Json = Readonly<Record<string, unknown>>
interface Begun {
  readonly flow_id: string
  readonly options: { readonly publicKey: Json }
}
const as = (cookie: string, line: string, body?: unknown) =>
  asMember(service, cookie, line, { headers: { origin }, ...(body === undefined ? {} : { body }) })
const begin = async (cookie: string) => (await as(cookie, "POST /api/auth/passkeys/setup")).json as Begun

const withPasskey = async () => {
  const person = await register(service)
  const key = new Authenticator(origin)
  const { flow_id, options } = await begin(person.cookie)
  const body = { flow_id, credential: key.create(options.publicKey), display_name: "Laptop" }
  const added = await as(person.cookie, "POST /api/auth/passkeys/verify", body)
  assert.strictEqual(added.status, 201, added.text)
  return { ...person, key, passkey: added.json as { readonly id: string } & Json }
}
const challenge = async () => {
  const { json, status, text } = await ask(service, "GET /api/auth/login/passkey", { headers: elsewhere() })
  assert.strictEqual(status, 200, text)
  return json as { flow_id: string; passkey_options: { publicKey: Json } }
}
const signIn = (flow_id: string, passkey_login: string, more: object = {}) =>
  ask(service, "POST /api/auth/login/passkey", { body: { flow_id, passkey_login, ...more }, headers: elsewhere() })

it("passkeys are added, listed, renamed, used and removed", async () => {
  const { cookie, email, id, key, passkey } = await withPasskey()
  assert.deepInclude(passkey, { id: key.lastId, display_name: "Laptop", last_used_at: null })
  const { flow_id, passkey_options } = await challenge()
  const done = await signIn(flow_id, key.get(passkey_options.publicKey))
  assert.strictEqual(done.status, 200, done.text)
  const { session } = done.json as { session: { identity: { id: string }; methods: Array<string> } }
  assert.deepStrictEqual([session.identity.id, session.methods], [id, ["passkey"]])
  assert.isNotEmpty(sessionCookie(done))
  const renamed = await as(cookie, `PATCH /api/auth/passkeys/${key.lastId}`, { display_name: "Phone" })
  assert.deepInclude(renamed.json as Json, { display_name: "Phone" })
  const { text } = await as(cookie, "GET /api/auth/passkeys")
  assert.match(text, /"last_used_at":"20/)
  const setup = await begin(cookie)
  assert.deepInclude(setup.options.publicKey["user"] as Json, { name: email, displayName: email })
  assert.throws(() => key.create(setup.options.publicKey), "InvalidStateError")
  // It is the only way to sign in to an account without a password.
  await sql(service, "update svc.identities set password_hash = null where id = $1", [id])
  assertRefused(await as(cookie, `DELETE /api/auth/passkeys/${key.lastId}`), 409, "LAST_SIGN_IN_METHOD")
  await sql(service, "update svc.identities set password_hash = 'x' where id = $1", [id])
  assert.strictEqual((await as(cookie, `DELETE /api/auth/passkeys/${key.lastId}`)).status, 200)
  const told = "select 1 as one from svc.mails where recipient = $1 and subject like 'A way to sign in was removed%'"
  assert.lengthOf(await sql(service, told, [email]), 1)
  for (const line of ["DELETE", "PATCH"]) {
    const body = line === "PATCH" ? { display_name: "x" } : undefined
    assertRefused(await as(cookie, `${line} /api/auth/passkeys/${key.lastId}`, body), 404, "PASSKEY_NOT_FOUND")
  }
})

it("passkeys give apps without cookies a token, which is no cookie, and half of one if a second factor is due", async () => {
  const { cookie, id, key } = await withPasskey()
  const used = async (key: Authenticator) => {
    const { flow_id, passkey_options } = await challenge()
    const assertion = key.get(passkey_options.publicKey)
    return { reply: await signIn(flow_id, assertion, { token: true }), again: () => signIn(flow_id, assertion) }
  }
  const { again, reply } = await used(key)
  assert.strictEqual(reply.status, 200, reply.text)
  assert.isEmpty(reply.headers.getSetCookie())
  const { session, session_token } = reply.json as { session: { identity: { id: string } }; session_token: string }
  assert.strictEqual(session.identity.id, id)
  const at = (cookie: string, line: string, body?: unknown) =>
    ask(service, line, { headers: { cookie, origin }, ...(body === undefined ? {} : { body }) })
  assert.strictEqual((await at(`svc_session=${session_token}`, "GET /api/auth/session")).status, 200)
  assertRefused(await at(`idp_session=${session_token}`, "GET /api/auth/session"), 401, "UNAUTHENTICATED")
  assertRefused(await again(), 410, "FLOW_EXPIRED")

  const setup = (await as(cookie, "POST /api/auth/mfa/totp/setup")).json as { flow_id: string; totp_secret: string }
  const code = totpCode(setup.totp_secret)
  await as(cookie, "POST /api/auth/mfa/totp/verify", { flow_id: setup.flow_id, totp_code: code })
  const due = (await used(key)).reply
  assertRefused(due, 403, "aal2_required")
  assert.isEmpty(due.headers.getSetCookie())
  const half = `svc_session=${(due.json as { session_token: string }).session_token}`
  assertRefused(await at(half, "POST /api/auth/token"), 403, "aal2_required")
  const shown = await at(half, "POST /api/auth/login/factor", { method: "totp", code: nextTotpCode(setup.totp_secret) })
  assert.strictEqual(shown.status, 200, shown.text)
  assert.strictEqual((await at(half, "POST /api/auth/token")).status, 200)
})

it("passkeys of others, copies, and what was tampered with, do not sign in", async () => {
  const ann = await withPasskey()
  const bob = await withPasskey()
  const { flow_id, passkey_options } = await challenge()
  const good = JSON.parse(ann.key.get(passkey_options.publicKey)) as { id: string; response: Record<string, string> }
  const bobs = JSON.parse(bob.key.get(passkey_options.publicKey)) as typeof good
  const handle = Buffer.from(bob.id).toString("base64url")
  const changed = (response: object, more: object = {}) =>
    JSON.stringify({ ...good, ...more, response: { ...good.response, ...response } })
  const client = (change: object) => {
    const data = JSON.parse(Buffer.from(good.response["clientDataJSON"]!, "base64url").toString()) as object
    return changed({ clientDataJSON: Buffer.from(JSON.stringify({ ...data, ...change })).toString("base64url") })
  }
  const bad = {
    "another person's handle": changed({ userHandle: handle }),
    "another person's key": changed({}, { id: bobs.id, rawId: bobs.id }),
    "another person's answer": changed(bobs.response),
    "another origin": client({ origin: "https://evil.example" }),
    "a subdomain": client({ origin: "https://evil.id.example.com" }),
    "another type": client({ type: "webauthn.create" }),
    "another challenge": client({ challenge: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }),
    "a cross-origin frame": client({ crossOrigin: true, topOrigin: "https://evil.example" }),
    "a handle that is no text": changed({ userHandle: 1 }),
    "no JSON": "{",
    "a very long id": changed({}, { id: "A".repeat(2000), rawId: "A".repeat(2000) }),
    "deep JSON": `${"[".repeat(50_000)}${"]".repeat(50_000)}`
  }
  for (const [name, assertion] of Object.entries(bad)) {
    const reply = await signIn(flow_id, assertion)
    assert.include([401, 429], reply.status, `${name}: ${reply.text}`)
    assert.isEmpty(sessionCookie(reply), name)
  }
  assertRefused(await signIn(flow_id, "x".repeat(200_000)), 400)
  ann.key.verifies = false
  assertRefused(await signIn(flow_id, ann.key.get(passkey_options.publicKey)), 401, "INVALID_PASSKEY")
  ann.key.verifies = true
  const done = await signIn(flow_id, JSON.stringify(good))
  assert.strictEqual(done.status, 200, done.text)
  assertRefused(await signIn(flow_id, JSON.stringify(good)), 410, "FLOW_EXPIRED")

  // A copy of the key signs with a counter that the service has seen, a while later.
  await sql(
    service,
    "update svc.identity_keys set counter = 1000, last_used_at = now() - interval '1 minute' where id = $1",
    [good.id]
  )
  const later = await challenge()
  assertRefused(await signIn(later.flow_id, ann.key.get(later.passkey_options.publicKey)), 401, "INVALID_PASSKEY")
})

it("a credential belongs to one person, and its flow to the session", async () => {
  const ann = await withPasskey()
  const bob = await register(service)
  const foreign = await begin(ann.cookie)
  const credential = new Authenticator(origin).create(foreign.options.publicKey)
  const stolen = await as(bob.cookie, "POST /api/auth/passkeys/verify", { flow_id: foreign.flow_id, credential })
  assertRefused(stolen, 403, "FLOW_FORBIDDEN")
  const added = await as(ann.cookie, "POST /api/auth/passkeys/verify", { flow_id: foreign.flow_id, credential })
  assert.strictEqual(added.status, 201)
  const another = new Authenticator(origin).create(foreign.options.publicKey)
  const reused = await as(ann.cookie, "POST /api/auth/passkeys/verify", {
    flow_id: foreign.flow_id,
    credential: another
  })
  assertRefused(reused, 400, "INVALID_WEBAUTHN")
  const own = await begin(bob.cookie)
  const again = await as(bob.cookie, "POST /api/auth/passkeys/verify", { flow_id: own.flow_id, credential })
  assertRefused(again, 409, "WEBAUTHN_EXISTS")
  const asKey = await as(bob.cookie, "POST /api/auth/mfa/webauthn/verify", {
    flow_id: own.flow_id,
    webauthn_register: new Authenticator(origin).create(own.options.publicKey)
  })
  assertRefused(asKey, 400, "INVALID_WEBAUTHN")
})
