import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { type Page } from "playwright-core"
import { assert } from "vitest"

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
/** Rules that depend on colours: the same elements pass the others. */
const colours = { type: "rule", values: ["color-contrast", "link-in-text-block"] }

/** The colours that a page is shown in. */
const schemes = [
  ["light", { colorScheme: "light", forcedColors: "none" }, rules],
  ["dark", { colorScheme: "dark", forcedColors: "none" }, colours],
  ["forced colours", { colorScheme: "light", forcedColors: "active" }, colours]
] as const

/** 1280 × 1024 at 200 % and at 400 % (WCAG 1.4.4, 1.4.10); the second is narrower than any phone. */
const sizes = [
  { width: 640, height: 512 },
  { width: 320, height: 256 }
]

/** Parts that are the same in many states: the frame around a page, and the rows of a grid. */
const repeated = ".shell > :is(header, nav), [role=grid] [role=row]"

/** Those of them that were checked in all colours, as HTML. */
const checkedParts = new Set<string>()

/** Left out once they are checked. The rules that are not about colours also judge how the frame fits the page. */
const leftOut = { all: ["[role=row][data-checked]"], colours: ["[data-checked]"] }

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly target: ReadonlyArray<unknown>; readonly failureSummary?: string }>
}

/**
 * Asserts that axe finds nothing in the page as it is, in light, in dark and in forced colours, and that it fits into
 * narrow windows. Media and sizes are emulated without a reload, so that the state is the same.
 */
export const assertAccessible = async (page: Page, state: string) => {
  const lines: Array<string> = []
  const parts = await page.evaluate(
    (selector) => Array.from(document.querySelectorAll(selector), ({ outerHTML }) => outerHTML),
    repeated
  )
  await markParts(
    page,
    parts.filter((part) => checkedParts.has(part))
  )
  for (const [name, media, only] of schemes) {
    await page.emulateMedia({ ...media, reducedMotion: "reduce" })
    const exclude = only === colours ? leftOut.colours : leftOut.all
    lines.push(...(await violations(page, only, exclude)).map((line) => `${state}, ${name}: ${line}`))
  }
  await markParts(page, [])
  if (lines.length === 0) for (const part of parts) checkedParts.add(part)
  await page.emulateMedia({ colorScheme: "light", forcedColors: "none" })
  const usual = page.viewportSize()
  for (const size of sizes) {
    await page.setViewportSize(size)
    lines.push(...(await lost(page)).map((line) => `${state}, ${size.width} × ${size.height}: ${line}`))
  }
  if (usual !== null) await page.setViewportSize(usual)
  assert.strictEqual(lines.join("\n"), "")
}

/** Marks the parts of the page that are among these, and no others. */
const markParts = (page: Page, checked: ReadonlyArray<string>) =>
  page.evaluate(
    ({ checked, selector }) => {
      for (const part of document.querySelectorAll(selector)) {
        part.removeAttribute("data-checked")
        part.toggleAttribute("data-checked", checked.includes(part.outerHTML))
      }
    },
    { checked, selector: repeated }
  )

const violations = async (page: Page, only: object, leave: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  // Evaluated by the debugger, which the page's policy does not restrict.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource)
  const found = await page.evaluate(
    async ({ exclude, runOnly }) => {
      const frame = () => new Promise((done) => requestAnimationFrame(done))
      await frame()
      // Colours that change slowly, and what inherits them; the cursor of an editor blinks for ever.
      const changing = document
        .getAnimations()
        .filter(({ effect, playState }) => playState === "running" && effect?.getTiming().iterations !== Infinity)
      await Promise.all(changing.map(({ finished }) => finished.catch(() => undefined)))
      await frame()
      const { axe } = window as unknown as {
        axe: { run: (context: object, options: object) => Promise<{ violations: ReadonlyArray<Violation> }> }
      }
      return (await axe.run({ exclude }, { runOnly, resultTypes: ["violations"] })).violations
    },
    { runOnly: only, exclude: leave }
  )
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, target }) => `${id} at ${target.join(" ")}: ${failureSummary ?? ""}`)
  )
}

/** What a window of this size takes away: the page scrolls sideways, or a control can't be scrolled to. */
const lost = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
    const areas = [document.documentElement, ...document.querySelectorAll<HTMLElement>(".page")]
    const sideways = areas
      .filter(({ clientWidth, scrollWidth }) => scrollWidth > clientWidth)
      .map((area) => `${area.className || "the document"} is ${area.scrollWidth} wide, of ${area.clientWidth}`)
    const dialog = Array.from(document.querySelectorAll("dialog")).findLast(({ open }) => open)
    const controls = Array.from(
      (dialog ?? document).querySelectorAll<HTMLElement>("a[href]:not(.skip), button, input, select, textarea")
    ).filter((control) => control.checkVisibility({ visibilityProperty: true }))
    const hidden = controls.filter((control) => {
      control.scrollIntoView({ block: "center", inline: "center" })
      const { bottom, height, left, right, top, width } = control.getBoundingClientRect()
      return width * height > 1 && (bottom < 1 || right < 1 || top > innerHeight - 1 || left > innerWidth - 1)
    })
    return [
      ...sideways,
      ...hidden.map(
        (one) => `can't be scrolled to: ${one.tagName} ${one.getAttribute("aria-label") ?? one.textContent}`
      )
    ]
  })
