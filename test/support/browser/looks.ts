import { assert } from "vitest"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { type Tab } from "./browserTab.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Look {
  readonly name: string
  readonly media: Readonly<Record<string, string>>
  readonly width: number
  readonly height: number
  readonly scale: number
}

const wide = { width: 1280, height: 800, scale: 1 }
/** How people look at a page. */
export const looks: ReadonlyArray<Look> = [
  { ...wide, name: "light", media: { "prefers-color-scheme": "light" } },
  { ...wide, name: "dark", media: { "prefers-color-scheme": "dark" } },
  { ...wide, name: "forced colours", media: { "forced-colors": "active" } },
  { name: "320 px", media: { "prefers-color-scheme": "light" }, width: 320, height: 640, scale: 1 },
  // 1280 × 800 at 200 %.
  { name: "zoomed", media: { "prefers-color-scheme": "dark" }, width: 640, height: 400, scale: 2 }
]

export const lookAs = async (tab: Tab, { height, media, scale, width }: Look) => {
  await tab.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false })
  const features = Object.entries(media).map(([name, value]) => ({ name, value }))
  await tab.send("Emulation.setEmulatedMedia", { features })
}

/** Asserts that the page of a tab has no fault that axe finds, and fits the window. */
export const assertReadable = async (tab: Tab, what: string) => {
  await tab.soon("document.querySelector('h1').textContent")
  await tab.send("Runtime.evaluate", { expression: axe })
  const { result } = await tab.send<{ readonly result: { readonly value: string } }>("Runtime.evaluate", {
    expression: `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ": " + nodes.map(({ target, failureSummary }) => target + " " + failureSummary).join("; ")).join("\\n"))`,
    awaitPromise: true,
    returnByValue: true
  })
  assert.strictEqual(result.value, "", what)
  const overflow = await tab.soon("String(document.documentElement.scrollWidth - document.documentElement.clientWidth)")
  assert.strictEqual(overflow, "0", what)
}
