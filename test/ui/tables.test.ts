import { type Page } from "playwright-core"
import { assert, describe, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { makeShop } from "../support/ui/tables.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()

/** The grid, filled. */
const openTable = async (table: string, query = ""): Promise<Page> => {
  const page = await openPage()
  await page.goto(at(`/tables/public/${table}${query}`))
  await page.getByRole("gridcell").first().waitFor()
  return page
}
const press = async (page: Page, ...keys: ReadonlyArray<string>) => {
  for (const key of keys) await page.keyboard.press(key)
}
/** Focuses the grid on a cell of the first rows. */
const goTo = async (page: Page, row: number, column: number) => {
  await page.getByRole("grid").focus()
  await press(page, "Control+Home", ...Array.from({ length: row }, () => "ArrowDown"))
  await press(page, ...Array.from({ length: column }, () => "ArrowRight"))
}
const activeText = (page: Page) => page.locator("#active-cell").textContent()
const review = async (page: Page) => {
  await press(page, "Control+s")
  await page.getByRole("dialog", { name: "Review changes" }).getByRole("button", { name: "Save" }).click()
}

describe("reading", () => {
  it("shows labels of references, exact numbers, NULL, and the whole of a table", async () => {
    const { order } = await makeShop(250)
    await sql(service, `update ${order} set total = 12345678901234567.10 where id = 1`)
    const page = await openTable(order)
    await page
      .getByRole("gridcell", { name: /2\s*Customer 2\b/ })
      .first()
      .waitFor()
    await page.getByText("12345678901234567.10").waitFor()
    await page.getByText("250 rows").waitFor()
    await goTo(page, 0, 0)
    await press(page, "Control+ArrowDown")
    await page.waitForFunction(() => document.querySelector("#active-cell")?.textContent === "250")
  })

  it("filters and sorts by the address, which can be loaded again", async () => {
    const { order } = await makeShop()
    const page = await openTable(order)
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Column")
    await page.getByLabel("Column", { exact: true }).selectOption("status")
    await page.getByLabel("Value").selectOption("paid")
    await page.getByRole("button", { name: "Apply" }).click()
    await page.waitForURL(/\?status=eq\.paid$/)
    await page.getByText("84 rows").waitFor()
    await page.getByRole("columnheader", { name: /^total/ }).click()
    await page.waitForURL(/order=total\.asc/)
    await page.getByRole("columnheader", { name: /^total/ }).click()
    await page.waitForURL(/order=total\.desc/)
    await page.reload()
    await page.getByText("84 rows").waitFor()
    await assertCount(page.locator("[aria-sort=descending]"), 1)
    await goTo(page, 0, 0)
    assert.strictEqual(await activeText(page), "250")
    await page.getByRole("button", { name: /^Remove filter/ }).click()
    await page.getByText("250 rows").waitFor()
    await page.goBack()
    await page.getByText("84 rows").waitFor()
  })

  it("reads every row once, in an order by a column with NULLs, forwards and backwards", async () => {
    const { order } = await makeShop(520)
    for (const direction of ["asc", "desc"]) {
      const page = await openTable(order, `?order=note.${direction}`)
      const seen = new Set<string>()
      const collect = async () => {
        for (const text of await page.locator('[role="row"] [aria-colindex="2"]').allTextContents()) seen.add(text)
      }
      for (let at = 0; at <= 520; at += 18) {
        await page.getByRole("grid").evaluate((grid, top) => (grid.scrollTop = top), at * 32)
        // Near the end of the view, which the rows of the view before do not reach. The head is row 1.
        await page.waitForFunction(
          (row) =>
            document.querySelector(`[aria-rowindex="${row}"]`) !== null && document.querySelector(".row .bar") === null,
          Math.min(at + 20, 521)
        )
        await collect()
      }
      assert.strictEqual(Array.from(seen).filter((text) => /^\d+$/.test(text)).length, 520, direction)
      const first = direction === "asc" ? "Ring twice" : "NULL"
      await goTo(page, 0, 4)
      assert.strictEqual(await activeText(page), first)
    }
  })

  it("opens a row, what refers to it, and follows both", async () => {
    const { customer, order } = await makeShop()
    const page = await openTable(customer)
    await goTo(page, 1, 0)
    await press(page, " ")
    const panel = page.getByRole("complementary", { name: "Row 2" })
    await panel
      .getByText("8", { exact: true })
      .or(panel.getByText("9", { exact: true }))
      .waitFor()
    await panel.getByRole("link", { name: new RegExp(order) }).click()
    await page.waitForURL(new RegExp(`${order}\\?customer_id=eq\\.2`))
    await page
      .getByRole("button", { name: `Open ${customer} 2` })
      .first()
      .click({ force: true })
    await page.waitForURL(new RegExp(`${customer}\\?id=eq\\.2`))
  })

  it("shows what is wrong with a filter, and what to do", async () => {
    const { order } = await makeShop(1)
    const page = await openPage()
    await page.goto(at(`/tables/public/${order}?total=gt.abc`))
    await page.getByRole("alert").getByText("invalid input syntax for type numeric").waitFor()
    await page.goto(at(`/tables/public/${order}?id=eq.99`))
    await page.getByText("No row matches").waitFor()
    await page.getByRole("button", { name: "Clear filters" }).click()
    await page.getByText("1 row", { exact: true }).waitFor()
  })
})

describe("editing", () => {
  it("stages cells by keyboard, reviews and saves them in one transaction", async () => {
    const { order } = await makeShop()
    const page = await openTable(order)
    await goTo(page, 0, 4)
    await page.keyboard.type("Call first")
    await press(page, "Enter")
    await press(page, "Enter")
    await page.keyboard.type("Second")
    await press(page, "Enter")
    await goTo(page, 0, 1)
    await press(page, "Enter")
    await page.getByRole("combobox").fill("Customer 17")
    await page.getByRole("option", { name: /Customer 17/ }).waitFor()
    await press(page, "Enter")
    await page.getByText("3 unsaved changes").waitFor()
    await review(page)
    await page.getByText("2 rows saved").waitFor()
    await page
      .getByRole("gridcell", { name: /17\s*Customer 17/ })
      .first()
      .waitFor()
    assert.deepStrictEqual(await sql(service, `select customer_id, note from ${order} where id <= 2 order by id`), [
      { customer_id: 17, note: "Call first" },
      { customer_id: 3, note: "Second" }
    ])
  })

  it("saves more rows than a transaction has statements", async () => {
    const { order } = await makeShop()
    const page = await openTable(order)
    await goTo(page, 0, 4)
    for (let at = 1; at <= 25; at++) {
      await page.keyboard.type(`n${at}`)
      await press(page, "Enter")
    }
    await page.getByText("25 unsaved changes").waitFor()
    await review(page)
    await page.getByText("25 rows saved").waitFor()
    const rows = await sql(service, `select count(*)::int as n from ${order} where note = 'n' || id`)
    assert.deepStrictEqual(rows, [{ n: 25 }])
  })

  it("saves nothing after a conflicting change, and keeps what was typed", async () => {
    const { order } = await makeShop()
    const page = await openTable(order)
    await goTo(page, 0, 4)
    await page.keyboard.type("mine")
    await press(page, "Enter")
    await page.keyboard.type("mine too")
    await press(page, "Enter")
    await sql(service, `update ${order} set note = 'theirs' where id = 2`)
    await review(page)
    await page.getByText("Row [2] was changed or deleted by another user").waitFor()
    assert.deepStrictEqual(await sql(service, `select note from ${order} where id <= 2 order by id`), [
      { note: null },
      { note: "theirs" }
    ])
    await page.getByRole("button", { name: "Go on editing" }).click()
    await page.getByText("2 unsaved changes").waitFor()
  })

  it("compares an edit with the row as it was when it began, although the table is read again meanwhile", async () => {
    const { order } = await makeShop()
    const page = await openTable(order)
    await goTo(page, 0, 4)
    await press(page, "Enter")
    const editor = page.getByRole("textbox", { name: "note, text" })
    await editor.fill("mine")
    await sql(service, `update ${order} set note = 'theirs' where id in (1, 2)`)
    await page.getByRole("button", { name: "Read again" }).dispatchEvent("click")
    await page.getByRole("gridcell", { name: "theirs" }).last().waitFor()
    await editor.press("Enter")
    await review(page)
    await page.getByText("Row [1] was changed or deleted by another user").waitFor()
    assert.deepStrictEqual(await sql(service, `select note from ${order} where id = 1`), [{ note: "theirs" }])
  })

  it("keeps what PostgreSQL refuses, and what a session that has ended could not save", async () => {
    const { order } = await makeShop(5)
    const page = await openTable(order)
    await goTo(page, 2, 3)
    await page.keyboard.type("1e30")
    await press(page, "Enter")
    await review(page)
    await page.getByRole("alert").getByText("numeric field overflow").waitFor()
    await page.getByRole("button", { name: "Go on editing" }).click()
    await page.getByText("1 unsaved change").waitFor()
    await goTo(page, 2, 3)
    await page.keyboard.type("7.50")
    await press(page, "Enter")
    const session = (await page.context().cookies()).find(({ name }) => name === "svc_dashboard")
    const headers = { cookie: `svc_dashboard=${session?.value}`, origin: service.url }
    await ask(service, "DELETE /api/dashboard/session", { headers })
    await review(page)
    await page.getByRole("dialog", { name: "Sign in again" }).getByLabel("Service key").fill(service.service_role)
    await press(page, "Enter")
    await page.getByText("1 row saved").waitFor()
    assert.deepStrictEqual(await sql(service, `select total from ${order} where id = 3`), [{ total: "7.50" }])
  })

  it("keeps changes over a filter, and asks before it loses them", async () => {
    const { customer, order } = await makeShop()
    const page = await openTable(order)
    await goTo(page, 0, 4)
    await page.keyboard.type("kept")
    await press(page, "Enter")
    await page.getByRole("columnheader", { name: /^total/ }).click()
    await page.waitForURL(/order=total/)
    await page.getByText("1 unsaved change").waitFor()
    const leave = () => page.getByRole("navigation", { name: "Tables" }).getByRole("link", { name: customer }).click()
    const asked = page.getByRole("dialog", { name: "Leave and discard 1 unsaved change?" })
    await leave()
    await asked.waitFor()
    await assertAccessible(page, "a question before changes are lost")
    // Escape is not a yes.
    await press(page, "Escape")
    await asked.waitFor({ state: "hidden" })
    await page.getByText("1 unsaved change").waitFor()
    assert.include(page.url(), order)
    await leave()
    await asked.getByRole("button", { name: "Leave" }).click()
    await page.waitForURL(new RegExp(`/${customer}$`))
  })

  it("keeps changes while the service can't be read, and reads what is missing when it can", async () => {
    const { order } = await makeShop()
    const page = await openTable(order)
    await goTo(page, 0, 4)
    await page.keyboard.type("kept")
    await press(page, "Enter")
    await page.route("**/v1/d*/**", (route) =>
      route.fulfill({ status: 503, json: { error: "PostgreSQL does not respond", code: "DATABASE_UNAVAILABLE" } })
    )
    await page.getByRole("button", { name: "Read again" }).click()
    const rows = page.getByRole("alert").filter({ hasText: "Some rows could not be read" })
    const old = page.getByRole("alert").filter({ hasText: "What you see may be old" })
    await rows.getByText("PostgreSQL does not respond").waitFor()
    await page.getByRole("grid").focus()
    await press(page, "Control+ArrowDown")
    await old.waitFor()
    await page.getByText("1 unsaved change").waitFor()
    await page.unrouteAll()
    await rows.getByRole("button", { name: "Try again" }).click()
    await page.getByRole("row", { name: /^250/ }).getByText("275.00").waitFor()
    await rows.waitFor({ state: "detached" })
    await old.waitFor({ state: "detached" })

    // Without a response it is not known whether it was saved, and nothing else is said.
    await page.route("**/v1/sql/transaction", (route) => route.abort("connectionreset"))
    await review(page)
    const dialog = page.getByRole("dialog", { name: "Review changes" })
    await dialog.getByText("It may have done this all the same").waitFor()
    await assertCount(dialog.getByText("Nothing was saved"), 0)
    await page.unrouteAll()
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("1 row saved").waitFor()
    assert.deepStrictEqual(await sql(service, `select note from ${order} where id = 1`), [{ note: "kept" }])
  })

  it("takes back what was discarded, and asks before signing out or another database would lose it", async () => {
    const { order } = await makeShop(5)
    const page = await openTable(order)
    const refuse = async (question: string) => {
      const asked = page.getByRole("dialog", { name: question })
      await asked.getByRole("button", { name: "Go on editing" }).click()
      await asked.waitFor({ state: "hidden" })
    }
    await goTo(page, 0, 4)
    await page.keyboard.type("mine")
    await press(page, "Enter")
    await page.getByRole("button", { name: "Discard" }).click()
    await page.getByText("1 change discarded").waitFor()
    await assertCount(page.getByRole("gridcell", { name: "mine" }), 0)
    await page.getByRole("button", { name: "Undo" }).click()
    await page.getByRole("gridcell", { name: "mine" }).waitFor()
    await page.getByRole("button", { name: "Theme and session" }).click()
    await page.getByRole("button", { name: "Sign out" }).click()
    await refuse("Leave and discard 1 unsaved change?")
    await press(page, "Control+k")
    await page.keyboard.type("Sign out")
    await press(page, "Enter")
    await refuse("Leave and discard 1 unsaved change?")
    await page.getByText("1 unsaved change").waitFor()

    // A new row that is typed is lost neither by Escape nor by opening another.
    await page.getByRole("button", { name: "Insert" }).click()
    const form = page.getByRole("complementary", { name: `Insert into ${order}` })
    await form.getByLabel(/^note/).fill("typed")
    await press(page, "Escape")
    await refuse("Discard the new row?")
    await page.getByRole("grid").focus()
    await press(page, " ")
    await refuse("Discard the new row?")
    assert.strictEqual(await form.getByLabel(/^note/).inputValue(), "typed")
  })

  it("sets NULL and JSON, refuses what is not JSON, and leaves a cell that was only looked at", async () => {
    const { order } = await makeShop()
    const page = await openTable(order)
    await goTo(page, 4, 4)
    await press(page, "Control+Backspace")
    await press(page, "ArrowRight", "Enter")
    await page.getByRole("textbox", { name: "details, jsonb" }).fill("{ no")
    await press(page, "Control+Enter")
    await page.getByRole("alert").getByText("Not valid JSON").waitFor()
    await page.getByRole("textbox", { name: "details, jsonb" }).fill('{"gift": true}')
    await press(page, "Control+Enter")
    await goTo(page, 6, 4)
    await press(page, "Enter", "Enter")
    await page.getByText("2 unsaved changes").waitFor()
    await review(page)
    await page.getByText("1 row saved").waitFor()
    assert.deepStrictEqual(await sql(service, `select note, details from ${order} where id = 5`), [
      { note: null, details: { gift: true } }
    ])
  })

  it("inserts a row with defaults, and shows what PostgreSQL refuses", async () => {
    const { order } = await makeShop(3)
    const page = await openTable(order)
    await page.getByRole("button", { name: "Insert" }).click()
    const form = page.getByRole("complementary", { name: `Insert into ${order}` })
    await form.getByLabel(/^customer_id/).fill("999")
    await form.getByLabel(/^total/).fill("0.10")
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await form.getByText("violates foreign key constraint").waitFor()
    await form.getByLabel(/^customer_id/).fill("4")
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("4 rows").waitFor()
    const rows = await sql(service, `select customer_id, status, total, note from ${order} order by id desc limit 1`)
    assert.deepStrictEqual(rows, [{ customer_id: 4, status: "draft", total: "0.10", note: null }])
  })

  it("inserts a value of each type as it was typed", async () => {
    const table = `types_${process.pid}`
    await sql(service, `create type ${table}_mood as enum ('calm', 'it''s "odd"')`)
    const given: ReadonlyArray<readonly [type: string, text: string]> = [
      ["numeric(38,18)", "12345678901234567890.123456789012345678"],
      ["int8", "9223372036854775807"],
      ["float8", "0.1"],
      ["boolean", "true"],
      ["text", "  two\nlines, 'quoted' \"twice\" \\ 🙂 "],
      ["timestamptz", "2026-03-29 01:59:59.123456+00"],
      ["date", "0044-03-15 BC"],
      ["interval", "1 year 2 mons -3 days +04:05:06.7"],
      ["bytea", "\\xdeadbeef00"],
      ["int[]", "{1,NULL,3}"],
      ["text[]", '{"a,b","c\\"d",NULL}'],
      ["int4range", "[1,10)"],
      ["tstzrange", '["2026-01-01 00:00:00+00",)'],
      ["json", '"text"'],
      ["jsonb", '{"a": [9007199254740993, 1.10]}'],
      ["uuid", "0b0e7a5e-0000-4000-8000-000000000000"],
      ["inet", "10.0.0.0/8"],
      [`${table}_mood`, 'it\'s "odd"']
    ]
    const columns = given.map(([type], at) => `c${at}x ${type}`)
    await sql(
      service,
      `create table ${table} (id int generated always as identity primary key, ${columns.join(", ")}, made int generated always as (length(c4x)) stored)`
    )
    const page = await openPage()
    await page.goto(at(`/tables/public/${table}`))
    await page.getByRole("button", { name: "Insert" }).first().click()
    const form = page.getByRole("complementary", { name: `Insert into ${table}` })
    for (const [at, [type, text]] of given.entries()) {
      const field = form.getByLabel(new RegExp(`^c${at}x`))
      if (type === "boolean" || type.endsWith("_mood")) await field.selectOption(text)
      else await field.fill(text)
    }
    await assertCount(form.getByLabel(/^(?:id|made)\b/), 0)
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("1 row", { exact: true }).waitFor()
    // Another key of the same value is edited: the numbers beside it stay as they are.
    await goTo(page, 0, 15)
    await press(page, "Enter")
    const editor = page.getByRole("textbox", { name: "c14x, jsonb" })
    assert.include(await editor.inputValue(), "9007199254740993")
    await editor.fill((await editor.inputValue()).replace('"a"', '"b"'))
    await press(page, "Control+Enter")
    await review(page)
    await page.getByText("1 row saved").waitFor()
    const texts = given.map((_, at) => `c${at}x::text`)
    const [row = {}] = await sql(service, `select ${texts.join(", ")} from ${table}`)
    assert.deepStrictEqual(
      Object.values(row),
      given.map(([, text]) => text.replace('"a"', '"b"'))
    )
  })

  it("filters and sorts by columns whose names have a meaning in a query", async () => {
    const table = `named_${process.pid}`
    await sql(
      service,
      `create table ${table} ("limit" int primary key, "a.b" text, "c,d" int, "e (""f"")" text, "order" int references ${table})`
    )
    await sql(
      service,
      `insert into ${table} values (1, 'x', 2, 'one', null), (2, '50% (y,z)', 1, 'two', 1), (3, '', null, 'three', 1)`
    )
    const page = await openTable(table)
    const filter = async (column: string, condition: string, value: string) => {
      await page.getByRole("button", { name: "Filter", exact: true }).click()
      await page.getByLabel("Column", { exact: true }).selectOption(column)
      await page.getByLabel("Condition").selectOption(condition)
      await page.getByLabel("Value").fill(value)
      await page.getByRole("button", { name: "Apply" }).click()
    }
    await page.getByRole("columnheader", { name: /^c,d/ }).click()
    await page.getByRole("row", { name: /^1 2 50%/ }).waitFor()
    await filter("a.b", "contains", "% (y,")
    await page.getByText("1 row", { exact: true }).waitFor()
    await filter('e ("f")', "is", "two")
    await filter("limit", "is one of", "1, 2")
    await filter("order", "is", "1")
    const filters = page.getByRole("list", { name: "Filters" }).getByRole("listitem")
    await filters.nth(3).waitFor()
    await page.reload()
    await page.getByText("1 row", { exact: true }).waitFor()
    await page.getByRole("gridcell", { name: "50% (y,z)" }).waitFor()
    // The address has the order and the filter of the column with its name.
    assert.include(decodeURIComponent(page.url()), 'order="c,d".asc')
    await page.goto(at(`/tables/public/${table}`))
    await page.getByRole("row", { name: /^1 1 x/ }).waitFor()
    await page.getByRole("grid").focus()
    await page.keyboard.press(" ")
    await page.getByRole("link", { name: new RegExp(`${table} order.*2`) }).click()
    await page.getByText("2 rows", { exact: true }).waitFor()
    await page.getByRole("row", { name: /^2 3 EMPTY/ }).waitFor()
    await filters.getByRole("button").click()
    await page.getByRole("row", { name: /^1 1 x/ }).waitFor()
  })

  it("filters by a cell, and inserts and deletes rows like it, by the menu of the cell", async () => {
    const { order } = await makeShop(12)
    const page = await openTable(order)
    const menu = page.getByRole("dialog", { name: /^Cell / })
    await page.getByRole("gridcell", { name: "Ring twice" }).first().click({ button: "right" })
    await menu.getByRole("button", { name: "Only where note is Ring twice" }).click()
    await page.waitForURL(/\?note=eq\.Ring\+twice$/)
    await page.getByText("2 rows", { exact: true }).waitFor()
    // By keyboard, and back.
    await goTo(page, 0, 2)
    await press(page, "Shift+F10")
    await menu.getByRole("button", { name: "Only where status is sent" }).waitFor()
    await press(page, "Escape")
    assert.strictEqual(await page.evaluate(() => document.activeElement?.getAttribute("role")), "grid")
    await press(page, "Shift+F10", "ArrowDown", "Enter")
    await page.waitForURL(/status=neq\.sent/)
    await page.getByText("1 row", { exact: true }).waitFor()

    await press(page, "Shift+F10")
    await menu.getByRole("button", { name: "Insert a row like this" }).click()
    const form = page.getByRole("complementary", { name: `Insert into ${order}` })
    await form.getByLabel(/^total/).fill("7.00")
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("2 rows", { exact: true }).waitFor()
    const inserted = `select customer_id, status, total, note from ${order} where id > 12`
    assert.deepStrictEqual(await sql(service, inserted), [
      { customer_id: 11, status: "paid", total: "7.00", note: "Ring twice" }
    ])
    await goTo(page, 1, 4)
    await press(page, "Shift+F10")
    await menu.getByRole("button", { name: "Set NULL" }).click()
    await page.getByText("1 unsaved change").waitFor()
    await press(page, "Shift+F10")
    await menu.getByRole("button", { name: "Delete row" }).click()
    await page
      .getByRole("dialog", { name: /^Delete 1 row/ })
      .getByRole("button", { name: "Delete 1 row" })
      .click()
    await page.getByText("1 row", { exact: true }).waitFor()
    assert.deepStrictEqual(await sql(service, inserted), [])
    await page.getByRole("region", { name: "Unsaved changes" }).waitFor({ state: "detached" })
  })

  it("deletes a few rows at once, and those with rows of other tables after their table's name was typed", async () => {
    const { order } = await makeShop(6)
    const page = await openTable(order)
    await goTo(page, 1, 0)
    await press(page, "Shift+ ")
    // Also where there is no keyboard.
    await page.getByRole("button", { name: "Open", exact: true }).click()
    await page.getByRole("complementary", { name: "Row 2" }).waitFor()
    await page.getByRole("grid").focus()
    await press(page, "ArrowDown", "Shift+ ")
    await page.getByRole("button", { name: "Delete" }).click()
    const dialog = page.getByRole("dialog")
    const last = dialog.getByRole("button", { name: "Delete 2 rows" })
    await last.click()
    await page.getByText("4 rows").waitFor()
    assert.deepStrictEqual(
      await sql(service, `select id from ${order} order by id`),
      [1, 4, 5, 6].map((id) => ({ id }))
    )
    await sql(service, `create table ${order}_item (order_id int references ${order} on delete cascade)`)
    await ask(service, "GET /v1/database/schema", { key: service.service_role })
    await page.reload()
    await page.getByRole("gridcell").first().waitFor()
    await goTo(page, 0, 0)
    await press(page, "Shift+ ")
    await page.getByRole("button", { name: "Delete" }).click()
    await dialog.getByText(`${order}_item`).waitFor()
    const one = dialog.getByRole("button", { name: "Delete 1 row" })
    assert.strictEqual(await one.getAttribute("aria-disabled"), "true")
    await dialog.getByLabel(`Type ${order} to confirm`).fill(order)
    await one.click()
    await page.getByText("3 rows").waitFor()
  })

  it("is off for a table without a primary key, with the reason", async () => {
    const { order } = await makeShop(1)
    await sql(service, `create table ${order}_log as select 'a' as what`)
    const page = await openTable(`${order}_log`)
    await goTo(page, 0, 0)
    await press(page, "Enter")
    await page.getByText("This table has no primary key").waitFor()
  })
})
