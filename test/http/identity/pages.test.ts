import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { elsewhere, mailTo } from "../../support/identity/people.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { nextTotpCode, totpCode } from "../../support/identity/totp.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({ SVC_BRAND_NAME: "Acme Ltd" })
})
afterAll(() => service[Symbol.asyncDispose]())

interface Shown {
  readonly status: number
  readonly html: string
  readonly headers: Headers
  /** The path and query that it leads to, by a redirect or a refresh. */
  readonly to: string
}

/** A browser without JavaScript: it keeps cookies, and submits forms as it was shown them. */
class Tab {
  readonly cookies = new Map<string, string>()
  #address = elsewhere()
  #shown = ""

  async open(path: string, init: RequestInit = {}): Promise<Shown> {
    const response = await fetch(new URL(path, service.url), {
      redirect: "manual",
      ...init,
      headers: {
        accept: "text/html",
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...this.#address,
        ...(init.headers as Record<string, string>)
      }
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";")
      const [name = "", value = ""] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]
      if (value === "") this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    const html = await response.text()
    if (html.includes("<form")) assert.include(html, "Acme Ltd", `${path} shows who operates the service`)
    const refresh = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(html)?.[1]?.replaceAll("&amp;", "&")
    const target = response.headers.get("location") ?? refresh
    const to = target === undefined ? "" : new URL(target, service.url)
    if (html !== "") this.#shown = html
    return {
      status: response.status,
      html,
      headers: response.headers,
      to: to === "" ? "" : to.origin === service.url ? to.pathname + to.search : to.href
    }
  }

  /** Submits the form that has a button of this action, or the first one, to the page. */
  submit(page: string, fields: Record<string, string>, headers: Record<string, string> = { origin: service.url }) {
    const forms = [...this.#shown.matchAll(/<form[^>]*>([\s\S]*?)<\/form>/g)].map(([, inner = ""]) => inner)
    const form = forms.find((inner) => inner.includes(`value="${fields["action"]}"`)) ?? forms[0] ?? ""
    const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
    const body = new URLSearchParams(
      hidden.map(([, name = "", value = ""]): [string, string] => [name, value.replaceAll("&amp;", "&")])
    )
    for (const [name, value] of Object.entries(fields)) body.set(name, value)
    return this.open(page, { method: "POST", body, headers })
  }
}

const password = "four common words"
const registered = async () => {
  const tab = new Tab()
  const email = freshEmail()
  await tab.open("/auth/register")
  const done = await tab.submit("/auth/register", { email, password })
  assert.strictEqual(done.to, "/auth/account", done.html)
  return { tab, email }
}

describe("the pages", () => {
  it("register, sign out and sign in", async () => {
    const { email, tab } = await registered()
    const account = await tab.open("/auth/account")
    assert.include(account.html, email)
    assert.strictEqual((await tab.submit("/auth/account", { action: "logout" })).to, "/auth/signed-out")
    assert.isFalse(tab.cookies.has("idp_session"))
    assert.match((await tab.open("/auth/account")).to, /^\/auth\/login\?return_to=/)
    await tab.open("/auth/login")
    const wrong = await tab.submit("/auth/login", { email, password: "wrong" })
    assert.strictEqual(wrong.status, 401)
    assert.include(wrong.html, "The address or the password is wrong")
    assert.include(wrong.html, `value="${email}"`)
    assert.strictEqual((await tab.submit("/auth/login", { email, password })).to, "/auth/account")
  })

  it("set up an authenticator app, and then ask for its code", async () => {
    const { email, tab } = await registered()
    await tab.open("/auth/account")
    const setup = await tab.submit("/auth/account", { action: "totp" })
    const secret = /name="secret" value="(\w+)"/.exec(setup.html)?.[1] ?? ""
    const wrong = await tab.submit("/auth/account", { action: "totp-confirm", code: "000000" })
    assert.strictEqual(wrong.status, 400)
    const right = await tab.submit("/auth/account", { action: "totp-confirm", code: totpCode(secret) })
    assert.strictEqual(right.to, "/auth/account", right.html)
    await tab.open("/auth/account")
    const codes = await tab.submit("/auth/account", { action: "codes" })
    const [code = ""] = /(?<=<pre>)[a-z0-9]{8}/.exec(codes.html) ?? []
    assert.strictEqual((await tab.submit("/auth/account", { action: "codes-confirm" })).to, "/auth/account")

    const other = new Tab()
    await other.open("/auth/login")
    assert.strictEqual((await other.submit("/auth/login", { email, password })).to, "/auth/factor")
    assert.match((await other.open("/auth/account")).to, /^\/auth\/login\?aal=aal2/)
    await other.open("/auth/factor")
    assert.strictEqual((await other.submit("/auth/factor", { action: "totp", code: "000000" })).status, 400)
    assert.strictEqual(
      (await other.submit("/auth/factor", { action: "totp", code: nextTotpCode(secret) })).to,
      "/auth/account"
    )

    const third = new Tab()
    await third.open("/auth/login")
    await third.submit("/auth/login", { email, password })
    await third.open("/auth/factor")
    assert.strictEqual((await third.submit("/auth/factor", { action: "lookup_secret", code })).to, "/auth/account")
    assert.strictEqual((await third.open("/auth/account")).status, 200)
  })

  it("recover an account; opening the link of the message changes nothing", async () => {
    const { email } = await registered()
    const tab = new Tab()
    await tab.open("/auth/recovery")
    const sent = await tab.submit("/auth/recovery", { action: "send", email })
    assert.include(sent.html, "Check your e-mails")
    const { link } = await mailTo(service, email)
    const { pathname, search } = new URL(link)
    for (const method of ["GET", "GET", "HEAD"]) await tab.open(pathname + search, { method })
    assert.isFalse(tab.cookies.has("idp_session"))
    await tab.open(pathname + search)
    assert.strictEqual((await tab.submit("/auth/recovery", { action: "token" })).to, "/auth/password")
    await tab.open("/auth/password")
    const short = await tab.submit("/auth/password", { password: "short" })
    assert.strictEqual(short.status, 400)
    assert.strictEqual(
      (await tab.submit("/auth/password", { password: "five other common words" })).to,
      "/auth/account"
    )
    const again = new Tab()
    await again.open(pathname + search)
    assert.strictEqual((await again.submit("/auth/recovery", { action: "token" })).status, 410)
    assert.isFalse(again.cookies.has("idp_session"))
  })

  it("ask for a recent sign-in before changes", async () => {
    const { tab } = await registered()
    await sql(service, "update svc.identity_sessions set authenticated_at = now() - interval '1 day'")
    assert.match((await tab.open("/auth/keys?kind=passkey")).to, /^\/auth\/login\?refresh=true/)
    const again = await tab.open("/auth/login?refresh=true")
    assert.include(again.html, "Confirm that it is you")
    assert.strictEqual((await tab.submit("/auth/login", { password: "wrong" })).status, 401)
    assert.strictEqual((await tab.submit("/auth/login", { password })).to, "/auth/account")
    const key = await tab.open("/auth/keys?kind=passkey")
    assert.include(key.html, "data-key=")
    const script = /<script>([\s\S]*)<\/script>/.exec(key.html)?.[1] ?? ""
    const hash = Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(script))).toString("base64")
    assert.include(key.headers.get("content-security-policy") ?? "", `script-src 'sha256-${hash}'`)
  })

