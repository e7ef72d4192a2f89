import { createClient, type SupabaseClient } from "@supabase/supabase-js"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type FakeGitHub, startFakeGitHub } from "../../fakes/identity/github.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { ask, sql } from "../../support/client.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { elsewhere, logIn } from "../../support/identity/people.ts"
import { nextTotpCode, totpCode, wrongTotpCode } from "../../support/identity/totp.ts"
import { ok } from "../../support/identity/supabase.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let github: FakeGitHub
/** Addresses must be confirmed. */
let service: InProcessService
let admin: SupabaseClient
let publicUrl: string
const password = "correct horse battery"
const app = "https://app.example.com/welcome"

/** Keeps what a client stores in a browser. */
const memory = () => {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key)
  }
}
/** A client of a browser of its own: limits count by address. */
const client = (options: object = {}, headers = elsewhere(), key = service.anon) =>
  createClient(service.url, key, {
    auth: { autoRefreshToken: false, storage: memory(), ...options },
    global: { headers }
  })
const failure = ({ error }: { readonly error: unknown }) => {
  const { code, status } = (error ?? {}) as Record<string, unknown>
  return `${String(status)} ${String(code)}`
}
const mails = (recipient: string) =>
  sql(service, "select subject, body from svc.mails where recipient = $1 order by id desc", [recipient])
const mailTo = async (recipient: string) => {
  const text = String((await mails(recipient))[0]?.["body"] ?? "")
  const link = /https?:\S+/.exec(text)?.[0] ?? ""
  return {
    link: link.replace(publicUrl, service.url),
    token: new URL(link === "" ? "http://none.example" : link).searchParams.get("token") ?? "",
    code: /: (\d{6})$/m.exec(text)?.[1] ?? ""
  }
}
/** As a person does who has clicked on a link; programs that look into mails send no such header. */
const click = (url: string, headers: Record<string, string> = { "sec-fetch-user": "?1" }) =>
  fetch(url, { redirect: "manual", headers })
const locationOf = (response: Response) => new URL(response.headers.get("location") ?? "http://none.example")
const fragmentOf = (url: URL) => new URLSearchParams(url.hash.slice(1))

beforeAll(async () => {
  github = await startFakeGitHub({ id: "svc", secret: "a-secret" })
  const port = await freePort()
  publicUrl = `http://localhost:${port}`
  service = await serveInProcess({
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    SVC_SUPABASE: "true",
    SVC_AUTH_VERIFY: "required",
    SVC_SUPABASE_SITE_URL: "https://www.example.com",
    SVC_SUPABASE_REDIRECT_URLS: "https://*.example.com/**,myapp://callback",
    SVC_SIGN_IN_WITH: "github",
    SVC_SIGN_IN_GITHUB_ISSUER: github.url,
    SVC_SIGN_IN_GITHUB_CLIENT_ID: "svc",
    SVC_SIGN_IN_GITHUB_CLIENT_SECRET: "a-secret"
  })
  admin = client({ persistSession: false }, elsewhere(), service.service_role)
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await github[Symbol.asyncDispose]()
})

/** A user whose address is confirmed. */
const person = async () => {
  const email = freshEmail()
  const { user } = ok(await admin.auth.admin.createUser({ email, password, email_confirm: true }))
  const supabase = client()
  ok(await supabase.auth.signInWithPassword({ email, password }))
  return { email, id: user.id, supabase }
}

