import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"

const root = resolve(import.meta.dirname, "../..")
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
const pairs = strata.flatMap((from) =>
  strata
    .filter((stratum) => stratum !== from)
    .map((to) => ({ from, to, may: allowed[from]?.includes(to) === true, path: `src/${from}/noun/part/${to}.ts` }))
)

const dashboard: ReadonlyArray<readonly [name: string, path: string, text: string, may: boolean]> = [
  [
    "a type of http",
    "dashboard/src/HttpType.ts",
    'import type { value } from "../../src/http/A.ts"\nexport type Other = typeof value\n',
    true
  ],
  ["a value of http", "dashboard/src/HttpValue.ts", importing("../../src/http/A.ts"), false],
  ["a value of domain", "dashboard/src/DomainValue.ts", importing("../../src/domain/A.ts"), false],
  [
    "a type of services",
    "dashboard/src/ServiceType.ts",
    'import type { value } from "../../src/services/A.ts"\nexport type Other = typeof value\n',
    false
  ]
]

const files: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    strata.flatMap((to) => [`src/${to}/A.ts`, `src/${to}/noun/part/A.ts`].map((path) => [path, value]))
  ),
  ...Object.fromEntries(pairs.map(({ path, to }) => [path, importing(`../../../${to}/noun/part/A.ts`)])),
  ...Object.fromEntries(dashboard.map(([, path, text]) => [path, text])),
  "src/main.ts": value,
  "src/services/noun/Back.ts": importing("../../main.ts"),
  "src/domain/circle/A.ts": 'import { type B } from "./B.ts"\nexport interface A {\n  readonly b: B\n}\n',
  "src/domain/circle/B.ts": 'import { type C } from "../other/C.ts"\nexport interface B {\n  readonly c: C\n}\n',
  "src/domain/other/C.ts": 'import { type A } from "../circle/A.ts"\nexport interface C {\n  readonly a: A\n}\n'
}

/** What the linter reports about these files, under the project's configuration. */
let lines: ReadonlyArray<string>
beforeAll(async () => {
  const work = await mkdtemp(join(tmpdir(), "svc-lint-"))
  // Beside the files: its patterns are relative to where it stands.
  await cp(join(root, ".oxlintrc.json"), join(work, ".oxlintrc.json"))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(work, path)), { recursive: true })
    await writeFile(join(work, path), content)
  }
  const oxlint = join(root, "node_modules/oxlint/bin/oxlint")
  const options = ["--config", ".oxlintrc.json", "--format", "unix", "."]
  const output = await new Promise<string>((done) =>
    execFile(process.execPath, [oxlint, ...options], { cwd: work }, (_failure, stdout, stderr) => done(stdout + stderr))
  )
  lines = output.split("\n")
  await rm(work, { recursive: true, force: true })
})
const refusals = (path: string, rule = "no-restricted-imports") =>
  lines.filter((line) => line.startsWith(`${path}:`) && line.includes(rule))

describe("imports between the strata, two folders deep", () => {
  for (const { from, may, path, to } of pairs) {
    it(`${from} ${may ? "may" : "must not"} import ${to}`, () => {
      assert.lengthOf(refusals(path), may ? 0 : 1, lines.join("\n"))
    })
  }

  it.each(dashboard)("the dashboard and %s", (_, path, _text, may) => {
    assert.lengthOf(refusals(path), may ? 0 : 1, lines.join("\n"))
  })

  it("must not lead back to main.ts", () => {
    assert.lengthOf(refusals("src/services/noun/Back.ts"), 1)
  })
})

describe("import cycles", () => {
  it("are refused, also of types, and through a third file", () => {
    assert.isNotEmpty(refusals("src/domain/circle/A.ts", "no-cycle"))
  })
})