  it("return only to pages of this service or the dashboard", async () => {
    const back = `${service.url}/docs?a=b`
    for (const [returnTo, expected] of [
      [back, "/docs?a=b"],
      ["//evil.example", "/auth/account"],
      ["/\\evil.example", "/auth/account"],
      ["https:evil.example", "/auth/account"],
      [`${service.url}@evil.example/`, "/auth/account"],
      ["javascript:alert(1)", "/auth/account"],
      [service.url.replace(/\d+$/, "1"), "/auth/account"],
      [`${service.url}.evil.example/`, "/auth/account"]
    ] as const) {
      const { email } = await registered()
      const tab = new Tab()
      await tab.open(`/auth/login?return_to=${encodeURIComponent(returnTo)}`)
      assert.strictEqual((await tab.submit("/auth/login", { email, password })).to, expected, returnTo)
    }
  })

  it("refuse forms of other sites and of other browsers", async () => {
    const { email } = await registered()
    const tab = new Tab()
    const sent = { email, password }
    await tab.open("/auth/login")
    assert.strictEqual((await tab.submit("/auth/login", sent, { origin: "https://evil.example" })).status, 403)
    const another = new Tab()
    const { html } = await another.open("/auth/login")
    const foreign = /name="form" value="([^"]+)"/.exec(html)?.[1] ?? ""
    await tab.open("/auth/login")
    assert.strictEqual((await tab.submit("/auth/login", { ...sent, form: foreign }, {})).status, 403)
    assert.strictEqual((await tab.submit("/auth/login", { ...sent, form: "" }, {})).status, 403)
    const bare = new Tab()
    const body = new URLSearchParams(sent)
    assert.strictEqual((await bare.open("/auth/login", { method: "POST", body })).status, 403)
    const json = { method: "POST", body: JSON.stringify(sent), headers: { "content-type": "text/plain" } }
    assert.strictEqual((await bare.open("/auth/login", json)).status, 415)
    assert.isFalse(tab.cookies.has("idp_session") || bare.cookies.has("idp_session"))
  })

  it("can't be framed, cached or scripted, and escape what people write", async () => {
    const { tab } = await registered()
    const name = `<script>alert(1)</script>"'`
    await sql(service, "update svc.identity_sessions set user_agent = $1", [name])
    for (const path of [
      "login",
      "register",
      "factor",
      "recovery",
      "verify",
      "password",
      "account",
      "signed-out",
      "passkey"
    ]) {
      const { headers, html, status, to } = await (path === "login" ? new Tab() : tab).open(`/auth/${path}`)
      assert.strictEqual(headers.get("cache-control"), "no-store", path)
      if (to !== "") continue
      assert.strictEqual(status, 200, path)
      const policy = headers.get("content-security-policy") ?? ""
      for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"])
        assert.include(policy, part)
      assert.notInclude(policy, "unsafe")
      assert.strictEqual(/<script>/.test(html), path === "passkey", path)
    }
    assert.include((await tab.open("/auth/account")).html, "&lt;script&gt;")
    const wrong = await (async (other: Tab) => {
      await other.open("/auth/login")
      return other.submit("/auth/login", { email: `"><script>x</script>`, password: "x" })
    })(new Tab())
    assert.notInclude(wrong.html, "<script>")
  })

  it("delete the account", async () => {
    const { email, tab } = await registered()
    await tab.open("/auth/account")
    assert.strictEqual((await tab.submit("/auth/account", { action: "delete" })).status, 400)
    assert.strictEqual((await tab.submit("/auth/account", { action: "delete", sure: "yes" })).to, "/auth/signed-out")
    assert.deepStrictEqual(await sql(service, "select from svc.identity_addresses where value = $1", [email]), [])
  })
})