describe("confirming an address", () => {
  it("by the code", async () => {
    const email = freshEmail()
    const { auth } = client()
    const { session, user } = ok(await auth.signUp({ email, password, options: { data: { name: "Ann" } } }))
    assert.isNull(session)
    assert.notProperty(user, "email_confirmed_at")
    assert.deepStrictEqual(await sql(service, "select email_confirmed_at from auth.users where id = $1", [user!.id]), [
      { email_confirmed_at: null }
    ])
    assert.strictEqual(failure(await auth.signInWithPassword({ email, password })), "400 email_not_confirmed")
    assert.strictEqual(
      failure(await auth.signInWithPassword({ email, password: "wrong one" })),
      "400 invalid_credentials"
    )
    assert.strictEqual((await logIn(service, email, password)).status, 401)
    const { code } = await mailTo(email)
    const wrong = code === "000000" ? "000001" : "000000"
    assert.strictEqual(failure(await auth.verifyOtp({ email, token: wrong, type: "signup" })), "403 otp_expired")
    const uses = await Promise.all(
      [1, 2, 3, 4].map(() => client().auth.verifyOtp({ email, token: code, type: "email" }))
    )
    assert.strictEqual(uses.filter(({ error }) => error === null).length, 1)
    const signedIn = ok(await client().auth.signInWithPassword({ email, password })).user
    assert.deepInclude(signedIn, { id: user!.id, user_metadata: { name: "Ann" } })
    assert.isString(signedIn.email_confirmed_at)
  })

  it("answers alike for an address that has an account", async () => {
    const { email } = await person()
    const { user } = ok(await client().auth.signUp({ email, password: "of somebody else" }))
    assert.deepInclude(user, { email, identities: [] })
    assert.match(String((await mails(email))[0]?.["subject"]), /already/)
    assert.strictEqual(
      failure(await client().auth.signInWithPassword({ email, password: "of somebody else" })),
      "400 invalid_credentials"
    )
  })

  it("takes the password that was given with the mail that is confirmed", async () => {
    const email = freshEmail()
    ok(await client().auth.signUp({ email, password: "of an attacker", options: { data: { name: "Eve" } } }))
    ok(await client().auth.signUp({ email, password, options: { data: { name: "Ann" } } }))
    ok(await client().auth.verifyOtp({ email, token: (await mailTo(email)).code, type: "signup" }))
    assert.strictEqual(
      failure(await client().auth.signInWithPassword({ email, password: "of an attacker" })),
      "400 invalid_credentials"
    )
    assert.deepStrictEqual(ok(await client().auth.signInWithPassword({ email, password })).user.user_metadata, {
      name: "Ann"
    })
  })

  it("by a link, which a program that looks into mails does not use up", async () => {
    const email = freshEmail()
    ok(await client().auth.signUp({ email, password, options: { emailRedirectTo: app } }))
    const { link } = await mailTo(email)
    const scanned = await click(link, {})
    assert.strictEqual(scanned.status, 200)
    const page = await scanned.text()
    assert.include(page, "<form")
    await fetch(link, { method: "HEAD" })
    const press = async (given: { readonly token: string; readonly type: string; readonly password?: string }) => {
      const pressed = await fetch(`${service.url}/auth/v1/verify`, { method: "POST", body: new URLSearchParams(given) })
      const text = await pressed.text()
      assert.include(text, `${app}#access_token=`)
      return new URL(/href="(https:[^"]*)"/.exec(text)![1]!.replaceAll("&amp;", "&"))
    }
    const url = await press({ token: new URL(link).searchParams.get("token")!, type: "signup", password })
    assert.strictEqual(url.origin + url.pathname, app)
    const values = fragmentOf(url)
    assert.deepInclude(Object.fromEntries(values), { type: "signup", token_type: "bearer", expires_in: "3600" })
    const { auth } = client()
    const session = { access_token: values.get("access_token")!, refresh_token: values.get("refresh_token")! }
    assert.strictEqual(ok(await auth.setSession(session)).user?.email, email)
    const again = fragmentOf(locationOf(await click(link)))
    assert.deepInclude(Object.fromEntries(again), { error: "access_denied", error_code: "otp_expired" })
    // The button of the page.
    ok(await client().auth.resetPasswordForEmail(email, { redirectTo: app }))
    const { token } = await mailTo(email)
    await press({ token, type: "recovery" })
  })

  it("by a link of a client with PKCE, as often as it is opened, until one code is exchanged", async () => {
    const email = freshEmail()
    const supabase = client({ flowType: "pkce" })
    ok(await supabase.auth.signUp({ email, password, options: { emailRedirectTo: app } }))
    const { link } = await mailTo(email)
    const codes = [await click(link, {}), await click(link, {}), await click(link)].map(
      (response) => locationOf(response).searchParams.get("code") ?? ""
    )
    assert.strictEqual(new Set(codes).size, 3)
    assert.match(
      failure(await client({ flowType: "pkce" }).auth.exchangeCodeForSession(codes[0]!)),
      /pkce|400|undefined/
    )
    const body = { auth_code: codes[1], code_verifier: "x".repeat(56) }
    const stolen = await ask(service, "POST /auth/v1/token?grant_type=pkce", { key: service.anon, body })
    assert.deepInclude(stolen.json as object, { code: "bad_code_verifier" })
    const { user } = ok(await supabase.auth.exchangeCodeForSession(codes[2]!))
    assert.strictEqual(user.email, email)
    const verifier = { auth_code: codes[1], code_verifier: "y".repeat(56) }
    assert.strictEqual(
      (await ask(service, "POST /auth/v1/token?grant_type=pkce", { key: service.anon, body: verifier })).status,
      400
    )
    assert.strictEqual(fragmentOf(locationOf(await click(link))).get("error_code"), "otp_expired")
  })
})

