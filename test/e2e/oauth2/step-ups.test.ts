import { Redacted } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Credential } from "../../../src/domain/identity/Identity.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { ask } from "../../support/client.ts"
import { cookieOf, makePerson, type Person, showFactor, tokenOf } from "../../support/identity/idp.ts"
import { as, cookieHeader } from "../../support/identity/service.ts"
import {
  allow,
  type Application,
  dashboard,
  goOn,
  makeApplication,
  refused,
  signInAtIdp
} from "../../support/identity/signIn.ts"
import { totpCode } from "../../support/identity/totp.ts"
import { type FullStage, startStage } from "../../support/oauth2/signInSetup.ts"

let stage: FullStage
let application: Application
beforeAll(async () => {
  stage = await startStage()
  application = await makeApplication(stage)
})
afterAll(() => stage[Symbol.asyncDispose]())

const browserOf = (...credentials: ReadonlyArray<Credential>) => {
  const browser = startBrowsing()
  for (const { _tag, value } of credentials) {
    browser.setCookie("127.0.0.1", _tag === "Token" ? "svc_session" : "idp_session", Redacted.value(value))
  }
  return browser
}

/** A user with a second factor; `strong` signs in with both, in a browser. */
const withFactor = async () => {
  const person = await makePerson(stage.idp)
  const first = await tokenOf(stage.idp, person)
  const call = async (line: string, body?: unknown) => {
    const reply = await as(stage.service, first, `POST /api/auth/mfa/totp/${line}`, body === undefined ? {} : { body })
    assert.strictEqual(reply.status, 200, reply.text)
    return reply.json as Readonly<Record<string, string>>
  }
  const { flow_id, totp_secret = "" } = await call("setup")
  await call("verify", { flow_id, totp_code: totpCode(totp_secret) })
  const strong = async () => {
    const cookie = await cookieOf(stage.idp, person)
    await showFactor(stage.idp, cookie, { method: "totp", totp_code: totpCode(totp_secret) })
    return cookie
  }
  return { person, strong, weakToken: await tokenOf(stage.idp, person) }
}

const loginPath = "/self-service/login/browser"
const challengeOf = (url: URL) => url.searchParams.get("consent_challenge") ?? ""
const finishAs = async (
  person: Person,
  attempt: Awaited<ReturnType<Application["begin"]>>,
  url: URL,
  browser = startBrowsing()
) => {
  const back = await allow(stage, { person, browser }, challengeOf(url))
  return (await application.finish(attempt, back)).claims()
}

describe("a session token that owes a second factor", () => {
  it("is answered with a sign-in that a browser can complete, and the service then uses its session", async () => {
    const { person, strong, weakToken } = await withFactor()
    const back = `${stage.service.url}/docs`
    const line = `GET /api/auth/session?return_to=${encodeURIComponent(back)}`
    const reply = await as(stage.service, weakToken, line)
    const { code, redirect_to } = reply.json as Readonly<Record<string, string>>
    assert.deepStrictEqual([reply.status, code], [403, "aal2_required"])
    const to = new URL(redirect_to ?? "")
    assert.strictEqual(to.pathname, loginPath)
    assert.deepStrictEqual([...to.searchParams], [["return_to", back]])

    const cookie = [cookieHeader(weakToken), cookieHeader(await strong())].join("; ")
    const { json, status } = await ask(stage.service, line, { headers: { cookie, origin: stage.service.url } })
    assert.strictEqual(status, 200)
    assert.deepInclude(json, { aal: "aal2" })
    assert.strictEqual((json as { readonly identity: { readonly id: string } }).identity.id, person.id)
  })

  it("does the same at the bridge", async () => {
    const { person, strong, weakToken } = await withFactor()
    const browser = browserOf(weakToken)
    const attempt = await application.begin()
    const idp = await goOn(stage, browser, attempt.url)
    assert.deepStrictEqual([idp.at, idp.url.pathname], ["idp", loginPath])
    assert.deepStrictEqual([...idp.url.searchParams.keys()], ["return_to"])
    browser.setCookie("127.0.0.1", "idp_session", Redacted.value((await strong()).value))
    const consent = await goOn(stage, browser, idp.url.searchParams.get("return_to") ?? "")
    assert.strictEqual(consent.at, "dashboard")
    const claims = await finishAs(person, attempt, consent.url, browser)
    assert.deepStrictEqual([claims?.sub, claims?.["acr"]], [person.id, "aal2"])
  })

  it("beside a cookie that owes it too, shows the factor", async () => {
    const { person, weakToken } = await withFactor()
    const browser = browserOf(weakToken, await cookieOf(stage.idp, person))
    const { url } = await goOn(stage, browser, (await application.begin()).url)
    assert.strictEqual(url.searchParams.get("aal"), "aal2")
  })
})

it("a user with a session token who signs in again for an app comes back signed in", async () => {
  const person = await makePerson(stage.idp)
  const browser = browserOf(await tokenOf(stage.idp, person))
  // Older than the allowed clock skew.
  await stage.age(6_500)
  const attempt = await application.begin({ prompt: "login" })
  const idp = await goOn(stage, browser, attempt.url)
  assert.strictEqual(idp.url.searchParams.get("refresh"), "true")
  await signInAtIdp(stage, { person, browser })
  const consent = await goOn(stage, browser, idp.url.searchParams.get("return_to") ?? "")
  assert.strictEqual(consent.at, "dashboard")
  assert.strictEqual((await finishAs(person, attempt, consent.url, browser))?.sub, person.id)
})

describe("a browser whose sign-in never reaches the service", () => {
  it("is sent to sign in once, and then back to the app", async () => {
    const { weakToken } = await withFactor()
    for (const browser of [startBrowsing(), browserOf(weakToken)]) {
      const attempt = await application.begin()
      const idp = await goOn(stage, browser, attempt.url)
      assert.strictEqual(idp.at, "idp")
      const back = await goOn(stage, browser, idp.url.searchParams.get("return_to") ?? "")
      assert.strictEqual(back.at, "application")
      assert.strictEqual(await refused(application.finish(attempt, back.url)), "login_required")
    }
  })

  it("also from the consent page", async () => {
    const person = await makePerson(stage.idp)
    const browser = browserOf(await cookieOf(stage.idp, person))
    const attempt = await application.begin()
    const { url } = await goOn(stage, browser, attempt.url)
    // The service's own page, which the dashboard's replaces here.
    const page = `${stage.service.url}/oauth2/consent?consent_challenge=${encodeURIComponent(challengeOf(url))}`
    assert.isTrue(url.href.startsWith(dashboard))
    browser.setCookie("127.0.0.1", "idp_session", "ended")
    const idp = await goOn(stage, browser, page)
    assert.strictEqual(idp.at, "idp")
    const back = await goOn(stage, browser, idp.url.searchParams.get("return_to") ?? "")
    assert.strictEqual(back.at, "application")
    assert.strictEqual(await refused(application.finish(attempt, back.url)), "login_required")
  })
})
