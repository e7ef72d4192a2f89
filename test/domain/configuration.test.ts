import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, it } from "vitest"

const root = resolve(import.meta.dirname, "../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")
const capturesOf = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), ([, name = ""]) => name)

/** The variables that begin a row of the tables; those of services at which people sign in have the name of the service. */
const documented = read("docs/configuration.md")
  .split("\n")
  .flatMap((line) => capturesOf(/^\| (?:`[A-Z][A-Z0-9_]+`(?:, )?)+/.exec(line)?.[0] ?? "", /`([A-Z][A-Z0-9_]+)`/g))

it("docs/configuration.md has every variable that the source reads by its name", () => {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts")
  )
  const names = files.flatMap((file) =>
    capturesOf(
      read(join("src", file)),
      /\b(?:text|flag|integer|list|oneOf|duration|secret|url|baseUrl|setting)\(\s*"([A-Z][A-Z0-9_]+)"/g
    )
  )
  assert.isAbove(names.length, 100)
  // How processes are told what they are, rather than a choice of the operator.
  const known = new Set([...documented, "NODE_ENV"])
  assert.deepStrictEqual(
    names.filter((name) => !known.has(name)),
    []
  )
})

it(".env.example has every variable of docs/configuration.md", () => {
  const given = new Set(capturesOf(read(".env.example"), /^#? ?([A-Z][A-Z0-9_]+)=/gm))
  assert.deepStrictEqual(
    documented.filter((name) => !given.has(name)),
    []
  )
})