describe("mails that sign in", () => {
  it("make an account, or not, and answer alike", async () => {
    const [email, other] = [freshEmail(), freshEmail()]
    const { auth } = client()
    ok(await auth.signInWithOtp({ email, options: { data: { name: "Otto" }, emailRedirectTo: "myapp://callback" } }))
    const { link, token } = await mailTo(email)
    assert.include(decodeURIComponent(link), "redirect_to=myapp://callback")
    const { user } = ok(await auth.verifyOtp({ token_hash: token, type: "email" }))
    assert.deepInclude(user, { email, user_metadata: { name: "Otto" } })
    const { claims } = ok(await auth.getClaims())!
    assert.strictEqual((claims.amr as Array<{ method: string }>)[0]?.method, "otp")
    ok(await client().auth.signInWithOtp({ email: other, options: { shouldCreateUser: false } }))
    ok(await client().auth.resetPasswordForEmail(other))
    assert.deepStrictEqual(await mails(other), [])
    const answers = []
    const from = elsewhere()
    for (let n = 0; n < 5; n++)
      answers.push(
        failure(await client({}, from).auth.signInWithOtp({ email: other, options: { shouldCreateUser: false } }))
      )
    assert.strictEqual(answers.at(-1), "429 over_email_send_rate_limit")
    assert.strictEqual(failure(await auth.signInWithOtp({ phone: "+491700000000" })), "400 phone_provider_disabled")
  })

  it("recover an account, whose address another person may have registered", async () => {
    const email = freshEmail()
    const made = ok(await admin.auth.admin.createUser({ email, password, email_confirm: false })).user
    const supabase = client()
    ok(await supabase.auth.resetPasswordForEmail(email))
    ok(await supabase.auth.verifyOtp({ email, token: (await mailTo(email)).code, type: "recovery" }))
    // What was set before the address was proven is gone.
    assert.strictEqual(failure(await client().auth.signInWithPassword({ email, password })), "400 invalid_credentials")
    ok(await supabase.auth.updateUser({ password: "another good one" }))
    assert.strictEqual(
      ok(await client().auth.signInWithPassword({ email, password: "another good one" })).user.id,
      made.id
    )
  })

  it("limit guesses of a code by the address", async () => {
    const { email } = await person()
    ok(await client().auth.signInWithOtp({ email }))
    const { code, token } = await mailTo(email)
    const wrong = code === "000000" ? "000001" : "000000"
    const guesses = await Promise.all(
      Array.from({ length: 12 }, () => client().auth.verifyOtp({ email, token: wrong, type: "email" }))
    )
    assert.isTrue(guesses.every(({ error }) => error !== null))
    assert.strictEqual(failure(await client().auth.verifyOtp({ email, token: code, type: "email" })), "403 otp_expired")
    // Guesses of others use up the code only: the owner has the link.
    ok(await client().auth.verifyOtp({ token_hash: token, type: "magiclink" }))
  })

  it("change an address once both addresses have confirmed it", async () => {
    const { email, id, supabase } = await person()
    const next = freshEmail()
    assert.deepInclude(ok(await supabase.auth.updateUser({ email: next })).user, { email, new_email: next })
    const [agree, notice] = (await mails(email)).map(({ body }) => String(body))
    assert.match(notice ?? "", new RegExp(next))
    const { other } = { other: await person() }
    ok(await other.supabase.auth.updateUser({ email }))
    assert.strictEqual((await mails(email)).length, 2)
    const current = { email, token: /: (\d{6})$/m.exec(agree ?? "")?.[1] ?? "", type: "email_change" } as const
    assert.isNull(ok(await client().auth.verifyOtp(current)).session)
    assert.strictEqual(failure(await client().auth.verifyOtp(current)), "403 otp_expired")
    ok(await client().auth.verifyOtp({ email: next, token: (await mailTo(next)).code, type: "email_change" }))
    assert.strictEqual(ok(await client().auth.signInWithPassword({ email: next, password })).user.id, id)
    ok(await supabase.auth.reauthenticate())
    const { code } = await mailTo(next)
    const bad = code === "000000" ? "000001" : "000000"
    assert.strictEqual(
      failure(await supabase.auth.updateUser({ password: "another good one", nonce: bad })),
      "422 reauthentication_not_valid"
    )
    ok(await supabase.auth.updateUser({ password: "another good one", nonce: code }))
  })

  it("invite, and are made for an app to send itself", async () => {
    const email = freshEmail()
    const invited = ok(await admin.auth.admin.inviteUserByEmail(email, { data: { team: 1 }, redirectTo: app })).user
    assert.isString(invited.invited_at)
    const { link } = await mailTo(email)
    assert.strictEqual(fragmentOf(locationOf(await click(link))).get("type"), "invite")
    assert.strictEqual(failure(await admin.auth.admin.inviteUserByEmail(email)), "422 email_exists")
    const fresh = freshEmail()
    const { properties, user } = ok(
      await admin.auth.admin.generateLink({ type: "signup", email: fresh, password, options: { redirectTo: app } })
    )
    assert.deepInclude(properties, { verification_type: "signup", redirect_to: app })
    assert.strictEqual(user.email, fresh)
    assert.deepStrictEqual(await mails(fresh), [])
    const opened = locationOf(await click(properties.action_link.replace(publicUrl, service.url), {}))
    assert.strictEqual(fragmentOf(opened).get("type"), "signup")
    ok(await client().auth.signInWithPassword({ email: fresh, password }))
    const magic = ok(await admin.auth.admin.generateLink({ type: "magiclink", email: fresh })).properties
    assert.strictEqual(
      ok(await client().auth.verifyOtp({ token_hash: magic.hashed_token, type: "magiclink" })).user?.email,
      fresh
    )
    assert.strictEqual(
      failure(await client().auth.admin.generateLink({ type: "magiclink", email: fresh })),
      "403 not_admin"
    )
  })
})

