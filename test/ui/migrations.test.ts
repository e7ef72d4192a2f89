import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, it } from "vitest"
import { sql } from "../support/client.ts"
import { writeFiles } from "../support/migrations/directory.ts"
import { type Service, startService } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

checkPages()
let service: Service
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "svc-migrations-"))
  service = await startService({ env: { MIGRATIONS_DIR: directory } })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

it("pending files are run in order, a broken one shows its line, and a changed one stops every run", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/migrations", service))
  await page.getByRole("heading", { name: "No migrations" }).waitFor()
  await page.getByText(directory).first().waitFor()
  await assertAccessible(page, "no migrations")

  await writeFiles(directory, {
    "1_books.sql": "create table books (id int primary key);\n",
    "2_broken.sql":
      "create table pages (id int primary key);\n\nalter table pages\n  add column book_id int references nowhere;\n"
  })
  await page.getByRole("button", { name: "Reload" }).click()
  await page.getByRole("row", { name: /1_books pending/ }).waitFor()
  await page.getByRole("link", { name: "1_books" }).click()
  await page.getByLabel("SQL").getByText("create table books (id int primary key);").waitFor()
  await page.getByText("The next run applies it.").waitFor()
  await page.getByRole("link", { name: "All migrations" }).click()

  await page.getByRole("button", { name: "Run 2 pending" }).click()
  const dialog = page.getByRole("dialog", { name: "Run 2 migrations?" })
  assert.deepStrictEqual(await dialog.getByRole("listitem").allTextContents(), ["1_books", "2_broken"])
  await dialog.getByRole("button", { name: "Run" }).click()
  await dialog.getByText(/2_broken\.sql:3: relation "nowhere" does not exist/).waitFor()
  await assertAccessible(page, "a run that stopped")
  await dialog.getByRole("link", { name: "Show line 3 of 2_broken" }).click()
  await page.waitForURL(/\/migrations\/2_broken\?line=3$/)
  assert.include((await page.locator(".marked").textContent()) ?? "", "alter table pages")
  await assertAccessible(page, "a migration with a marked line")

  await writeFile(join(directory, "2_broken.sql"), "create table pages (id int primary key);\n")
  await page.getByRole("link", { name: "Migrations", exact: true }).first().click()
  await page.getByRole("row", { name: /1_books applied/ }).waitFor()
  await page.getByRole("button", { name: "Run 1 pending" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Run" }).click()
  await page.getByText("1 migration applied").waitFor()
  await page.getByRole("row", { name: /2_broken applied/ }).waitFor()
  await assertCount(page.getByRole("button", { name: /^Run/ }), 0)
  assert.lengthOf(await sql(service, "select from pg_class where relname in ('books', 'pages')"), 2)

  await writeFiles(directory, {
    "1_books.sql": "create table books (id bigint primary key);\n",
    "3_more.sql": "select 1"
  })
  await page.getByRole("button", { name: "Reload" }).click()
  await page.getByText(/1 applied migration has changed since/).waitFor()
  await page.getByRole("row", { name: /3_more pending/ }).waitFor()
  await assertCount(page.getByRole("button", { name: /^Run/ }), 0)
  await assertAccessible(page, "a changed migration")
  await page.getByRole("link", { name: "1_books" }).click()
  await page.getByText("SHA-256 of what was applied").waitFor()
})

it("a migration that failed halfway is resolved, and one that the database has is marked, by keyboard", async () => {
  const dir = await mkdtemp(join(tmpdir(), "svc-migrations-"))
  const own = await startService({ env: { MIGRATIONS_DIR: dir } })
  try {
    await writeFiles(dir, {
      "1_have.sql": "create table have_it ();\n",
      "2_half.sql": "create table half_it ();\ncommit;\nselect nope;\n",
      "3_rest.sql": "create table rest_it ();\n"
    })
    await sql(own, "create table have_it ()")
    const page = await openPage({ on: own })
    const press = async (name: string) => {
      await page.getByRole("button", { name, exact: true }).last().focus()
      await page.keyboard.press("Enter")
    }
    await page.goto(at("/migrations/1_have", own))
    await press("The database has it already")
    await page.getByRole("dialog", { name: "Mark 1 migration as applied?" }).waitFor()
    await assertAccessible(page, "a baseline")
    await press("Mark as applied")
    await page.getByText("1 migration marked as applied").waitFor()
    await page.getByText("It was applied, and the file is unchanged.").waitFor()
    assert.lengthOf(await sql(own, "select from pg_class where relname = 'half_it'"), 0)

    await page.getByRole("link", { name: "All migrations" }).click()
    await press("Run 2 pending")
    await press("Run")
    await page
      .getByRole("dialog")
      .getByText(/2_half\.sql:3: column "nope" does not exist/)
      .waitFor()
    await press("Cancel")
    await page.getByText("1 migration did not finish", { exact: false }).waitFor()
    await assertAccessible(page, "migrations of which one failed")
    await page.getByRole("link", { name: "2_half" }).click()
    await page.getByText(/It failed, and its first 2 statements are applied/).waitFor()
    await assertAccessible(page, "a migration that failed")
    await press("Mark as rolled back")
    await page.getByRole("dialog", { name: "Is all of 2_half undone?" }).waitFor()
    await page.keyboard.press("Escape")
    await press("Mark as applied")
    await page.getByRole("dialog", { name: "Is all of 2_half applied?" }).waitFor()
    await assertAccessible(page, "a resolution")
    await press("Mark as applied")
    await page.getByText("2_half is marked as applied").waitFor()
    await page.getByText("It was applied, and the file is unchanged.").waitFor()
    assert.lengthOf(await sql(own, "select from svc.migration_attempts"), 0)
  } finally {
    await own[Symbol.asyncDispose]()
    await rm(dir, { recursive: true, force: true })
  }
})

it("the history of another tool is shown, and not written", async () => {
  const knex = await startService({ env: { MIGRATIONS_DIR: directory } })
  try {
    await sql(knex, "create table knex_migrations (id int, name text, batch int, migration_time timestamptz)")
    const page = await openPage({ on: knex })
    await page.goto(at("/migrations", knex))
    await page.getByText(/has the history of knex/i).waitFor()
    await assertCount(page.getByRole("button", { name: /^Run/ }), 0)
  } finally {
    await knex[Symbol.asyncDispose]()
  }
})

it("a migration that does not exist is said", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/migrations/nowhere", service))
  await page.getByText("No such migration").waitFor()
})
