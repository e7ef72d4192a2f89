import { type Locator } from "playwright-core"
import { assert } from "vitest"

const patience = 5000

/** Waits until the page has so many of an element: what a click or a load brings is shown a moment later. */
export const assertCount = async (locator: Locator, count: number): Promise<void> => {
  for (const until = Date.now() + patience; Date.now() < until && (await locator.count()) !== count;) {
    await locator.page().waitForTimeout(50)
  }
  assert.strictEqual(await locator.count(), count)
}