describe("redirects", () => {
  it("lead to the site and what is listed only", async () => {
    const { email } = await person()
    const to = async (redirectTo: string) => {
      const { properties } = ok(
        await admin.auth.admin.generateLink({ type: "magiclink", email, options: { redirectTo } })
      )
      return locationOf(await click(properties.action_link.replace(publicUrl, service.url), {})).href.split("#")[0]
    }
    const site = "https://www.example.com/"
    assert.strictEqual(await to("https://a.example.com/x/y?z=1"), "https://a.example.com/x/y?z=1")
    assert.strictEqual(await to("myapp://callback"), "myapp://callback")
    for (const bad of [
      "//evil.example",
      "https://evil.example",
      "https://a.example.com.evil.example/",
      "https://a.b.example.com/",
      "https://a.example.com@evil.example/",
      "https://evil.example\\.example.com/",
      "javascript:alert(1)",
      "myapp://other",
      "https://evil.example/https://a.example.com/"
    ]) {
      assert.strictEqual(await to(bad), site, bad)
    }
  })
})

describe("other services", () => {
  const user = (email = freshEmail()) => ({
    id: Math.floor(Math.random() * 1e9),
    login: `octo${Math.floor(Math.random() * 1e9)}`,
    name: "Octo Cat",
    emails: [{ email, primary: true, verified: true }]
  })
  /** The URL at which a browser ends that begins with one. */
  const follow = async (url: string, browser = startBrowsing()) =>
    (await browser.go(url.replace(service.url, publicUrl), ({ hostname }) => hostname.endsWith("example.com"))).url

  it("sign in, with tokens in the fragment or a code", async () => {
    github.user = user()
    const { email } = github.user.emails[0]!
    const begun = ok(
      await client().auth.signInWithOAuth({
        provider: "github",
        options: { redirectTo: app, skipBrowserRedirect: true }
      })
    )
    const values = fragmentOf(await follow(begun.url!))
    assert.isNotEmpty(values.get("refresh_token") ?? "")
    assert.match(values.get("provider_token") ?? "", /^gho_/)
    assert.match(values.get("provider_refresh_token") ?? "", /^ghr_/)
    const supabase = client({ flowType: "pkce" })
    const { url } = ok(
      await supabase.auth.signInWithOAuth({
        provider: "github",
        options: { redirectTo: app, skipBrowserRedirect: true }
      })
    )
    const back = await follow(url!)
    assert.strictEqual(back.origin + back.pathname, app)
    assert.isFalse(back.href.includes("gho_"))
    // Until then they are stored, but not in clear.
    const stored = JSON.stringify(await sql(service, "select data from svc.supabase_codes"))
    assert.include(stored, "sealed")
    assert.isFalse(github.seen.some((text) => /^gh[or]_/.test(text) && stored.includes(text)))
    const { session } = ok(await supabase.auth.exchangeCodeForSession(back.searchParams.get("code")!))
    assert.match(session.provider_token ?? "", /^gho_/)
    assert.match(session.provider_refresh_token ?? "", /^ghr_/)
    const renewed = ok(await supabase.auth.refreshSession()).session
    assert.notProperty(renewed, "provider_token")
    assert.deepStrictEqual(await sql(service, "select from svc.supabase_codes where data ? 'sealed'"), [])
    assert.deepInclude(session.user, { email })
    assert.deepInclude(session.user.app_metadata, { provider: "github", providers: ["github"] })
    assert.deepInclude(session.user.user_metadata, { full_name: "Octo Cat" })
    assert.deepStrictEqual(
      session.user.identities?.map(({ provider }) => provider),
      ["github"]
    )
    const unknown = await ask(service, "GET /auth/v1/authorize?provider=google")
    assert.deepInclude(unknown.json as object, { code: "oauth_provider_not_supported" })
    // Another browser can't complete what this one began.
    const { url: third } = ok(
      await client().auth.signInWithOAuth({
        provider: "github",
        options: { redirectTo: app, skipBrowserRedirect: true }
      })
    )
    const callback = (
      await startBrowsing().go(
        third!.replace(service.url, publicUrl),
        ({ pathname }) => pathname === "/auth/v1/callback"
      )
    ).url
    assert.strictEqual(fragmentOf(await follow(callback.href)).get("error_code"), "flow_state_expired")
  })

  it("are linked and unlinked", async () => {
    const { email, id, supabase } = await person()
    github.user = user()
    const { url } = ok(
      await supabase.auth.linkIdentity({ provider: "github", options: { redirectTo: app, skipBrowserRedirect: true } })
    )
    assert.isNull(fragmentOf(await follow(url)).get("error"))
    const { identities } = ok(await supabase.auth.getUserIdentities())
    assert.deepStrictEqual(identities.map(({ provider }) => provider).toSorted(), ["email", "github"])
    const begun = ok(
      await client().auth.signInWithOAuth({
        provider: "github",
        options: { redirectTo: app, skipBrowserRedirect: true }
      })
    )
    const token = fragmentOf(await follow(begun.url!)).get("access_token") ?? ""
    assert.strictEqual(ok(await client().auth.getUser(token)).user.id, id)
    const linked = identities.find(({ provider }) => provider === "github")!
    ok(await supabase.auth.unlinkIdentity(linked))
    const left = ok(await supabase.auth.getUserIdentities()).identities
    assert.deepStrictEqual(
      left.map(({ provider }) => provider),
      ["email"]
    )
    assert.strictEqual(failure(await supabase.auth.unlinkIdentity(left[0]!)), "422 single_identity_not_deletable")
    assert.strictEqual(ok(await supabase.auth.getUser()).user.email, email)
  })

  it("whose accounts were copied from Supabase stay linked", async () => {
    github.user = user()
    const id = crypto.randomUUID()
    await sql(
      service,
      "insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data) values ($1, $2, now(), '{}')",
      [id, freshEmail()]
    )
    await sql(
      service,
      "insert into auth.identities (provider_id, user_id, provider, identity_data) values ($1, $2, 'github', '{}')",
      [String(github.user.id), id]
    )
    const begun = ok(
      await client().auth.signInWithOAuth({
        provider: "github",
        options: { redirectTo: app, skipBrowserRedirect: true }
      })
    )
    const token = fragmentOf(await follow(begun.url!)).get("access_token") ?? ""
    assert.strictEqual(ok(await client().auth.getUser(token)).user.id, id)
  })
})

