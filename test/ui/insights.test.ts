import { type Page } from "playwright-core"
import { assert, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()

interface Named {
  readonly name: string
}

/** Shows nothing of the tables that other files of the run have, and must not change. */
const onlyAbout = async (page: Page, tables: ReadonlyArray<string>, more: ReadonlyArray<object> = []) => {
  const mine = ({ name }: Named) => tables.includes(name)
  await page.route("**/api/insights", async (route) => {
    const response = await route.fetch()
    const report = (await response.json()) as { readonly findings: ReadonlyArray<{ readonly object: Named }> }
    const findings = [...report.findings.filter(({ object }) => mine(object)), ...more]
    await route.fulfill({ response, json: { ...report, findings } })
  })
  await page.route("**/v1/database/schema*", async (route) => {
    const response = await route.fetch()
    const schema = (await response.json()) as { readonly tables: ReadonlyArray<Named> }
    await route.fulfill({ response, json: { ...schema, tables: schema.tables.filter(mine) } })
  })
}

it("a finding's fix is opened in the workbench, run there, and the finding is gone", async () => {
  const table = `a_lonely_${process.pid}`
  await sql(service, `create table ${table} (id int primary key)`)
  const page = await openPage()
  await onlyAbout(page, [table])
  await page.goto(at("/sql"))
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.insertText("select 'kept'")
  await page.goto(at("/insights"))
  const section = page.getByRole("region", { name: "Tables open to anon keys" })
  const item = section.getByRole("listitem", { name: table })
  await item.getByText("critical").waitFor()
  await item.getByRole("button", { name: "Open in the workbench" }).click()
  await page.waitForURL(/\/sql$/)
  await page.getByRole("tab", { name: "Tables open to anon keys" }).waitFor()
  const editor = page.getByRole("textbox", { name: "SQL statement" })
  assert.strictEqual(await editor.textContent(), `alter table public.${table} enable row level security;`)
  await page.getByLabel("Allow writes").click()
  await page.getByRole("dialog").getByRole("button", { name: "Allow writes" }).click()
  await page.getByRole("button", { name: "Run" }).click()
  await page.getByRole("heading", { name: "ALTER TABLE" }).waitFor()
  await page.getByRole("tab", { name: "Query 1" }).click()
  await page.getByText("select 'kept'").waitFor()

  await page.goto(at("/insights"))
  await page.getByRole("button", { name: "Check again" }).waitFor()
  await page.getByText("Checked", { exact: true }).waitFor()
  await assertCount(item, 0)
  assert.notInclude((await ask(service, "GET /api/insights", { key: service.service_role })).text, table)
})

it("a database without findings is well, and says what was not checked", async () => {
  const { json } = await ask(service, "GET /api/insights", { key: service.service_role })
  const page = await openPage()
  await page.route("**/api/insights", (route) => route.fulfill({ json: { ...(json as object), findings: [] } }))
  await page.goto(at("/insights"))
  await page.getByRole("heading", { name: "All is well" }).waitFor()
  const missing = page.getByRole("listitem", { name: "Slow statements" })
  await missing.getByText("alter system set shared_preload_libraries = 'pg_stat_statements'").waitFor()
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
  await missing.getByRole("button", { name: "Copy SQL" }).click()
  await page.getByText("SQL copied").waitFor()
})

it("a failure says so, and is tried again", async () => {
  const page = await openPage()
  let fails = true
  await page.route("**/api/insights", (route) =>
    fails
      ? route.fulfill({
          status: 403,
          json: { error: "Not for you", code: "FORBIDDEN", details: null, hint: null, request_id: "1" }
        })
      : route.continue()
  )
  await page.goto(at("/insights"))
  await page.getByRole("heading", { name: "The database could not be checked" }).waitFor()
  fails = false
  await page.getByRole("button", { name: "Try again" }).click()
  await page.getByRole("region", { name: "Not checked" }).waitFor()
})

it("many open tables are one card, and one press closes them all", async () => {
  const names = Array.from({ length: 25 }, (_, at) => `open_${process.pid}_${at}`)
  for (const name of names) await sql(service, `create table ${name} (id int primary key)`)
  await sql(service, `create policy readable on ${names[0]} for select using (true)`)
  const page = await openPage()
  await onlyAbout(page, names)
  await page.goto(at("/insights"))
  const section = page.getByRole("region", { name: "Tables open to anon keys" })
  await section.getByRole("list", { name: "Open tables" }).getByRole("link").nth(19).waitFor()
  await assertCount(section.getByRole("listitem"), 20)
  await section.getByRole("button", { name: "Show 25" }).click()
  await assertCount(section.getByRole("listitem"), 25)
  await section.getByRole("button", { name: "Close 25 tables…" }).click()
  const dialog = page.getByRole("dialog", { name: "Turn on row-level security for 25 tables?" })
  await dialog.getByText("24 tables of these have no policy").waitFor()
  await assertAccessible(page, "open tables that are closed")
  await dialog.getByRole("button", { name: "Turn on" }).click()
  await page.getByText("Row-level security is on for 25 tables").waitFor()
  await assertCount(section, 0)
  const open = await sql(service, "select from pg_class where relname = any ($1) and not relrowsecurity", [names])
  assert.isEmpty(open)
  for (const name of names) await sql(service, `drop table ${name}`)
})

it("a slow statement gets an index that one press creates, and is never executed", async () => {
  const table = `slow_${process.pid}`
  await sql(service, `create table ${table} (id int primary key, customer int not null, note text)`)
  await sql(service, `insert into ${table} select i, i % 4000, 'n' || i from generate_series(1, 40000) i`)
  await sql(service, `alter table ${table} enable row level security`)
  await sql(service, `analyze ${table}`)
  const slow = (statement: string, name: string) => ({
    kind: "slow_statement",
    severity: "warning",
    object: { type: "statement", schema: null, name, table: null },
    explanation: "It takes 300 ms on average.",
    fix: null,
    details: { statement }
  })
  const page = await openPage()
  await onlyAbout(
    page,
    [table],
    [
      slow(`delete from public.${table} where customer = $1`, "1"),
      slow(`select note from public.${table} where id = $1`, "2"),
      slow(`insert into public.${table} values ($1)`, "3")
    ]
  )
  await page.goto(at("/insights"))
  const card = (name: string) => page.getByRole("listitem", { name: `Statement ${name}` })
  for (const name of ["1", "2", "3"]) await card(name).getByRole("button", { name: "Look for an index" }).click()
  await card("1").getByText(`create index concurrently on "public"."${table}" ("customer")`).waitFor()
  await card("1").getByText("by an index that was built and taken back").waitFor()
  await card("2").getByText("No index would make it much cheaper").waitFor()
  await card("3")
    .getByText(/only one SELECT, UPDATE or DELETE can/)
    .waitFor()
  await assertAccessible(page, "advice on statements")
  await card("1").getByRole("button", { name: "Create index" }).click()
  await card("1").getByText("created", { exact: true }).waitFor()
  assert.lengthOf(await sql(service, "select from pg_index where indrelid = $1::regclass and indisvalid", [table]), 2)
  assert.deepStrictEqual(await sql(service, `select count(*)::int as n from ${table}`), [{ n: 40_000 }])
  await sql(service, `drop table ${table}`)
})
