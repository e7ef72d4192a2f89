import { type Page } from "playwright-core"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { branchSql, makeBranch } from "../support/branches/branches.ts"
import { sql } from "../support/client.ts"
import { type Service, startService } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertKeyboard } from "../support/ui/keyboard.ts"
import { checkStates, type States } from "../support/ui/states.ts"

checkPages()
let service: Service
let branch: number
/** Whose schema was changed. */
let changed: number
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "migrations-"))
  service = await startService({ env: { MIGRATIONS_DIR: directory } })
  await sql(service, "create table orders (id int primary key, customer text, total numeric(10, 2), note text)")
  await sql(service, "create table sizes (name text)")
  await sql(service, "insert into orders select i, 'customer ' || i, i * 10, null from generate_series(1, 40) i")
  branch = (await makeBranch(service, "before the mistake")).id
  await sql(service, "delete from orders where id in (3, 4, 5)")
  await sql(service, "update orders set total = 0 where id between 10 and 12")
  await sql(service, "insert into orders values (100, 'late', 1, 'only here')")
  await branchSql(service, branch, "update orders set note = repeat('long ', 600) where id = 12")
  changed = (await makeBranch(service, "New schema!")).id
  await branchSql(service, changed, "alter table sizes add column width int not null default 1")
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const orders = (where: string) => sql(service, `select id, total::text from orders where ${where} order by id`)
const copyButton = (page: Page) => page.getByRole("button", { name: "Copy to main…" })

it("tables are counted when it is asked for, and a table's rows are shown side by side", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/branches", service))
  await page
    .getByRole("row", { name: /before the mistake/ })
    .getByRole("link", { name: "Compare with main" })
    .click()
  await page.getByRole("heading", { name: "Compare before the mistake with main" }).waitFor()
  const row = page.getByRole("row", { name: /orders/ })
  await page.getByText("The table public.sizes has no primary key").waitFor()
  await row.getByRole("button", { name: "Count the differences of orders" }).click()
  await row.getByText("3 only in the branch").waitFor()
  await row.getByText("3 changed").waitFor()
  await row.getByText("1 only in main").waitFor()
  await assertAccessible(page, "the tables of a comparison")
  await row.getByRole("link", { name: "orders" }).click()
  const rows = page.getByRole("region", { name: "Differences" })
  await rows.getByRole("cell", { name: "differs: 100.00" }).waitFor()
  await rows.getByRole("cell", { name: "differs: 0.00" }).first().waitFor()
  await page.getByRole("button", { name: "Only in the branch 3" }).click()
  await rows.getByText("customer 4").waitFor()
  await rows.getByText("customer 10").waitFor({ state: "detached" })
  await assertAccessible(page, "the rows of a comparison")
})

it("chosen rows are copied after a trial, by the keyboard too; rows only in main are kept unless it is allowed", async () => {
  const page = await openPage({ on: service })
  await page.goto(at(`/branches/${branch}/compare?schema=public&table=orders`, service))
  await page.getByRole("checkbox", { name: "Copy row 10", exact: true }).focus()
  await page.keyboard.press("Space")
  await page.getByText("1 row chosen").waitFor()
  assert.isTrue(await page.getByRole("checkbox", { name: "Delete row 100" }).isDisabled())
  await page.getByRole("button", { name: "All 3 only in the branch" }).click()
  await page.getByText("4 rows chosen").waitFor()
  await copyButton(page).focus()
  await page.keyboard.press("Enter")
  const dialog = page.getByRole("dialog", { name: "Copy rows of orders into main?" })
  await dialog.getByText("insert 3 rows").waitFor()
  await dialog.getByText(/change 1 row/).waitFor()
  await assertAccessible(page, "what a copy will do")
  assert.strictEqual((await orders("id in (3, 4, 5)")).length, 0)
  await dialog.getByRole("button", { name: "Copy rows" }).click()
  const done = page.getByRole("dialog", { name: "The rows are in main" })
  await done.getByText("inserted 3 rows").waitFor()
  await done.getByRole("button", { name: "Done" }).click()
  await page.getByRole("button", { name: "Only in the branch 0" }).waitFor()
  assert.deepStrictEqual(await orders("id in (3, 4, 5, 10, 11)"), [
    { id: 3, total: "30.00" },
    { id: 4, total: "40.00" },
    { id: 5, total: "50.00" },
    { id: 10, total: "100.00" },
    { id: 11, total: "0.00" }
  ])
})

it("a row of main that changes after the comparison is refused, and one only in main can be deleted", async () => {
  const page = await openPage({ on: service })
  await page.goto(at(`/branches/${branch}/compare?schema=public&table=orders`, service))
  await page.getByRole("checkbox", { name: "Copy row 11", exact: true }).check()
  await sql(service, "update orders set total = 7 where id = 11")
  await copyButton(page).click()
  await page.getByRole("dialog").getByText("These rows can't be copied").waitFor()
  await page
    .getByRole("dialog")
    .getByText(/A row of public.orders changed since the comparison/)
    .waitFor()
  assert.strictEqual(await page.getByRole("button", { name: "Copy rows" }).getAttribute("aria-disabled"), "true")
  await page.keyboard.press("Escape")
  await page.getByRole("button", { name: "Compare again" }).click()
  await page.getByRole("cell", { name: "differs: 7.00" }).waitFor()
  await page.getByRole("checkbox", { name: "Copy row 11", exact: true }).uncheck()
  await page.getByRole("checkbox", { name: "Allow deleting rows that are only in main" }).check()
  await page.getByRole("checkbox", { name: "Delete row 100" }).check()
  await copyButton(page).click()
  await page.getByRole("dialog").getByText("delete 1 row of main").waitFor()
  await page.getByRole("button", { name: "Copy and delete rows" }).click()
  await page.getByText("deleted 1 row of main").waitFor()
  assert.deepStrictEqual(await orders("id = 100"), [])
})

