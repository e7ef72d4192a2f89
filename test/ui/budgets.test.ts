import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/service.ts"

const dist = join(root, "dashboard/dist")
const index = readFileSync(join(dist, "index.html"), "utf8")
const assets = readdirSync(join(dist, "assets"))

/** Bytes over the wire, for browsers that accept Brotli; small files are not compressed. */
const sizeOf = (name: string) => {
  const zipped = assets.includes(`${name}.br`) ? `${name}.br` : name
  return statSync(join(dist, "assets", zipped)).size
}
const sum = (names: ReadonlyArray<string>) => names.reduce((total, name) => total + sizeOf(name), 0)
const kib = 1024

describe("the bundle", () => {
  it("of the first load is at most 130 KiB of JavaScript, compressed", () => {
    const first = Array.from(index.matchAll(/assets\/([\w-]+\.js)/g), ([, name = ""]) => name)
    assert.isNotEmpty(first)
    // The tables are the first page.
    const page = assets.filter((name) => /^TablesPage-.*\.js$/.test(name))
    assert.isAtMost(sum([...new Set([...first, ...page])]), 130 * kib)
  })

  it("of a page is at most 150 KiB, compressed", () => {
    for (const name of assets.filter((one) => one.endsWith(".js"))) assert.isAtMost(sizeOf(name), 150 * kib, name)
  })

  it("has at most 32 KiB of styles in all its pages, compressed", () => {
    assert.isAtMost(sum(assets.filter((name) => name.endsWith(".css"))), 32 * kib)
  })

  it("contains nothing of the server", () => {
    for (const name of assets.filter((one) => one.endsWith(".js"))) {
      const text = readFileSync(join(dist, "assets", name), "utf8")
      assert.notMatch(text, /svc\.api_keys|vite-browser-external|effect\/Schema|HttpApiEndpoint/, name)
    }
  })
})
