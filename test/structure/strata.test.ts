import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const root = resolve(import.meta.dirname, "../..")
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "svc-lint-"))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** What the linter says of these files, under the project's configuration. */
const lint = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const work = await mkdtemp(join(directory, "case-"))
  // Beside the files: its patterns are relative to where it stands.
  await cp(join(root, ".oxlintrc.json"), join(work, ".oxlintrc.json"))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(work, path)), { recursive: true })
    await writeFile(join(work, path), content)
  }
  const oxlint = join(root, "node_modules/oxlint/bin/oxlint")
  const options = ["--config", ".oxlintrc.json", "--format", "unix", "."]
  return new Promise((done) =>
    execFile(process.execPath, [oxlint, ...options], { cwd: work }, (_failure, stdout, stderr) => done(stdout + stderr))
  )
}

const importing = (path: string) => `import { value } from "${path}"\nexport const other = value\n`
const value = "export const value = 1\n"

/** Which stratum imports which: two folders below its own, from two folders below another. */
const strata = ["domain", "services", "http", "layers"]
const allowed: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  services: ["domain"],
  http: ["domain", "services"],
  layers: ["domain", "services"]
}

describe("imports between the strata, two folders deep", () => {
  for (const from of strata) {
    for (const to of strata.filter((stratum) => stratum !== from)) {
      const may = allowed[from]?.includes(to) === true
      it(`${from} ${may ? "may" : "must not"} import ${to}`, async () => {
        const said = await lint({
          [`src/${from}/noun/part/Importer.ts`]: importing(`../../../${to}/noun/part/Imported.ts`),
          [`src/${to}/noun/part/Imported.ts`]: value
        })
        assert.strictEqual(said.includes("no-restricted-imports"), !may, said)
      })
    }
  }

  it.each([
    ["a type of http", 'import type { value } from "../../src/http/A.ts"\nexport type Other = typeof value\n', true],
    ["a value of http", importing("../../src/http/A.ts"), false],
    ["a value of domain", importing("../../src/domain/A.ts"), false],
    [
      "a type of services",
      'import type { value } from "../../src/services/A.ts"\nexport type Other = typeof value\n',
      false
    ]
  ])("the dashboard and %s", async (_, text, may) => {
    const files = Object.fromEntries(["http", "domain", "services"].map((stratum) => [`src/${stratum}/A.ts`, value]))
    const said = await lint({ ...files, "dashboard/src/Page.ts": text })
    assert.strictEqual(said.includes("no-restricted-imports"), !may, said)
  })

  it("must not lead back to main.ts", async () => {
    const said = await lint({ "src/services/noun/A.ts": importing("../../main.ts"), "src/main.ts": value })
    assert.include(said, "no-restricted-imports")
  })
})

describe("import cycles", () => {
  it("are refused, also of types, and through a third file", async () => {
    const said = await lint({
      "src/domain/noun/A.ts": 'import { type B } from "./B.ts"\nexport interface A {\n  readonly b: B\n}\n',
      "src/domain/noun/B.ts": 'import { type C } from "../other/C.ts"\nexport interface B {\n  readonly c: C\n}\n',
      "src/domain/other/C.ts": 'import { type A } from "../noun/A.ts"\nexport interface C {\n  readonly a: A\n}\n'
    })
    assert.include(said, "no-cycle")
  })
})