describe("changes of the schema", () => {
  it("are reviewed, edited, saved as a migration, and run on main", async () => {
    const page = await openPage({ on: service })
    await page.goto(at("/branches", service))
    await page
      .getByRole("row", { name: /New schema!/ })
      .getByRole("link", { name: "Changes of the schema" })
      .click()
    await page.getByText("1 statement", { exact: true }).waitFor()
    await page.getByText("no value is deleted").waitFor()
    const text = page.getByRole("textbox", { name: "Migration" })
    await text.fill(`${await text.inputValue()}\ncomment on table public.sizes is 'of shirts';\n`)
    await page.getByRole("button", { name: "Discard edits" }).waitFor()
    const downloaded = page.waitForEvent("download")
    await page.getByRole("button", { name: "Download" }).click()
    const file = await downloaded
    assert.strictEqual(file.suggestedFilename(), "new_schema.sql")
    assert.match(await readFile(await file.path(), "utf8"), /ADD COLUMN "width" integer[\s\S]*of shirts/)

    // Main changes meanwhile, so the difference is another one.
    await sql(service, "create table meanwhile (id int primary key)")
    await page.getByRole("button", { name: "Run on main" }).click()
    const dialog = page.getByRole("dialog", { name: "Run the migration on main?" })
    await dialog.getByLabel("Name").fill("no name")
    await dialog.getByRole("button", { name: "Run on main" }).click()
    await dialog.getByText("Letters, digits").waitFor()
    await dialog.getByLabel("Name").fill("sizes")
    await dialog.getByRole("button", { name: "Run on main" }).click()
    await dialog.getByText(/schema changed since it was compared/).waitFor()
    assert.deepStrictEqual(await readdir(directory), [])
    await sql(service, "drop table meanwhile")
    await dialog.getByRole("button", { name: "Run on main" }).click()
    await page.getByText("1 migration run on main").waitFor()
    const [name = ""] = await readdir(directory)
    assert.match(name, /^\d{14}_sizes[.]sql$/)
    const [{ comment } = {}] = await sql(service, "select obj_description('sizes'::regclass) as comment")
    assert.strictEqual(comment, "of shirts")
    // The branch lacks the comment.
    await page.getByRole("button", { name: "The branch gets main's schema" }).click()
    await page.getByText(/^COMMENT ON TABLE "public"."sizes"/).waitFor()
  })

  it("that delete values need a word, and are marked", async () => {
    await branchSql(service, changed, "alter table orders drop column note")
    await branchSql(service, changed, "comment on table sizes is 'of shirts'")
    const page = await openPage({ on: service })
    await page.goto(at(`/branches/${changed}/schema`, service))
    await page.getByText("deletes values", { exact: true }).waitFor()
    await page.getByText("1 statement with data loss").waitFor()
    await page.getByRole("button", { name: "Save as migration" }).click()
    const form = page.getByRole("dialog", { name: "Save as migration" })
    await form.getByRole("button", { name: "Save" }).click()
    await page.getByText(/_new_schema saved/).waitFor()
    await page.getByRole("button", { name: "Run on main" }).click()
    const dialog = page.getByRole("dialog", { name: "Run the migration on main, and delete values?" })
    assert.isTrue(await dialog.getByRole("button", { name: "Run and delete" }).isDisabled())
    await assertAccessible(page, "the question before values are deleted")
    await dialog.getByLabel("Type main to confirm").fill("main")
    await dialog.getByRole("button", { name: "Run and delete" }).click()
    await dialog.getByText(/Migrations are pending, which come before a new one/).waitFor()
    const columns = await sql(
      service,
      "select from pg_attribute where attrelid = 'orders'::regclass and attname = 'note'"
    )
    assert.lengthOf(columns, 1)
  })

  it("are reached by the keyboard", async () => {
    const page = await openPage({ on: service })
    await states["schema changes"]?.(page)
    await assertKeyboard(page)
  })
})

const states: States = {
  "schema changes": async (page) => {
    await page.goto(at(`/branches/${changed}/schema`, service))
    await page.getByRole("list", { name: "Statements" }).waitFor()
  },
  "schema changes, none": async (page) => {
    await page.goto(at(`/branches/${branch}/schema`, service))
    await page.getByRole("button", { name: "Compare again" }).waitFor()
    await page.getByRole("button", { name: "Compare again" }).click()
    await page.getByRole("list", { name: "Statements" }).or(page.getByText("The schemas are the same")).waitFor()
  },
  "schema changes, saved": async (page) => {
    await states["schema changes"]?.(page)
    await page.getByRole("button", { name: "Save as migration" }).click()
    await page.getByRole("dialog").waitFor()
  }
}

checkStates(states, { on: () => service })
