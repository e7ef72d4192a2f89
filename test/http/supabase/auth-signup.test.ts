import { createClient, type SupabaseClient } from "@supabase/supabase-js"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { elsewhere } from "../../support/identity/people.ts"
import { ok } from "../../support/identity/supabase.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

interface Site {
  readonly service: InProcessService
  readonly publicUrl: string
}
const app = "https://app.example.com/welcome"
const [thiefs, password] = ["what a thief has chosen", "correct horse battery"]

const start = async (more: Record<string, string>): Promise<Site> => {
  const port = await freePort()
  const publicUrl = `http://localhost:${port}`
  const service = await serveInProcess({
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    SVC_SUPABASE: "true",
    SVC_SUPABASE_SITE_URL: "https://www.example.com",
    SVC_SUPABASE_REDIRECT_URLS: "https://*.example.com/**",
    ...more
  })
  return { service, publicUrl }
}
let [required, optional] = [undefined as unknown as Site, undefined as unknown as Site]
beforeAll(async () => {
  required = await start({ SVC_AUTH_VERIFY: "required" })
  optional = await start({})
})
afterAll(async () => {
  await required.service[Symbol.asyncDispose]()
  await optional.service[Symbol.asyncDispose]()
})

/** Keeps what a client stores in a browser. */
const memory = () => {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key)
  }
}
/** The client of a browser of its own. */
const client = ({ service }: Site, flowType: "implicit" | "pkce" = "implicit"): SupabaseClient =>
  createClient(service.url, service.anon, {
    auth: { autoRefreshToken: false, storage: memory(), flowType },
    global: { headers: elsewhere() }
  })
const signUp = async (supabase: SupabaseClient, email: string, password: string) =>
  ok(await supabase.auth.signUp({ email, password, options: { emailRedirectTo: app } }))
/** How a sign-in ends: the code of the refusal, or "signed in". */
const signIn = async (site: Site, email: string, password: string) => {
  const { error } = await client(site).auth.signInWithPassword({ email, password })
  return error === null ? "signed in" : String(error.code)
}
const mailsTo = async ({ publicUrl, service }: Site, recipient: string) =>
  (await sql(service, "select body from svc.mails where recipient = $1 order by id desc", [recipient])).map((row) => {
    const text = String(row["body"])
    const link = (/https?:\S+/.exec(text)?.[0] ?? "").replace(publicUrl, service.url)
    return {
      link,
      token: new URL(link === "" ? "http://none.example" : link).searchParams.get("token") ?? "",
      code: /: (\d{6})$/m.exec(text)?.[1] ?? ""
    }
  })
const mailTo = async (site: Site, recipient: string) => (await mailsTo(site, recipient))[0]!
const click = (url: string) => fetch(url, { redirect: "manual", headers: { "sec-fetch-user": "?1", ...elsewhere() } })
/** Sends the form of the page that a link leads to. */
const press = async ({ service }: Site, link: string, fields: Record<string, string>) => {
  const { searchParams } = new URL(link)
  const hidden = { token: searchParams.get("token")!, type: searchParams.get("type")! }
  const reply = await fetch(`${service.url}/auth/v1/verify`, {
    method: "POST",
    headers: elsewhere(),
    body: new URLSearchParams({ ...hidden, ...fields })
  })
  const text = await reply.text()
  const to = /href="(https:[^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&")
  return { status: reply.status, text, values: new URLSearchParams(to?.split("#")[1] ?? "") }
}
const confirmed = async ({ service }: Site, email: string) =>
  (
    await sql(service, "select verified_at is not null as yes from svc.identity_addresses where value = $1", [email])
  )[0]?.["yes"]