describe("authenticator apps", () => {
  it("are enrolled, asked for and removed", async () => {
    const { email, id, supabase } = await person()
    const { mfa } = supabase.auth
    const factor = ok(await mfa.enroll({ factorType: "totp", friendlyName: "Phone" }))
    assert.match((factor as { totp: { qr_code: string } }).totp.qr_code, /^data:image\/svg\+xml;utf-8,<svg/)
    const { secret } = (factor as { totp: { secret: string } }).totp
    assert.strictEqual(
      failure(await mfa.challengeAndVerify({ factorId: factor.id, code: wrongTotpCode(secret) })),
      "422 mfa_verification_failed"
    )
    const code = totpCode(secret)
    ok(await mfa.challengeAndVerify({ factorId: factor.id, code }))
    assert.deepInclude(ok(await mfa.getAuthenticatorAssuranceLevel()), { currentLevel: "aal2", nextLevel: "aal2" })
    assert.deepStrictEqual(
      ok(await mfa.listFactors()).totp.map(({ friendly_name, status }) => [friendly_name, status]),
      [["Phone", "verified"]]
    )
    const other = client()
    ok(await other.auth.signInWithPassword({ email, password }))
    assert.deepInclude(ok(await other.auth.mfa.getAuthenticatorAssuranceLevel()), {
      currentLevel: "aal1",
      nextLevel: "aal2"
    })
    assert.strictEqual(failure(await other.auth.mfa.unenroll({ factorId: factor.id })), "422 insufficient_aal")
    assert.strictEqual(
      failure(await other.auth.mfa.enroll({ factorType: "totp", friendlyName: "B" })),
      "422 insufficient_aal"
    )
    // The pages of the service ask for it too.
    assert.strictEqual((await logIn(service, email, password)).status, 403)
    assert.strictEqual(
      failure(await other.auth.mfa.challengeAndVerify({ factorId: factor.id, code })),
      "422 mfa_verification_failed"
    )
    const next = nextTotpCode(secret)
    ok(await other.auth.mfa.challengeAndVerify({ factorId: factor.id, code: next }))
    assert.strictEqual(
      failure(await other.auth.mfa.challengeAndVerify({ factorId: factor.id, code: next })),
      "422 mfa_verification_failed"
    )
    const { claims } = ok(await other.auth.getClaims())!
    assert.deepInclude(claims, { sub: id, aal: "aal2" })
    assert.deepStrictEqual(
      (claims.amr as Array<{ method: string }>).map(({ method }) => method),
      ["totp", "password"]
    )
    const factors = ok(await admin.auth.admin.mfa.listFactors({ userId: id })).factors
    assert.strictEqual(factors[0]?.id, factor.id)
    ok(await other.auth.mfa.unenroll({ factorId: factor.id }))
    assert.deepStrictEqual(ok(await other.auth.mfa.listFactors()).all, [])
    const stranger = await person()
    assert.strictEqual(
      failure(await stranger.supabase.auth.mfa.challenge({ factorId: factor.id })),
      "404 mfa_factor_not_found"
    )
    assert.strictEqual(
      failure(await mfa.enroll({ factorType: "phone", phone: "+491700000000" })),
      "422 mfa_phone_enroll_not_enabled"
    )
  })
})

