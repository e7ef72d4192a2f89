import { Redacted } from "effect"
import { assert, it } from "vitest"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { followGuide } from "../../support/docs/guide.ts"
import { cookieOf } from "../../support/identity/idp.ts"
import { otherOAuth2Server } from "../../support/oauth2/oauth2.ts"
import { onwardIn, openPage, pressed, sendForm } from "../../support/oauth2/pageForm.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { readGuide, stepsOf } from "../../support/docs/readme.ts"
import { startStage } from "../../support/oauth2/signInSetup.ts"

const ann = { id: "", email: "ann@example.com", password: "four common words" }

// Real servers are configured as in the guide, and have no account for Ann yet.
it("the commands of the guide to Kratos and Hydra work", { timeout: 180_000 }, async () => {
  const commands = await readGuide("docs/kratos-hydra.md")
  assert.isAbove(stepsOf(commands).length, 25)
  // The programs are those of the embedded servers.
  const embedded = `${await readGuide("docs/accounts.md")}\n${await readGuide("docs/apps.md")}`
  const guide = `${[...embedded.matchAll(/```js\n[^]*?```/g)].join("\n")}\n${commands}`
  const PUBLIC_URL = otherOAuth2Server === undefined ? "" : "http://localhost:3000"
  await using stage = await startStage({ env: { DASHBOARD_URL: "", PUBLIC_URL } })
  const { idp, service } = stage
  // One host name: cookies are stored per host, and shared by all ports.
  const { hostname } = new URL(idp.publicUrl)
  const own = `${hostname}:${new URL(service.url).port}`
  const shop = `${hostname}:${await freePort()}`
  const hosts = {
    "localhost:3000": own,
    "localhost:4000": shop,
    "localhost:4433": new URL(idp.publicUrl).host,
    "localhost:4444": new URL(stage.publicUrl).host
  }
  const here = (text: string) =>
    Object.entries(hosts).reduce((text, [host, other]) => text.replaceAll(host, other), text)

  const browser = startBrowsing()
  const toIdP = (url: URL) => url.host === new URL(idp.publicUrl).host
  /** Opens the shop and signs in. */
  const visit = async () => {
    const signIn = await browser.go(`http://${shop}/`, toIdP)
    assert.isTrue(toIdP(signIn.url), `${signIn.url.href} ${signIn.text.slice(0, 300)}`)
    browser.setCookie(hostname, "idp_session", Redacted.value((await cookieOf(idp, ann)).value))
    const page = await browser.go(signIn.url.searchParams.get("return_to") ?? "")
    assert.strictEqual(`${page.url.host}${page.url.pathname}`, `${own}/oauth2/consent`)
    assert.match(page.text, /Shop<\/bdi> asks for access/)
    const form = await sendForm(browser, `http://${own}/oauth2/consent`, pressed(page, "allow"))
    const shown = await browser.go(onwardIn(form))
    assert.strictEqual(shown.text, "Hello, ann@example.com!")
  }
  /** Signs out at the server's own logout URL, and confirms it. */
  const leave = async () => {
    const { url } = await browser.go(`${stage.publicUrl}/oauth2/sessions/logout`, ({ host }) => host === own)
    const bridge = await browser.once(url)
    const page = await openPage(browser, bridge.headers.get("location") ?? "")
    assert.include(page.text, "Sign out?")
    const form = await sendForm(browser, `http://${own}/oauth2/logout`, pressed(page, "leave"))
    await browser.once(onwardIn(form))
    const again = await browser.go(`http://${shop}/`, toIdP)
    assert.isTrue(toIdP(again.url))
  }

  const directory = await makeDataDir()
  let visited = false
  const after = async (command: string) => {
    if (!command.startsWith("curl -s http://localhost:4000/")) return
    await visit()
    await leave()
    visited = true
  }
  try {
    await followGuide({ guide, directory, here, env: { SERVICE: service.service_role }, after })
    assert.isTrue(visited)
  } finally {
    await removeDataDir(directory)
  }
})
