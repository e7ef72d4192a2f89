import { execFile, spawnSync } from "node:child_process"
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, it } from "vitest"
import { sql } from "../../support/client.ts"
import { readGuide } from "../../support/docs/readme.ts"
import { serveInProcess } from "../../support/inProcess.ts"
import { root } from "../../support/service.ts"

const packages = process.env["SVC_TEST_PYTHON"]
const hasGo = spawnSync("go", ["version"]).status === 0

let service: Awaited<ReturnType<typeof serveInProcess>>
let directory: string
/** The programs of the page, by the name in their first line. */
let programs: ReadonlyMap<string, string>
beforeAll(async () => {
  const page = await readGuide("docs/quickstarts.md")
  programs = new Map(
    Array.from(page.matchAll(/```\w+\n((?:\/\/|#) (\S+)\n[^]*?)```/g), ([, text = "", name = ""]) => [name, text])
  )
  service = await serveInProcess({ SVC_SUPABASE: "true" })
  const [, statements = ""] = /```sql\n([^]*?)```/.exec(page) ?? []
  for (const statement of statements.trim().split(";\n")) await sql(service, statement.replace(/;$/, ""))
  directory = await mkdtemp(join(tmpdir(), "svc-quickstarts-"))
  await symlink(join(root, "node_modules"), join(directory, "node_modules"))
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

/** Runs a program of the page as it says. */
const run = async (program: string, args: ReadonlyArray<string>, further: Readonly<Record<string, string>> = {}) => {
  const name = args.at(-1) ?? ""
  await writeFile(join(directory, name), programs.get(name) ?? "")
  const { stdout } = await promisify(execFile)(program, args, {
    cwd: directory,
    env: { PATH: process.env["PATH"], API: service.url, ANON: service.anon, ...further },
    timeout: 200_000
  })
  return stdout.trimEnd().split("\n").at(-1)
}

it("the page has a program for each language", () => {
  assert.deepStrictEqual([...programs.keys()], ["notes.mjs", "notes-fetch.mjs", "notes.py", "notes.go"])
})

it("supabase-js and fetch add a note and read it", async () => {
  assert.strictEqual(await run(process.execPath, ["notes.mjs"]), "Written in JavaScript")
  assert.strictEqual(await run(process.execPath, ["notes-fetch.mjs"]), "Written with fetch")
})

it.skipIf(packages === undefined && process.env["CI"] === undefined)("supabase-py does", async () => {
  assert.strictEqual(await run("python3", ["notes.py"], { PYTHONPATH: packages ?? "" }), "Written in Python")
})

it.skipIf(!hasGo)("Go's standard library does", { timeout: 240_000 }, async () => {
  assert.strictEqual(await run("go", ["run", "notes.go"], { HOME: homedir(), GOFLAGS: "-mod=mod" }), "Written in Go")
})
