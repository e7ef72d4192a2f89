import { createClient, type SupabaseClient } from "@supabase/supabase-js"
import { SignJWT } from "jose"
import { createHash } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type FakeOidc, startFakeOidc } from "../../fakes/identity/oidc.ts"
import { ask, sql } from "../../support/client.ts"
import { Authenticator } from "../../support/identity/authenticator.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { elsewhere, logIn } from "../../support/identity/people.ts"
import { totpCode } from "../../support/identity/totp.ts"
import { ok } from "../../support/identity/supabase.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let oidc: FakeOidc
/** Another tenant of the provider, whose tokens are of another issuer. */
let other: FakeOidc
let service: InProcessService
let admin: SupabaseClient
const password = "correct horse battery"
/** Of the app. */
const page = "https://app.example.com"

beforeAll(async () => {
  ;[oidc, other] = await Promise.all([startFakeOidc(), startFakeOidc()])
  service = await serveInProcess({
    SVC_SUPABASE: "true",
    SVC_WEBAUTHN_RP_ID: "example.com",
    SVC_WEBAUTHN_ORIGINS: page,
    SVC_SIGN_IN_WITH: "google,apple",
    SVC_SIGN_IN_GOOGLE_ISSUER: oidc.url,
    SVC_SIGN_IN_GOOGLE_CLIENT_ID: "web",
    SVC_SIGN_IN_GOOGLE_APP_CLIENT_IDS: "ios,android",
    SVC_SIGN_IN_APPLE_ISSUER: other.url,
    SVC_SIGN_IN_APPLE_CLIENT_ID: "com.example.app"
  })
  admin = client(service.service_role)
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await Promise.all([oidc[Symbol.asyncDispose](), other[Symbol.asyncDispose]()])
})

/** A client of a browser of its own: limits count by address. */
const client = (key = service.anon) =>
  createClient(service.url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { headers: elsewhere() }
  })
const failure = ({ error }: { readonly error: unknown }) => {
  const { code, message, status } = (error ?? {}) as Record<string, unknown>
  return `${String(status)} ${String(code)} ${String(message)}`
}
const person = async () => {
  const email = freshEmail()
  const { user } = ok(await admin.auth.admin.createUser({ email, password, email_confirm: true }))
  const supabase = client()
  ok(await supabase.auth.signInWithPassword({ email, password }))
  return { email, id: user.id, supabase }
}

