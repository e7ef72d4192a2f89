import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, it } from "vitest"

const root = resolve(import.meta.dirname, "../..")

const folders = ["", "docs", "bench", "dashboard", "examples/todo"]
const pages = folders.flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(root, folder, name))
)

const withoutCode = (page: string) => readFileSync(page, "utf8").replaceAll(/^ *```[^]*?^ *```/gm, "")

/** The anchors that GitHub gives to the headings of a page. */
const anchorsOf = (page: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const [, heading = ""] of withoutCode(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-")
    let last = anchor
    for (let n = 1; anchors.has(last); n++) last = `${anchor}-${n}`
    anchors.add(last)
  }
  return anchors
}

/** Why a link of a page leads nowhere, or undefined. Addresses of other sites are not visited. */
const faultOf = (page: string, link: string) => {
  if (/^[a-z]+:/.test(link)) return undefined
  const [path = "", anchor] = link.split("#")
  const target = path === "" ? page : resolve(page, "..", path)
  if (!existsSync(target)) return `${link}: no such file`
  if (anchor === undefined || !target.endsWith(".md")) return undefined
  return anchorsOf(target).has(anchor) ? undefined : `${link}: no such heading`
}

it.each(pages.map((page) => page.slice(root.length + 1)))("every link of %s leads to a file and a heading", (name) => {
  const page = join(root, name)
  const faults = [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
    const fault = faultOf(page, link)
    return fault === undefined ? [] : [fault]
  })
  assert.deepStrictEqual(faults, [])
})