describe("the language", () => {
  const german = { "accept-language": "de-AT,de;q=0.9,en;q=0.5" }

  it("is that of the browser, on pages, in their errors, and in e-mails", async () => {
    const { email } = await registered()
    const tab = new Tab()
    const page = await tab.open("/auth/login", { headers: german })
    assert.include(page.html, '<html lang="de">')
    const headers = { ...german, origin: service.url }
    const wrong = await tab.submit("/auth/login", { email, password: "wrong" }, headers)
    assert.include(wrong.html, "Die Adresse oder das Passwort ist falsch")
    const weak = await tab.submit("/auth/register", { email: freshEmail(), password: "short" }, headers)
    assert.include(weak.html, "Das Passwort muss mindestens 8 Zeichen lang sein")
    await tab.open("/auth/recovery", { headers: german })
    await tab.submit("/auth/recovery", { action: "send", email }, headers)
    const mail = await mailTo(service, email)
    assert.match(mail.text, /^Jemand, vermutlich Sie/)
    assert.match(mail.code, /^\d{8}$/)
    const refused = await tab.open("/auth/callback/nowhere", { headers: german })
    assert.include(refused.html, "Etwas ist schiefgegangen")
    assert.include(
      (await new Tab().open("/oauth2/error?error=invalid_scope", { headers: german })).html,
      '<html lang="de">'
    )
  })

  it("is the one that an app asks for, on all pages of its sign-in", async () => {
    const made = await ask(service, "POST /api/oauth2/clients", {
      key: service.service_role,
      body: { client_name: "Shop", redirect_uris: ["http://localhost:4000/callback"], scope: "openid" }
    })
    const { client_id = "" } = made.json as { client_id?: string }
    const metadata = (await ask(service, "GET /.well-known/openid-configuration")).json as { [name: string]: unknown }
    assert.deepStrictEqual(metadata["ui_locales_supported"], ["en", "de"])
    const { email } = await registered()
    const tab = new Tab()
    const parameters = {
      client_id,
      response_type: "code",
      scope: "openid",
      redirect_uri: "http://localhost:4000/callback"
    }
    const asked = {
      state: "12345678",
      code_challenge: "x".repeat(43),
      code_challenge_method: "S256",
      ui_locales: "fr de-CH"
    }
    const follow = async (to: string) => {
      let shown = await tab.open(to)
      while (shown.status === 302 || shown.status === 303)
        shown = await tab.open(new URL(shown.to, service.url).href.replace(/^https?:\/\/[^/]+/, ""))
      return shown
    }
    const login = await follow(`/oauth2/auth?${new URLSearchParams({ ...parameters, ...asked })}`)
    assert.include(login.html, '<html lang="de">')
    assert.include((await tab.open("/auth/recovery")).html, "Konto wiederherstellen")
    await follow(`/oauth2/auth?${new URLSearchParams({ ...parameters, ...asked })}`)
    const entered = await tab.submit("/auth/login", { email, password })
    const consent = await follow(new URL(entered.to, service.url).href.replace(/^https?:\/\/[^/]+/, ""))
    assert.include(consent.html, "Shop</bdi> möchte auf Ihr Konto bei")
    // A link to a page can't be given another language by what it names.
    assert.include((await new Tab().open("/auth/login?ui_locales=<script>")).html, '<html lang="en">')
  })
})