describe("an ID token of a provider", () => {
  const claims = () => ({ sub: crypto.randomUUID(), email: freshEmail(), email_verified: true, name: "Ann" })
  const use = (token: string, more: { nonce?: string; access_token?: string } = {}, provider = "google") =>
    client().auth.signInWithIdToken({ provider, token, ...more })

  it("signs in, once, the person whom the provider's other tokens are about too", async () => {
    const ann = claims()
    const token = await oidc.issue(ann)
    const { session, user } = ok(await use(token))
    assert.isNotEmpty(session.refresh_token)
    assert.deepInclude(user, { email: ann.email })
    assert.deepInclude(user.app_metadata, { provider: "google", providers: ["google"] })
    assert.strictEqual(user.identities?.[0]?.id, ann.sub)
    const used = "400 validation_failed The ID token was used already: request another from the provider"
    assert.strictEqual(failure(await use(token)), used)
    // An app for phones has a client id of its own; the person is the same.
    assert.strictEqual(ok(await use(await oidc.issue({ ...ann, aud: "ios", azp: "android-project" }))).user.id, user.id)
    const again = await oidc.issue(claims())
    const several = await Promise.all([1, 2, 3].map(() => use(again)))
    assert.strictEqual(several.filter(({ error }) => error === null).length, 1)
  })

  it("is refused when another has signed it, for another app, or it has expired", async () => {
    const ann = claims()
    const bad = "400 validation_failed Bad ID token"
    const audience = "400 validation_failed Unacceptable audience in id_token"
    const now = Math.floor(Date.now() / 1000)
    const shared = new TextEncoder().encode("web".padEnd(32, "x"))
    const refusals: ReadonlyArray<readonly [token: string | Promise<string>, failure: string]> = [
      [oidc.issue(ann, {}, true), bad],
      [oidc.issue(ann, { kid: "two" }), bad],
      [other.issue(ann), bad],
      [oidc.issue({ ...ann, iss: "https://accounts.google.com" }), bad],
      [oidc.issue({ ...ann, exp: now - 60 }), bad],
      [oidc.issue({ ...ann, nbf: now + 60 }), bad],
      [oidc.issue({ ...ann, sub: "" }), bad],
      [oidc.issue({ ...ann, sub: "x".repeat(256) }), bad],
      // Other tokens that a provider signs.
      [oidc.issue(ann, { typ: "at+jwt" }), bad],
      [oidc.issue(ann, { typ: "logout+jwt" }), bad],
      [
        new SignJWT({ ...ann, iss: oidc.url, aud: "web", exp: now + 60 })
          .setProtectedHeader({ alg: "HS256" })
          .sign(shared),
        bad
      ],
      [
        `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from(JSON.stringify({ ...ann, iss: oidc.url, aud: "web", exp: now + 60 })).toString("base64url")}.`,
        bad
      ],
      ["no token", bad],
      [oidc.issue({ ...ann, aud: "another app" }), audience],
      [oidc.issue({ ...ann, aud: ["another app", "web"] }), audience],
      [oidc.issue({ ...ann, aud: ["web", "another app"], azp: "another app" }), audience],
      [oidc.issue({ ...ann, aud: "com.example.app" }), audience]
    ]
    for (const [token, expected] of refusals) assert.strictEqual(failure(await use(await token)), expected)
    assert.strictEqual(
      failure(await use(await oidc.issue(ann), {}, "github")),
      "400 oauth_provider_not_supported Unsupported provider: provider is not enabled"
    )
    assert.strictEqual(failure(await use("")), "400 validation_failed id_token required")
    const accounts = await sql(service, "select from svc.identity_addresses where value = $1", [ann.email])
    assert.deepStrictEqual(accounts, [])
    // Unknown keys don't let it ask the provider for each.
    assert.isBelow(oidc.fetches, 3)
    ok(await use(await oidc.issue({ ...ann, aud: ["web", "another app"], azp: "web" })))
  })

  it("must have the nonce and be of the access token that come with it", async () => {
    const nonce = "a nonce of the app"
    const hash = createHash("sha256").update(nonce).digest("hex")
    const missing = "400 validation_failed Passed nonce and nonce in id_token should either both exist or not."
    const issue = (more: object) => oidc.issue({ ...claims(), ...more })
    ok(await use(await issue({ nonce: hash }), { nonce }))
    assert.strictEqual(failure(await use(await issue({ nonce: hash }))), missing)
    assert.strictEqual(failure(await use(await issue({}), { nonce })), missing)
    const mismatch = "400 validation_failed Nonces mismatch"
    assert.strictEqual(failure(await use(await issue({ nonce: hash }), { nonce: "another" })), mismatch)
    assert.strictEqual(failure(await use(await issue({ nonce }), { nonce })), mismatch)
    const access_token = "an access token"
    const at_hash = createHash("sha256").update(access_token).digest().subarray(0, 16).toString("base64url")
    ok(await use(await issue({ at_hash }), { access_token }))
    ok(await use(await issue({ at_hash })))
    assert.strictEqual(
      failure(await use(await issue({ at_hash }), { access_token: "another" })),
      "400 validation_failed Bad ID token"
    )
  })

  it("leads to an existing account only if both sides have verified the address", async () => {
    const { email, id } = await person()
    const ofProvider = { ...claims(), email }
    const unverified = await use(await oidc.issue({ ...ofProvider, email_verified: false }))
    assert.match(failure(unverified), /^40[39] link_needs_sign_in /)
    assert.strictEqual(ok(await use(await oidc.issue(ofProvider))).user.id, id)
    // Registered by a person who did not prove the address.
    const squatted = freshEmail()
    ok(await client().auth.signUp({ email: squatted, password }))
    assert.match(failure(await use(await oidc.issue({ ...claims(), email: squatted }))), /^40[39] link_needs_sign_in /)
    // The same subject of another issuer is another person.
    const stranger = await use(
      await other.issue({ ...ofProvider, aud: "com.example.app", email: freshEmail() }),
      {},
      "apple"
    )
    assert.notStrictEqual(ok(stranger).user.id, id)
    const without = await use(await oidc.issue({ sub: crypto.randomUUID() }))
    assert.match(failure(without), /^4\d\d /)
  })

  it("links its account to that of a session, and to no other's", async () => {
    const { id, supabase } = await person()
    const ann = claims()
    const linked = ok(await supabase.auth.linkIdentity({ provider: "google", token: await oidc.issue(ann) }))
    assert.strictEqual(linked.user?.id, id)
    assert.deepStrictEqual(
      ok(await supabase.auth.getUserIdentities())
        .identities.map(({ provider }) => provider)
        .toSorted(),
      ["email", "google"]
    )
    assert.strictEqual(ok(await use(await oidc.issue(ann))).user.id, id)
    const thief = await person()
    const taken = await oidc.issue(ann)
    assert.match(
      failure(await thief.supabase.auth.linkIdentity({ provider: "google", token: taken })),
      /^409 identity_already_exists /
    )
    // What was refused is not used up.
    assert.strictEqual(ok(await use(taken)).user.id, id)
    const anonymous = await ask(service, "POST /auth/v1/token?grant_type=id_token", {
      key: service.anon,
      body: { provider: "google", id_token: await oidc.issue(ann), link_identity: true }
    })
    assert.strictEqual(anonymous.status, 401, anonymous.text)
  })
})

