import { execFile, spawnSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Page } from "playwright-core"
import { assert, beforeAll, describe, inject, it } from "vitest"
import { hs256 } from "../support/access/jwts.ts"
import { sql } from "../support/client.ts"
import { type Address, root, startService } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const service = inject("service")
checkPages()
const table = `api_orders_${process.pid}`
const customer = `api_customers_${process.pid}`
const add = `api_add_${process.pid}`
beforeAll(async () => {
  for (const text of [
    `create table ${customer} (id int generated always as identity primary key, name text not null)`,
    `create table ${table} (id bigint primary key default 9007199254740993, customer_id int not null references ${customer},
       "or" boolean not null, total numeric(10,2) not null, note text)`,
    `insert into ${customer} (name) values ('Ann')`,
    `insert into ${table} values (9007199254740994, 1, true, 1.10, 'it''s one'), (2, 1, false, 2, 'two')`,
    `create function ${add}(a int, b int, c int default 0) returns int language sql immutable as 'select a + b + c'`
  ]) {
    await sql(service, text)
  }
})

const execute = promisify(execFile)
const envOf = ({ anon, jwtSecret, service_role }: Address) => ({
  PATH: process.env["PATH"] ?? "",
  SERVICE_KEY: service_role,
  ANON_KEY: anon,
  USER_TOKEN: hs256(
    JSON.stringify({ role: "authenticated", sub: "u1", exp: Math.floor(Date.now() / 1000) + 600 }),
    undefined,
    jwtSecret
  )
})
const packages = process.env["SVC_TEST_PYTHON"]
const hasGo = spawnSync("go", ["version"]).status === 0

