import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, describe, it } from "vitest"

// What of the chart can be checked without helm, with which deploy/kubernetes/check.sh does the rest.

const chart = resolve(import.meta.dirname, "../../deploy/helm/svc")
const values = readFileSync(join(chart, "values.yaml"), "utf8")
const templates = readdirSync(join(chart, "templates")).map((name) =>
  readFileSync(join(chart, "templates", name), "utf8")
)
const actions = templates.flatMap((text) =>
  Array.from(text.matchAll(/\{\{-?\s*(.*?)\s*-?\}\}/g), ([, action = ""]) => action)
)

/** Paths such as `image.tag`, by indentation: the file has no flow mappings that templates enter. */
const paths = () => {
  const found = new Set<string>()
  const parents: Array<string> = []
  for (const line of values.split("\n")) {
    const [, indent = "", name] = /^( *)(\w+):/.exec(line) ?? []
    if (name === undefined) continue
    parents.splice(indent.length / 2)
    parents.push(name)
    found.add(parents.join("."))
  }
  return found
}

describe("the Helm chart", () => {
  it("uses values that exist, and all of them", () => {
    const used = new Set(
      actions.flatMap((action) => Array.from(action.matchAll(/\.Values\.([\w.]+)/g), ([, path = ""]) => path))
    )
    assert.isAbove(used.size, 15)
    const known = paths()
    assert.deepStrictEqual(
      [...used].filter((path) => !known.has(path)),
      []
    )
    const isUsed = (path: string) =>
      [...used].some((one) => one === path || path.startsWith(`${one}.`) || one.startsWith(`${path}.`))
    assert.deepStrictEqual(
      [...known].filter((path) => !isUsed(path)),
      []
    )
  })

  it("closes its blocks, and includes templates that it defines", () => {
    for (const text of templates) {
      const names = Array.from(text.matchAll(/\{\{-?\s*(if|with|range|define|end)\b/g), ([, name]) => name)
      let open = 0
      for (const name of names) {
        open += name === "end" ? -1 : 1
        assert.isAtLeast(open, 0)
      }
      assert.strictEqual(open, 0)
    }
    const namesOf = (pattern: RegExp) => actions.flatMap((action) => pattern.exec(action)?.[1] ?? [])
    const defined = namesOf(/^define "(.+)"/)
    assert.isNotEmpty(defined)
    assert.includeMembers(defined, namesOf(/include "(.+?)"/))
  })
})
