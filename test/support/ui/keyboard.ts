import { type Page } from "playwright-core"
import { assert } from "vitest"

/** Asserts that Tab reaches what the page has, to the end of the page, and that each stop shows that it has the focus. */
export const assertKeyboard = async (page: Page): Promise<void> => {
  await page.getByRole("link", { name: "Skip to content" }).focus()
  const stops = new Set<string>()
  for (let at = 0; at < 120; at++) {
    await page.keyboard.press("Tab")
    const stop = await page.evaluate(() => {
      const element = document.activeElement
      if (element === null || element === document.body) return undefined
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      const inside = element.querySelector("#active-cell") ?? element
      const shadow = getComputedStyle(inside).boxShadow
      const editor = element.closest(".cm-editor") !== null
      const name = element.getAttribute("aria-label") ?? element.textContent ?? ""
      const shown = editor || shadow !== "none" || (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 1)
      return { shown, name: `${element.tagName} ${name.slice(0, 40)}` }
    })
    if (stop === undefined) break
    assert.isTrue(stop.shown, `${stop.name} has the focus, but does not show it`)
    if (stops.has(stop.name) && stops.size > 5 && at > 60) break
    stops.add(stop.name)
  }
  assert.isAbove(stops.size, 10)
  assert.include(Array.from(stops).join("\n"), "Theme and session")
}
