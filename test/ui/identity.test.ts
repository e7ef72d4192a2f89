import { type Page } from "playwright-core"
import { afterAll, assert, beforeAll, it } from "vitest"
import { followGuide } from "../support/docs/guide.ts"
import { freePort } from "../../bench/support/freePort.ts"
import { readGuide, stepsOf } from "../support/docs/readme.ts"
import { makeDataDir, removeDataDir } from "../support/dataDir.ts"
import { type Service, startService } from "../support/service.ts"
import { checkPages, openPage } from "../support/ui/dashboard.ts"

checkPages()
const ann = { email: "ann@example.com", password: "four common words" }
let service: Service
let url: string
beforeAll(async () => {
  const PORT = String(await freePort())
  // Passkeys need a host name, and a page that knows its own.
  url = `http://localhost:${PORT}`
  service = await startService({ env: { PORT, PUBLIC_URL: url } })
})
afterAll(() => service[Symbol.asyncDispose]())

/** A browser with a passkey of its own device. */
const openBrowser = async (app: string) => {
  const page = await openPage({ on: { ...service, url }, signedIn: false, app })
  const devtools = await page.context().newCDPSession(page)
  await devtools.send("WebAuthn.enable")
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true
    }
  })
  return page
}

const addPasskey = async (page: Page) => {
  await page.goto(`${url}/auth/account`)
  await page.getByLabel("E-mail").fill(ann.email)
  await page.getByLabel("Password").fill(ann.password)
  await page.getByRole("button", { name: "Sign in", exact: true }).click()
  await page.getByRole("link", { name: "Add a passkey" }).click()
  await page.getByRole("button", { name: "Add it" }).click()
  await page.getByRole("heading", { name: "Passkeys" }).waitFor()
  await page.locator("button[value=logout]").click()
  await page.waitForURL(`${url}/auth/signed-out`)
}

const shopWith = async (page: Page, shop: string) => {
  await page.goto(shop)
  await page.getByRole("link", { name: "Use a passkey" }).click()
  await page.getByRole("button", { name: "Use a passkey" }).click()
  await page.getByRole("heading", { name: /Shop/ }).waitFor()
  assert.include(await page.locator("main").innerText(), ann.email)
  await page.getByRole("button", { name: "Allow" }).click()
  await page.getByText("Hello, ann@example.com!").waitFor()
}

it("the commands of the guides to accounts and apps work, and so do a passkey and the shop in a browser", async () => {
  // The page of apps continues the commands of the one before, in the same shell.
  const guide = `${await readGuide("docs/accounts.md")}\n${await readGuide("docs/apps.md")}`
  assert.isAbove(stepsOf(guide).length, 25)
  const shop = `http://localhost:${await freePort()}`
  const here = (text: string) => text.replaceAll("http://localhost:3000", url).replaceAll("http://localhost:4000", shop)
  const directory = await makeDataDir()
  let visited = false
  const after = async (command: string) => {
    if (!command.startsWith("curl -s http://localhost:4000/")) return
    const page = await openBrowser(shop)
    await addPasskey(page)
    await shopWith(page, shop)
    visited = true
  }
  try {
    await followGuide({ guide, directory, here, env: { SERVICE: service.service_role, ANON: service.anon }, after })
    assert.isTrue(visited)
  } finally {
    await removeDataDir(directory)
  }
})