describe("what is not served", () => {
  it("is refused in the form of the API", async () => {
    const post = (path: string, body: object) => ask(service, `POST /auth/v1/${path}`, { key: service.anon, body })
    const codes = await Promise.all([
      post("signup", { data: {} }),
      post("sso", { domain: "x.example" }),
      post("token?grant_type=web3", { chain: "ethereum" }),
      post("token?grant_type=id_token", { provider: "google", id_token: "x" }),
      post("token?grant_type=x", {}),
      post("otp", { email: 7 }),
      post("signup", { email: "nobody", password }),
      ask(service, "GET /auth/v1/passkeys", { key: service.anon }),
      ask(service, "POST /auth/v1/signup", { key: service.anon, body: "{" })
    ])
    assert.deepStrictEqual(
      codes.map(({ json, status }) => `${status} ${(json as { code: string }).code}`),
      [
        "422 anonymous_provider_disabled",
        "404 sso_provider_not_found",
        "400 web3_provider_disabled",
        "400 oauth_provider_not_supported",
        "400 validation_failed",
        "400 validation_failed",
        "400 email_address_invalid",
        "401 no_authorization",
        "400 bad_json"
      ]
    )
    assert.deepInclude((await ask(service, "GET /auth/v1/settings", { key: service.anon })).json as object, {
      mailer_autoconfirm: false
    })
    assert.deepInclude((await ask(service, "GET /auth/v1/health")).json as object, { name: "GoTrue" })
    assert.strictEqual((await ask(service, "GET /auth/v1/settings")).status, 401)
  })
})