/** What a browser's `navigator.credentials` gives: an object that is written as JSON. */
const credential = (text: string) => ({ toJSON: () => JSON.parse(text) as object }) as never
const json = (value: unknown): unknown =>
  value instanceof ArrayBuffer
    ? Buffer.from(value).toString("base64url")
    : Array.isArray(value)
      ? value.map(json)
      : typeof value === "object" && value !== null
        ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, json(one)]))
        : value

describe("a security key", () => {
  const rp = { rpId: "example.com", rpOrigins: [page] }
  /** Asks for a challenge; what it is answered with is sent when the result is called. */
  const challenged = async ({ auth }: SupabaseClient, factorId: string, key: Authenticator) => {
    const { id: challengeId, webauthn } = ok(await auth.mfa.challenge({ factorId, webauthn: rp }))
    const options = json(webauthn.credential_options.publicKey)
    const { type } = webauthn
    const credential_response = credential(type === "create" ? key.create(options) : key.get(options))
    const send = ({ auth } = supabase, as: string = type) =>
      auth.mfa.verify({ factorId, challengeId, webauthn: { ...rp, type: as as "create", credential_response } })
    const supabase = { auth }
    return send
  }
  const enroll = async (supabase: SupabaseClient, key: Authenticator, friendlyName: string) => {
    const { id, type } = ok(await supabase.auth.mfa.enroll({ factorType: "webauthn", friendlyName }))
    assert.strictEqual(type, "webauthn")
    const send = await challenged(supabase, id, key)
    return { id, verified: await send() }
  }
  const wrong = "422 mfa_verification_failed Invalid WebAuthn credential"
  const expired = /^422 mfa_challenge_expired /
  const aal1 = /^422 insufficient_aal /

  it("is enrolled, asked for and removed", async () => {
    const { email, id, supabase } = await person()
    const older = client()
    ok(await older.auth.signInWithPassword({ email, password }))
    const key = new Authenticator(page)
    const factor = await enroll(supabase, key, "Key")
    ok(factor.verified)
    const { claims } = ok(await supabase.auth.getClaims())!
    assert.deepInclude(claims, { sub: id, aal: "aal2" })
    assert.deepStrictEqual(
      (claims.amr as Array<{ method: string }>).map(({ method }) => method),
      ["mfa/webauthn", "password"]
    )
    const listed = ok(await supabase.auth.mfa.listFactors()).webauthn
    assert.deepStrictEqual(
      listed.map((one) => [one.id, one.friendly_name, one.status]),
      [[factor.id, "Key", "verified"]]
    )
    // Sessions that lack the factor have ended.
    assert.match(failure(await older.auth.getUser()), /session/i)
    const other = client()
    ok(await other.auth.signInWithPassword({ email, password }))
    assert.deepInclude(ok(await other.auth.mfa.getAuthenticatorAssuranceLevel()), {
      currentLevel: "aal1",
      nextLevel: "aal2"
    })
    // The pages of the service ask for it too.
    assert.strictEqual((await logIn(service, email, password)).status, 403)
    const send = await challenged(other, factor.id, key)
    ok(await send())
    assert.match(failure(await send()), expired)
    assert.deepInclude(ok(await other.auth.mfa.getAuthenticatorAssuranceLevel()), { currentLevel: "aal2" })
    const second = await enroll(other, new Authenticator(page), "Other key")
    ok(second.verified)
    ok(await other.auth.mfa.unenroll({ factorId: factor.id }))
    ok(await admin.auth.admin.mfa.deleteFactor({ id: second.id, userId: id }))
    assert.deepStrictEqual(ok(await other.auth.mfa.listFactors()).all, [])
    assert.strictEqual((await logIn(service, email, password)).status, 200)
  })

  it("of the pages is one here, and requires itself before another factor is added", async () => {
    const { email, id, supabase } = await person()
    ok((await enroll(supabase, new Authenticator(page), "x")).verified)
    await sql(service, "delete from svc.supabase_factors where identity_id = $1", [id])
    const thief = client()
    ok(await thief.auth.signInWithPassword({ email, password }))
    const [factor] = ok(await thief.auth.mfa.listFactors()).webauthn
    assert.strictEqual(factor?.status, "verified")
    for (const factorType of ["totp", "webauthn"] as const) {
      assert.match(failure(await thief.auth.mfa.enroll({ factorType: factorType as "totp", friendlyName: "y" })), aal1)
    }
    assert.match(failure(await thief.auth.mfa.unenroll({ factorId: factor?.id ?? "" })), aal1)
    assert.match(failure(await thief.auth.passkey.startRegistration()), aal1)
    // Nor is there another way to stay.
    const aal2 = /^401 insufficient_aal AAL2 session is required/
    assert.match(failure(await thief.auth.updateUser({ password: "four other words" })), aal2)
    assert.match(failure(await thief.auth.updateUser({ email: freshEmail() })), aal2)
    ok(await thief.auth.updateUser({ data: { theme: "dark" } }))
    const token = await oidc.issue({ sub: crypto.randomUUID() })
    assert.match(failure(await thief.auth.linkIdentity({ provider: "google", token })), aal1)
    const options = { skipBrowserRedirect: true }
    assert.match(failure(await thief.auth.linkIdentity({ provider: "google", options })), aal1)
    const [identity] = ok(await thief.auth.getUserIdentities()).identities
    assert.match(failure(await thief.auth.unlinkIdentity(identity!)), aal1)
    ok(await supabase.auth.mfa.unenroll({ factorId: factor?.id ?? "" }))
    assert.deepStrictEqual(await sql(service, "select from svc.identity_keys where identity_id = $1", [id]), [])
  })

  it("that was enrolled with the password alone can't be verified once there are factors", async () => {
    const { email, supabase } = await person()
    const thief = client()
    ok(await thief.auth.signInWithPassword({ email, password }))
    const early = ok(await thief.auth.mfa.enroll({ factorType: "webauthn", friendlyName: "thief" }))
    const send = await challenged(thief, early.id, new Authenticator(page))
    const late = client()
    const totp = ok(await supabase.auth.mfa.enroll({ factorType: "totp", friendlyName: "app" }))
    const { secret } = (totp as { totp: { secret: string } }).totp
    ok(await supabase.auth.mfa.challengeAndVerify({ factorId: totp.id, code: totpCode(secret) }))
    assert.match(failure(await send()), /session|mfa_factor_not_found/)
    ok(await late.auth.signInWithPassword({ email, password }))
    assert.match(failure(await send(late)), /^404 mfa_factor_not_found /)
    assert.deepStrictEqual(ok(await late.auth.mfa.listFactors()).all.length, 1)
  })

  it("is refused when another page, challenge, user or key has signed", async () => {
    const ann = await person()
    const key = new Authenticator(page)
    const start = async () =>
      ok(await ann.supabase.auth.mfa.enroll({ factorType: "webauthn", friendlyName: freshEmail() })).id
    const elsewhere_ = await challenged(ann.supabase, await start(), new Authenticator("https://evil.example.com"))
    assert.strictEqual(failure(await elsewhere_()), wrong)
    const kind = await challenged(ann.supabase, await start(), new Authenticator(page))
    assert.strictEqual(failure(await kind(ann.supabase, "request")), wrong)
    const { auth } = ann.supabase
    const factorId = await start()
    const strange = await auth.mfa.challenge({ factorId, webauthn: { rpId: "evil.example", rpOrigins: [page] } })
    assert.strictEqual(
      failure(strange),
      "400 validation_failed webauthn.rpId must be example.com: set SVC_WEBAUTHN_RP_ID for another"
    )
    const origins = await auth.mfa.challenge({ factorId, webauthn: { ...rp, rpOrigins: ["https://evil.example.com"] } })
    assert.match(failure(origins), /^400 validation_failed webauthn\.rpOrigins must contain .*SVC_WEBAUTHN_ORIGINS$/)
    assert.match(failure(await auth.mfa.verify({ factorId, challengeId: "x", code: "123456" })), expired)
    const factor = await enroll(ann.supabase, key, "Key")
    ok(factor.verified)

    // Another user's factor and challenge; and one's own challenge with another's key.
    const ben = await person()
    const theirs = await challenged(ann.supabase, factor.id, key)
    assert.match(failure(await theirs(ben.supabase)), /^404 mfa_factor_not_found /)
    const bens = new Authenticator(page)
    const own = await enroll(ben.supabase, bens, "Key")
    ok(own.verified)
    const { id: challengeId, webauthn } = ok(await ben.supabase.auth.mfa.challenge({ factorId: own.id, webauthn: rp }))
    const { challenge } = json(webauthn.credential_options.publicKey) as { challenge: string }
    const signed = { ...rp, type: "request" as const, credential_response: credential(key.get({ challenge })) }
    assert.strictEqual(
      failure(await ben.supabase.auth.mfa.verify({ factorId: own.id, challengeId, webauthn: signed })),
      wrong
    )
    // A copy of the key, whose counter is behind.
    ok(await (await challenged(ben.supabase, own.id, bens))())
    await sql(
      service,
      "update svc.identity_keys set counter = 1000, last_used_at = now() - interval '1 minute' where id = $1",
      [bens.lastId]
    )
    assert.strictEqual(failure(await (await challenged(ben.supabase, own.id, bens))()), wrong)
    const late = await challenged(ann.supabase, factor.id, key)
    await sql(service, "update svc.identity_flows set data = data || '{\"until\": 1}' where kind = 'supabase_factor'")
    assert.match(failure(await late()), expired)
  })
})

