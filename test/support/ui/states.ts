import { type Page } from "playwright-core"
import { describe, it } from "vitest"
import { type Address } from "../service.ts"
import { assertAccessible } from "./accessible.ts"
import { keepPage, openPage } from "./dashboard.ts"

/** Opens a page in a state, by name. */
export type States = Readonly<Record<string, (page: Page) => Promise<unknown>>>

interface Options {
  /** Default: the shared service. */
  readonly on?: () => Address
  readonly store?: boolean
}

/**
 * A test of each state: accessible in all colours, whole in all sizes, without complaints of the browser. All of them
 * use one browser context, because a new one costs more than the checks; it starts each state signed in, with empty storage.
 */
export const checkStates = (states: States, { on, store = false }: Options = {}) => {
  let page: Page | undefined
  let cookies: Awaited<ReturnType<ReturnType<Page["context"]>["cookies"]>> = []
  const clean = async () => {
    if (page === undefined || page.isClosed()) {
      page = await openPage({ store, ...(on === undefined ? {} : { on: on() }), reducedMotion: "reduce" })
      cookies = await page.context().cookies()
      keepPage(page)
      return page
    }
    await page.unrouteAll()
    await page.evaluate(() => {
      localStorage.clear()
      sessionStorage.clear()
    })
    await page.context().addCookies(cookies)
    return page
  }
  describe("is accessible in all colours and sizes:", () => {
    it.each(Object.entries(states))("%s", async (name, reach) => {
      const page = await clean()
      await reach(page)
      await assertAccessible(page, name)
    })
  })
}