const run = async (client: string, snippet: string, on: Address = service) => {
  const env = { ...envOf(on), PYTHONPATH: packages ?? "", HOME: homedir() }
  const started = async (program: string, ...args: ReadonlyArray<string>) =>
    (await execute(program, args, { env, cwd: root })).stdout
  if (client === "curl") return started("bash", "-c", snippet)
  if (client === "python") return started("python3", "-c", snippet)
  if (client !== "go") return started(process.execPath, "--no-warnings", "--input-type=module", "--eval", snippet)
  const directory = await mkdtemp(join(tmpdir(), "svc-go-"))
  try {
    await writeFile(join(directory, "main.go"), snippet)
    return await started("go", "run", join(directory, "main.go"))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
const snippets = async (page: Page) => {
  const found = new Map<string, string>()
  for (const card of await page.locator(".call").all()) {
    const title = (await card.getByRole("heading").textContent()) ?? ""
    found.set(title, (await card.locator("pre").first().textContent()) ?? "")
  }
  return found
}
const rows = () => sql(service, `select id::text, note from ${table} order by id`)

const everyone = ["anon", "user", "service_role"]

describe.each([
  { client: "curl", callers: everyone },
  { client: "fetch", callers: everyone },
  { client: "postgrest", callers: everyone },
  { client: "python", callers: ["user"] },
  { client: "go", callers: ["user"] }
])("as $client", { timeout: 120_000 }, ({ callers, client }) => {
  const runs =
    client === "go" ? hasGo : client !== "python" || packages !== undefined || process.env["CI"] !== undefined
  it.runIf(runs).each(callers)("each request of a table runs as it is, as %s", async (caller) => {
    await sql(service, `delete from ${table} where id = 9007199254740993`)
    await sql(service, `update ${table} set note = 'two' where id = 2`)
    const page = await openPage()
    await page.goto(at(`/api/public/${table}?client=${client}&caller=${caller}`))
    await page.getByRole("heading", { name: "Delete" }).waitFor()
    const found = await snippets(page)
    assert.deepStrictEqual(
      [...found.keys()],
      ["Read rows", "Choose columns, follow a reference, filter", "Read one row", "Insert", "Update", "Delete"]
    )
    const text = [...found.values()].join("\n")
    for (const secret of [service.service_role, service.anon]) assert.notInclude(text, secret)
    const out = new Map<string, string>()
    const go = async (title: string) => out.set(title, await run(client, found.get(title) ?? ""))
    await go("Read rows")
    assert.include(out.get("Read rows"), "two")
    await go("Choose columns, follow a reference, filter")
    assert.include(out.get("Choose columns, follow a reference, filter"), "Ann")
    await go("Read one row")
    const before = await rows()
    await go("Insert")
    const inserted = await rows()
    assert.lengthOf(inserted, before.length + 1, out.get("Insert"))
    await go("Update")
    const updated = await rows()
    assert.include(
      updated.map(({ note }) => note),
      "example",
      out.get("Update")
    )
    await go("Delete")
    const left = await rows()
    assert.lengthOf(left, before.length, out.get("Delete"))
    await sql(
      service,
      `insert into ${table} values (9007199254740994, 1, true, 1.10, 'it''s one') on conflict do nothing`
    )
    await sql(service, `insert into ${table} values (2, 1, false, 2, 'two') on conflict do nothing`)
  })

  it.runIf(runs)("a function is called with its arguments by name", async () => {
    const page = await openPage()
    await page.goto(at(`/api/rpc/public/${add}?client=${client}&caller=service_role`))
    await page.getByRole("heading", { name: "Call" }).waitFor()
    assert.include(await run(client, (await snippets(page)).get("Call") ?? ""), "2")
  })
})

it("names that mean something to a shell, a URL or the grammar are names only, and a header names another schema", async () => {
  const odd = await startService({ env: { SVC_DB_SCHEMAS: "public,shop" } })
  try {
    const name = `it's $(exit 3) "a&b" \`id\` ü`
    // postgrest-js drops spaces behind a quote within a name.
    const column = `or ',' \\ $HOME`
    await sql(odd, "create schema shop")
    const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
    await sql(odd, `create table shop.${quote(name)} (${quote(column)} text primary key, note text)`)
    await sql(odd, `insert into shop.${quote(name)} values ('it''s & "1" \\ $(exit 3)', 'found')`)
    const page = await openPage({ on: odd })
    for (const client of ["curl", "fetch", "postgrest", ...(packages === undefined ? [] : ["python"])]) {
      await page.goto(at(`/api/shop/${encodeURIComponent(name)}?client=${client}&caller=service_role`, odd))
      await page.getByText("is not the default one").waitFor()
      const found = await snippets(page)
      for (const title of ["Read rows", "Choose columns and filter", "Read one row"]) {
        assert.include(await run(client, found.get(title) ?? "", odd), "found", `${client}: ${title}`)
      }
      const changed = await run(client, found.get("Update") ?? "", odd)
      assert.include(changed, "example", `${client}: Update`)
      await sql(odd, `update shop.${quote(name)} set note = 'found'`)
    }
  } finally {
    await odd[Symbol.asyncDispose]()
  }
})

it("everything that has an address is found, a read is tried, and the choice is the address", async () => {
  const page = await openPage()
  await page.goto(at("/api"))
  assert.strictEqual(await page.getByRole("link", { name: "All endpoints" }).getAttribute("href"), "/docs")
  await page.getByRole("searchbox", { name: "Search" }).fill(String(process.pid))
  await page.getByRole("row", { name: new RegExp(`${add} function`) }).waitFor()
  await page.getByRole("link", { name: table }).click()
  const card = page.getByRole("region", { name: "Read rows" })
  await card.getByRole("button", { name: "Try" }).click()
  // Numbers keep their digits.
  await card.getByLabel("Response").getByText("9007199254740994").waitFor()
  await card.getByText(/"total": 1\.10/).waitFor()
  await page.getByRole("button", { name: "fetch" }).click()
  await page.getByRole("button", { name: "service_role key" }).click()
  await page.getByText("use it on servers only").waitFor()
  await page.reload()
  await card.getByText("process.env.SERVICE_KEY").waitFor()
  await page.getByRole("link", { name: "Rows" }).click()
  await page.waitForURL(new RegExp(`/tables/public/${table}`))
})

it("a table that does not exist is said", async () => {
  const page = await openPage()
  await page.goto(at("/api/public/nowhere"))
  await page.getByText("There is no public.nowhere").waitFor()
})
