import { assert, beforeAll, inject, it } from "vitest"
import { hs256 } from "../support/access/jwts.ts"
import { ask, sql } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const service = inject("service")
checkPages()
const table = `doc_${process.pid}`
const team = `team_${process.pid}`
beforeAll(async () => {
  await sql(service, `create table ${team} (id int primary key, name text not null, check (id > 0))`)
  await sql(
    service,
    `create table ${table} (id int generated always as identity primary key, owner text not null, team_id int references ${team} on delete cascade)`
  )
  await sql(service, `insert into ${table} (owner) select 'user-' || (i % 10) from generate_series(1, 100) i`)
})

it("own rows by a template: turned on, tested as a user and as anon, dropped again", async () => {
  const page = await openPage()
  await page.goto(at("/policies"))
  const row = page.getByRole("row", { name: new RegExp(`${table}.*open to anon keys`) })
  await row.getByRole("link", { name: table }).click()
  await page.getByText("Row-level security is off").waitFor()
  await page.getByRole("button", { name: "Turn on…" }).click()
  await page.getByText(`alter table "public"."${table}" enable row level security`).waitFor()
  await page.getByRole("button", { name: "Turn on", exact: true }).click()
  await page.getByRole("heading", { name: "Row-level security is on" }).waitFor()

  await page.getByRole("button", { name: "Add policy" }).click()
  const form = page.getByRole("dialog", { name: `Add a policy to ${table}` })
  await form.getByRole("button", { name: /^Own rows/ }).click()
  await form.getByLabel("Rows that it applies to (using)").fill("no_such_column = 1")
  await form.getByRole("button", { name: "Add policy" }).click()
  await form
    .getByRole("alert")
    .getByText(/no_such_column/)
    .waitFor()
  await form.getByRole("button", { name: /^Own rows/ }).click()
  await form.getByRole("button", { name: "Add policy" }).click()
  await page.getByRole("row", { name: new RegExp(`own ${table}.*ALL.*authenticated`) }).waitFor()

  const test = async (role: "authenticated" | "anon", sub: string) => {
    await page.getByLabel("Caller", { exact: true }).selectOption(role)
    if (role === "authenticated") await page.getByLabel("User (claim sub)").fill(sub)
    const answer = page.waitForResponse((response) => response.url().endsWith("/v1/sql"))
    await page.getByRole("button", { name: "Test", exact: true }).click()
    await answer
    return page.getByRole("table", { name: "What this caller may do" })
  }
  await (await test("authenticated", "user-3")).getByRole("row", { name: /read 10 of 100/ }).waitFor()
  await page.getByRole("row", { name: new RegExp(`delete 10 of 100 own ${table}`) }).waitFor()
  await (await test("anon", "")).getByRole("row", { name: /read 0 of 100 none/ }).waitFor()
  // The API agrees with the page.
  const exp = Math.floor(Date.now() / 1000) + 60
  const token = hs256(JSON.stringify({ sub: "user-3", role: "authenticated", exp }), undefined, service.jwtSecret)
  const rows = await ask(service, `GET /v1/db/${table}`, {
    key: service.anon,
    headers: { authorization: `Bearer ${token}` }
  })
  assert.lengthOf(rows.json as ReadonlyArray<unknown>, 10, rows.text)

  await page.getByRole("button", { name: "Drop", exact: true }).click()
  await page.getByLabel(`Type own ${table} to confirm`).fill(`own ${table}`)
  await page.getByRole("button", { name: "Drop policy" }).click()
  await page.getByRole("heading", { name: "No policies" }).waitFor()
  const left = await sql(service, "select count(*)::int as n from pg_policies where tablename = $1", [table])
  assert.deepStrictEqual(left, [{ n: 0 }])
})

it("the schema lists columns, references, indexes and checks, and the diagram opens a table by Enter", async () => {
  const page = await openPage()
  await page.goto(at(`/schema?find=${process.pid}`))
  const card = page.getByRole("region", { name: table, exact: true })
  await card.getByRole("row", { name: /owner text not null/ }).waitFor()
  await card.getByRole("link", { name: `${team} (id)` }).waitFor()
  await card.getByText("on delete cascade").waitFor()
  await card.getByText(new RegExp(`CREATE UNIQUE INDEX ${table}_pkey`)).waitFor()
  await page.getByRole("region", { name: team, exact: true }).getByText("CHECK ((id > 0))").waitFor()
  await page.getByRole("link", { name: "Diagram" }).click()
  const node = page.getByRole("group", { name: new RegExp(`^Table ${table},`) })
  await node.focus()
  await page.keyboard.press("Enter")
  await page.waitForURL(new RegExp(`/tables/public/${table}$`))
  await page.goBack()
  await node.dblclick()
  await page.waitForURL(new RegExp(`/tables/public/${table}$`))
})

it("the types of the schema are downloaded", async () => {
  const page = await openPage()
  await page.goto(at("/schema"))
  const download = page.waitForEvent("download")
  await page.getByRole("button", { name: "types.ts" }).click()
  assert.strictEqual((await download).suggestedFilename(), "types.ts")
})
