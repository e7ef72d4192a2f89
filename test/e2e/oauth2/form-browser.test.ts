import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Chromium, findChromium, startChromium } from "../../support/browser/browser.ts"
import { makeParty, makePerson, startProvider } from "../../support/oauth2/conformance.ts"

const chromium = await findChromium()

describe.skipIf(chromium === undefined)("a form of another site in a browser", () => {
  let service: Awaited<ReturnType<typeof startProvider>>
  let browser: Chromium
  /** An app at localhost, which is another site than 127.0.0.1: its page submits a form, or says where it was called. */
  const app = createServer((request, response) => {
    const { origin, searchParams } = new URL(request.url ?? "", "http://localhost")
    const to = searchParams.get("to")
    searchParams.delete("to")
    const fields = [...searchParams].map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
    response.setHeader("content-type", "text/html")
    response.end(
      to === null
        ? `<title>back at ${origin}</title>`
        : `<form method="post" action="${to}">${fields.join("")}<button>Go</button></form>`
    )
  })
  let redirectUri: string
  beforeAll(async () => {
    app.listen(0, "localhost")
    await once(app, "listening")
    redirectUri = `http://localhost:${(app.address() as AddressInfo).port}/callback`
    service = await startProvider()
    browser = await startChromium(chromium ?? "")
  })
  afterAll(async () => {
    app.close()
    await browser[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  it("finds the session of the person, and returns a code", async () => {
    const person = await makePerson(service)
    const party = await makeParty(service, {
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [redirectUri],
      skip_consent: true
    })
    await using tab = await browser.open()
    await tab.send("Network.setCookie", {
      name: "idp_session",
      value: person.cookie.slice(person.cookie.indexOf("=") + 1),
      url: service.issuer,
      httpOnly: true,
      sameSite: "Lax"
    })
    const parameters = { client_id: party.id, response_type: "code", redirect_uri: redirectUri, scope: "openid" }
    const endpoint = `${service.issuer}/oauth2/auth`
    const submitted = async (more: Readonly<Record<string, string>>) => {
      await tab.go(`${redirectUri}?${new URLSearchParams({ ...parameters, ...more, to: endpoint })}`)
      await tab.click("button")
      const state = JSON.stringify(`state=${more["state"]}`)
      return new URL(
        await tab.soon(
          `document.title.startsWith("back at") && location.search.includes(${state}) ? location.href : ""`
        )
      ).searchParams
    }
    assert.isNotNull((await submitted({ state: "first" })).get("code"))
    // The session at the server is known as well: without it, this is login_required.
    const silent = await submitted({ state: "second", prompt: "none" })
    assert.isNotNull(silent.get("code"), silent.toString())
  })
})