describe("a passkey", () => {
  const register = async ({ auth }: SupabaseClient, key: Authenticator) => {
    const { challenge_id: challengeId, options } = ok(await auth.passkey.startRegistration())
    return () => auth.passkey.verifyRegistration({ challengeId, credential: JSON.parse(key.create(options)) as never })
  }
  const signIn = async (key: Authenticator, { auth } = client()) => {
    const { challenge_id: challengeId, options } = ok(await auth.passkey.startAuthentication())
    const signed = JSON.parse(key.get(options)) as never
    return () => auth.passkey.verifyAuthentication({ challengeId, credential: signed })
  }
  const wrong = "400 webauthn_verification_failed Credential verification failed"
  const none = /^400 webauthn_challenge_not_found /

  it("is registered, renamed, used and removed", async () => {
    const { id, supabase } = await person()
    const key = new Authenticator(page)
    const made = ok(await (await register(supabase, key))())
    assert.strictEqual(made.friendly_name, "Passkey")
    const passkeyId = made.id
    const renamed = ok(await supabase.auth.passkey.update({ passkeyId, friendlyName: "Phone" }))
    assert.deepInclude(renamed, { id: passkeyId, friendly_name: "Phone" })
    const other = client()
    const { session, user } = ok(await (await signIn(key, other))())
    assert.strictEqual(user?.id, id)
    assert.isNotEmpty(session?.refresh_token)
    assert.strictEqual(
      (ok(await other.auth.getClaims())!.claims.amr as Array<{ method: string }>)[0]?.method,
      "passkey"
    )
    const [listed] = ok(await other.auth.passkey.list())
    assert.deepInclude(listed, { id: passkeyId, friendly_name: "Phone" })
    assert.isString(listed?.last_used_at)
    assert.strictEqual(ok(await admin.auth.admin.passkey.listPasskeys({ userId: id }))[0]?.id, passkeyId)
    const stranger = await person()
    for (const attempt of [
      stranger.supabase.auth.passkey.update({ passkeyId, friendlyName: "mine" }),
      stranger.supabase.auth.passkey.delete({ passkeyId }),
      admin.auth.admin.passkey.deletePasskey({ userId: stranger.id, passkeyId })
    ]) {
      assert.match(failure(await attempt), /^404 webauthn_credential_not_found /)
    }
    assert.strictEqual((await supabase.auth.passkey.delete({ passkeyId })).error, null)
    assert.strictEqual(failure(await (await signIn(key))()), wrong)
    const again = ok(await (await register(supabase, new Authenticator(page)))())
    assert.strictEqual((await admin.auth.admin.passkey.deletePasskey({ userId: id, passkeyId: again.id })).error, null)
    assert.deepStrictEqual(ok(await supabase.auth.passkey.list()), [])
    // Browsers ask first.
    const preflight = await fetch(`${service.url}/auth/v1/passkeys/${passkeyId}`, {
      method: "OPTIONS",
      headers: { origin: page, "access-control-request-method": "PATCH", "access-control-request-headers": "apikey" }
    })
    assert.include(preflight.headers.get("access-control-allow-methods") ?? "", "PATCH")
  })

  it("is refused when the challenge is another's, was used or has expired, or its owner was not verified", async () => {
    const [ann, ben] = [await person(), await person()]
    const key = new Authenticator(page)
    const { challenge_id: challengeId, options } = ok(await ann.supabase.auth.passkey.startRegistration())
    const attestation = JSON.parse(key.create(options)) as never
    const send = ({ auth }: SupabaseClient) => auth.passkey.verifyRegistration({ challengeId, credential: attestation })
    assert.match(failure(await send(ben.supabase)), none)
    ok(await send(ann.supabase))
    assert.match(failure(await send(ann.supabase)), none)
    const evil = await register(ann.supabase, new Authenticator("https://evil.example.com"))
    assert.strictEqual(failure(await evil()), wrong)
    const unverified = new Authenticator(page)
    unverified.verifies = false
    assert.strictEqual(failure(await (await register(ann.supabase, unverified))()), wrong)
    // The same key again, and for another user.
    const { challenge_id: second } = ok(await ben.supabase.auth.passkey.startRegistration())
    assert.strictEqual(
      failure(await ben.supabase.auth.passkey.verifyRegistration({ challengeId: second, credential: attestation })),
      wrong
    )

    const once = await signIn(key)
    ok(await once())
    assert.match(failure(await once()), none)
    const several = await signIn(key)
    const results = await Promise.all([1, 2, 3].map(() => several()))
    assert.strictEqual(results.filter(({ error }) => error === null).length, 1)
    key.verifies = false
    assert.strictEqual(failure(await (await signIn(key))()), wrong)
    key.verifies = true
    // A challenge to register is none to sign in.
    const { challenge_id, options: creation } = ok(await ann.supabase.auth.passkey.startRegistration())
    const mixed = JSON.parse(key.get({ challenge: creation.challenge })) as never
    const { auth } = client()
    assert.match(
      failure(await auth.passkey.verifyAuthentication({ challengeId: challenge_id, credential: mixed })),
      none
    )
    const late = await signIn(key)
    await sql(service, "update svc.identity_flows set data = data || '{\"until\": 1}' where kind = 'supabase_passkey'")
    assert.match(failure(await late()), /^400 webauthn_challenge_expired /)
    ok(await admin.auth.admin.updateUserById(ann.id, { ban_duration: "24h" }))
    assert.match(failure(await (await signIn(key))()), /^400 user_banned /)
    for (const body of [{}, { challenge_id: "x", credential: 7 }, { challenge_id: "x", credential: {} }]) {
      const reply = await ask(service, "POST /auth/v1/passkeys/authentication/verify", { key: service.anon, body })
      assert.strictEqual(reply.status, 400, reply.text)
    }
    assert.strictEqual((await ask(service, "GET /auth/v1/passkeys", { key: service.anon })).status, 401)
  })
})