describe.each([["required"], ["optional"]] as const)("a sign-up whose confirmation is %s", (mode) => {
  const site = () => (mode === "required" ? required : optional)

  it("of a stranger leaves the stranger nothing once the owner has opened its link", async () => {
    const email = freshEmail()
    const thief = client(site())
    await signUp(thief, email, thiefs)
    const { link } = await mailTo(site(), email)
    const page = await click(link)
    assert.strictEqual(page.status, 200)
    assert.include(await page.text(), 'type="password"')
    assert.isFalse(await confirmed(site(), email))
    const { values } = await press(site(), link, { password: "", without: "true" })
    const owner = client(site())
    const session = { access_token: values.get("access_token")!, refresh_token: values.get("refresh_token")! }
    assert.strictEqual(ok(await owner.auth.setSession(session)).user?.email, email)
    assert.isTrue(await confirmed(site(), email))
    assert.strictEqual(await signIn(site(), email, thiefs), "invalid_credentials")
    assert.isNotNull((await thief.auth.refreshSession()).error)
    ok(await owner.auth.updateUser({ password }))
    assert.strictEqual(await signIn(site(), email, password), "signed in")
  })

  it("keeps its password for whom the page has asked for it, and ends at the app", async () => {
    const email = freshEmail()
    await signUp(client(site()), email, password)
    const { link } = await mailTo(site(), email)
    const wrong = await press(site(), link, { password: "not the right one" })
    assert.strictEqual(wrong.status, 400)
    assert.include(wrong.text, 'role="alert"')
    assert.isFalse(await confirmed(site(), email))
    const { values } = await press(site(), link, { password })
    assert.strictEqual(values.get("type"), "signup")
    assert.isString(values.get("access_token"))
    assert.strictEqual(await signIn(site(), email, password), "signed in")
  })

  it("with PKCE is confirmed by the browser that has signed up, not by opening the link", async () => {
    const email = freshEmail()
    const signingUp = client(site(), "pkce")
    await signUp(signingUp, email, password)
    const { link } = await mailTo(site(), email)
    const codeOf = async () => {
      const { location } = Object.fromEntries((await click(link)).headers)
      return new URL(location ?? "http://none.example").searchParams.get("code") ?? ""
    }
    const body = { auth_code: await codeOf(), code_verifier: "x".repeat(56) }
    const stolen = await ask(site().service, "POST /auth/v1/token?grant_type=pkce", { key: site().service.anon, body })
    assert.strictEqual(stolen.status, 400)
    assert.isFalse(await confirmed(site(), email))
    ok(await signingUp.auth.exchangeCodeForSession(await codeOf()))
    assert.isTrue(await confirmed(site(), email))
    assert.strictEqual(await signIn(site(), email, password), "signed in")
  })

  it("loses its password to a client that sends the token of the link alone", async () => {
    const [email, other] = [freshEmail(), freshEmail()]
    for (const one of [email, other]) await signUp(client(site()), one, thiefs)
    const { token } = await mailTo(site(), email)
    ok(await client(site()).auth.verifyOtp({ token_hash: token, type: "signup" }))
    assert.strictEqual(await signIn(site(), email, thiefs), "invalid_credentials")
    const proof = { token_hash: (await mailTo(site(), other)).token, type: "signup", password: thiefs } as const
    ok(await client(site()).auth.verifyOtp(proof))
    assert.strictEqual(await signIn(site(), other, thiefs), "signed in")
  })

  it("is confirmed by the code in the app that has signed up", async () => {
    const email = freshEmail()
    const { auth } = client(site())
    ok(await auth.signUp({ email, password }))
    ok(await auth.verifyOtp({ email, token: (await mailTo(site(), email)).code, type: "signup" }))
    assert.strictEqual(await signIn(site(), email, password), "signed in")
  })

  it("of a stranger leaves nothing to them where its code is taken for that of a sign-in", async () => {
    const email = freshEmail()
    await signUp(client(site()), email, thiefs)
    const { code } = await mailTo(site(), email)
    const owner = client(site())
    ok(await owner.auth.signInWithOtp({ email }))
    ok(await owner.auth.verifyOtp({ email, token: code, type: "email" }))
    assert.strictEqual(await signIn(site(), email, thiefs), "invalid_credentials")
  })
})

describe("another mail of a sign-up", () => {
  it("keeps the challenge of the sign-up", async () => {
    const email = freshEmail()
    const signingUp = client(required, "pkce")
    await signUp(signingUp, email, password)
    const [first] = await mailsTo(required, email)
    ok(await client(required, "pkce").auth.resend({ type: "signup", email, options: { emailRedirectTo: app } }))
    const second = await mailTo(required, email)
    assert.notStrictEqual(first!.link, second.link)
    const { location } = Object.fromEntries((await click(second.link)).headers)
    ok(await signingUp.auth.exchangeCodeForSession(new URL(location!).searchParams.get("code")!))
    assert.strictEqual(await signIn(required, email, password), "signed in")
  })

  it("brings no password if two people have signed up", async () => {
    const email = freshEmail()
    const owner = client(required)
    await signUp(owner, email, password)
    await signUp(client(required), email, thiefs)
    ok(await owner.auth.resend({ type: "signup", email }))
    ok(await owner.auth.verifyOtp({ email, token: (await mailTo(required, email)).code, type: "signup" }))
    for (const one of [thiefs, password]) assert.strictEqual(await signIn(required, email, one), "invalid_credentials")
    ok(await owner.auth.updateUser({ password }))
    assert.strictEqual(await signIn(required, email, password), "signed in")
  })

  it("keeps the password if the same one was given twice", async () => {
    const email = freshEmail()
    const owner = client(required)
    await signUp(owner, email, password)
    await signUp(owner, email, password)
    ok(await owner.auth.resend({ type: "signup", email }))
    ok(await owner.auth.verifyOtp({ email, token: (await mailTo(required, email)).code, type: "signup" }))
    assert.strictEqual(await signIn(required, email, password), "signed in")
  })
})
