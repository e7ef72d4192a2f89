import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { afterAll, afterEach, assert, inject } from "vitest"
import { findChromium } from "../browser/browser.ts"
import { ask } from "../client.ts"
import type { Address } from "../service.ts"

const service = inject("service")
let browser: Promise<Browser> | undefined

const launch = async () => {
  const name = await findChromium()
  const executablePath = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((directory) => join(directory, name ?? ""))
    .find((path) => name !== undefined && existsSync(path))
  // A failure, not a skip: nothing else tests the pages.
  if (executablePath === undefined) throw new Error("The dashboard's tests need Chromium: apt-get install -y chromium")
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"],
    // Without it Chromium does not find files whose names are not ASCII.
    env: { ...process.env, LC_ALL: "C.UTF-8" }
  })
}

/** What no test may cause, by the page that caused it. */
const complaints = new Map<Page, Array<string>>()

/** Pages that the next test uses as well. */
const kept = new Set<Page>()

/** A response of an error that the test is about is reported by browsers as well. */
const isExpected = (text: string) =>
  /^Failed to load resource: (?:the server responded with a status of (?:4\d\d|50[123])|net::ERR_CONNECTION_RESET)/.test(
    text
  )

const watch = async (page: Page, { url }: Address, others: ReadonlyArray<string>) => {
  const found: Array<string> = []
  complaints.set(page, found)
  page.on("pageerror", (error) => found.push(`error: ${error.message}`))
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !isExpected(message.text())) found.push(message.text())
  })
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url())
    if (/^https?:|^wss?:/.test(protocol) && ![new URL(url).origin, ...others].includes(origin.replace("ws:", "http:")))
      found.push(`request to ${origin}`)
  })
  await page.exposeFunction("reportViolation", (text: string) => found.push(`policy: ${text}`))
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ blockedURI, effectiveDirective }) =>
      (window as unknown as { reportViolation: (text: string) => void }).reportViolation(
        `${effectiveDirective} ${blockedURI}`
      )
    )
  })
}

/** The address of a page. */
export const at = (path: string, { url }: Pick<Address, "url"> = service) => `${url}/dashboard${path}`

interface Options extends BrowserContextOptions {
  /** Default: a new session of the service key. */
  readonly signedIn?: boolean
  /** Default: the shared service. */
  readonly on?: Address
  /** Whether the page may send requests to the object store; default: it may not. */
  readonly store?: boolean
  /** Another origin to which the page may go. */
  readonly app?: string
}

/** A browser of its own, with a page on which nothing has been opened yet. */
export const openPage = async ({
  app,
  on = service,
  signedIn = true,
  store = false,
  ...options
}: Options = {}): Promise<Page> => {
  browser ??= launch()
  const context = await (await browser).newContext({ viewport: { width: 1440, height: 900 }, ...options })
  context.setDefaultTimeout(15_000)
  if (signedIn) {
    const { headers } = await ask(on, "POST /api/dashboard/session", { body: { key: on.service_role } })
    const [name = "", value = ""] = (headers.getSetCookie()[0]?.split(";")[0] ?? "").split("=")
    await context.addCookies([{ name, value, url: on.url, httpOnly: true, sameSite: "Strict" }])
  }
  const page = await context.newPage()
  const { json } = await ask(on, "GET /api/dashboard/config")
  const others = store ? [(json as { readonly s3_public_origin: string }).s3_public_origin] : []
  await watch(page, on, app === undefined ? others : [...others, app])
  return page
}

/** Counts for how long the pages that are opened from now on did not respond: the longest time in ms, and then none. */
export const watchTasks = async (page: Page) => {
  await page.addInitScript(() => {
    const all = window as unknown as { longTasks: Array<number> }
    all.longTasks = []
    new PerformanceObserver((list) => all.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe(
      { entryTypes: ["longtask"] }
    )
  })
  return () =>
    page.evaluate(() => Math.max(0, ...(window as unknown as { longTasks: Array<number> }).longTasks.splice(0)))
}

/** The page stays open for the tests after this one, unless this one fails. */
export const keepPage = (page: Page) => kept.add(page)

/** For every file of the project: each test leaves no complaint behind, and no browser but a kept page. */
export const checkPages = () => {
  afterEach(async ({ task }) => {
    const all = Array.from(complaints, ([page, found]) => ({ page, found: found.splice(0) }))
    const failed = task.result?.state === "fail" || all.some(({ found }) => found.length > 0)
    await Promise.all(all.filter(({ page }) => failed || !kept.has(page)).map(({ page }) => close(page)))
    assert.deepStrictEqual(
      all.flatMap(({ found }) => found),
      []
    )
  })
  // The browser itself is used by all files, and ends with their process.
  afterAll(() => Promise.all(Array.from(complaints.keys(), close)))
}

const close = async (page: Page) => {
  complaints.delete(page)
  kept.delete(page)
  await page.context().close()
}
