import { assert, it } from "vitest"
import { makeDocSearch, sectionsOf } from "../../../src/domain/mcp/DocSearch.ts"

const sections = sectionsOf(
  "sql.md",
  "intro\n# SQL\nRun it.\n```sh\n# no heading\n```\n## Limits\nRows and time limits of SQL"
)

it("divides a file at its headings, outside of code", () => {
  assert.deepStrictEqual(
    sections.map(({ heading }) => heading),
    ["sql.md", "SQL", "Limits"]
  )
  assert.include(sections[1]?.text, "# no heading")
})

it("finds sections with more of the words first", () => {
  const search = makeDocSearch(sections)
  assert.deepStrictEqual(
    search("time LIMITS").map(({ heading }) => heading),
    ["Limits"]
  )
  assert.strictEqual(search("sql rows")[0]?.heading, "Limits")
  assert.deepStrictEqual(search("( * ["), [])
})

it("is bounded", () => {
  const long = makeDocSearch(
    Array.from({ length: 50 }, () => ({ file: "a.md", heading: "a", text: "word ".repeat(5000) }))
  )
  const found = long("word")
  assert.strictEqual(found.length, 5)
  assert.isBelow(found[0]?.text.length ?? Infinity, 3010)
})