describe("clients of the OAuth 2.0 server", () => {
  const made = async (client_name: string) => {
    const body = { client_name, redirect_uris: ["https://shop.example.com/"], scope: "openid email" }
    const reply = await ask(service, "POST /api/oauth2/clients", { key: service.service_role, body })
    assert.strictEqual(reply.status, 201, reply.text)
    return (reply.json as { client_id: string }).client_id
  }
  const grant = (subject: string, clientId: string, scopes: string) =>
    sql(
      service,
      `insert into svc.oauth2_consents (grant_id, subject, client_id, requested_scope, grant_scope, audience,
         id_token_claims, access_token_claims, remember, listed)
       values (gen_random_uuid()::text, $1, $2, $3::text[], $3::text[], '{}', '{}', '{}', true, true)`,
      [subject, clientId, scopes]
    )

  it("are listed for their user, with the latest scopes, and revoked", async () => {
    const [ann, ben] = [await person(), await person()]
    const [shop, mail] = [await made("Shop"), await made("Mail")]
    for (const { id } of [ann, ben]) await grant(id, shop, "{openid}")
    await grant(ann.id, shop, "{openid,email}")
    await grant(ann.id, mail, "{openid}")
    const { oauth } = ann.supabase.auth
    const grants = ok(await oauth.listGrants())
    assert.deepStrictEqual(
      grants.map(({ client: { name }, scopes }) => [name, scopes]),
      [
        ["Mail", ["openid"]],
        ["Shop", ["openid", "email"]]
      ]
    )
    assert.isNull((await oauth.revokeGrant({ clientId: shop })).error)
    assert.deepStrictEqual(
      ok(await oauth.listGrants()).map(({ client: { id } }) => id),
      [mail]
    )
    assert.match(failure(await oauth.revokeGrant({ clientId: shop })), /^404 oauth_consent_not_found /)
    assert.lengthOf(ok(await ben.supabase.auth.oauth.listGrants()), 1)
    assert.strictEqual((await ask(service, "GET /auth/v1/user/oauth/grants", { key: service.anon })).status, 401)
  })

  it("ask for consent on the service's own page, not on the app's", async () => {
    const { supabase } = await person()
    for (const attempt of [
      supabase.auth.oauth.getAuthorizationDetails("x"),
      supabase.auth.oauth.approveAuthorization("x", { skipBrowserRedirect: true }),
      supabase.auth.oauth.denyAuthorization("x", { skipBrowserRedirect: true })
    ]) {
      assert.match(failure(await attempt), /^404 not_found This server does not serve this part/)
    }
  })
})
