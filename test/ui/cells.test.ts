import { type Page } from "playwright-core"
import { assert, describe, inject, it } from "vitest"
import { sql } from "../support/client.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const service = inject("service")
checkPages()
let made = 0
const nameOf = (what: string) => `${what}_${process.pid}_${++made}`

const open = async (table: string, options: Parameters<typeof openPage>[0] = {}): Promise<Page> => {
  const page = await openPage(options)
  await page.goto(at(`/tables/public/${table}`))
  await page.getByRole("gridcell").first().waitFor()
  return page
}
const edit = async (page: Page, row: number, column: number) => {
  await page.getByRole("grid").focus()
  await page.keyboard.press("Control+Home")
  for (let at = 0; at < row; at++) await page.keyboard.press("ArrowDown")
  for (let at = 0; at < column; at++) await page.keyboard.press("ArrowRight")
  await page.keyboard.press("F2")
}
const save = async (page: Page) => {
  await page.keyboard.press("Control+s")
  await page.getByRole("dialog", { name: "Review changes" }).getByRole("button", { name: "Save" }).click()
}

/** People whose companies have labels with numbers in them: that of 3 has 17, and sorts first. */
const makePeople = async () => {
  const [company, person] = [nameOf("company"), nameOf("person")]
  await sql(service, `create table ${company} (id int primary key, name text)`)
  await sql(service, `insert into ${company} select i, 'Company ' || i from generate_series(1, 60) i`)
  await sql(service, `update ${company} set name = 'AAA 17' where id = 3`)
  await sql(service, `create table ${person} (id int primary key, company_id int references ${company})`)
  await sql(service, `insert into ${person} select i, 5 from generate_series(1, 4) i`)
  return { company, person }
}

describe("a reference", () => {
  it("is the key that was typed: not a label's, and not what the list had for another text", async () => {
    const { person } = await makePeople()
    const page = await open(person)
    // The row with this key is first, whatever the labels are.
    await edit(page, 0, 1)
    await page.getByRole("combobox").fill("17")
    await page.getByRole("option", { name: /^17 / }).waitFor()
    await page.getByRole("option", { name: "3 AAA 17" }).waitFor()
    await assertAccessible(page, "the finder of a reference")
    await page.getByRole("combobox").focus()
    await page.keyboard.press("Enter")
    // At once, with the list of the text before.
    await edit(page, 1, 1)
    await page.getByRole("option").first().waitFor()
    await page.keyboard.type("44")
    await page.keyboard.press("Enter")
    // A key that no row has is typed all the same, and PostgreSQL judges it.
    await edit(page, 2, 1)
    await page.getByRole("option").first().waitFor()
    await page.keyboard.type("9")
    await page.getByRole("option", { name: /^9 / }).waitFor()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    // A label in haste is not taken for what the list has: it is no key.
    await edit(page, 3, 1)
    await page.getByRole("option").first().waitFor()
    await page.keyboard.type("Company 44")
    await page.keyboard.press("Enter")
    await page.getByRole("option", { name: /^44 / }).waitFor()
    if (await page.getByRole("combobox").isVisible()) await page.keyboard.press("Enter")
    await page.getByText("4 unsaved changes").waitFor()
    await save(page)
    await page.getByText("4 rows saved").waitFor()
    const rows = await sql(service, `select company_id from ${person} order by id`)
    assert.deepStrictEqual(
      [rows[0], rows[1], rows[3]],
      [17, 44, 44].map((company_id) => ({ company_id }))
    )
    assert.notStrictEqual(rows[2]?.["company_id"], 9)
  })

  it("is found in the form of a new row as in the grid", async () => {
    const { person } = await makePeople()
    const page = await open(person)
    await page.getByRole("button", { name: "Insert" }).click()
    const form = page.getByRole("complementary", { name: `Insert into ${person}` })
    await form.getByLabel(/^id/).fill("9")
    const field = form.getByRole("combobox", { name: /^company_id/ })
    await field.fill("Company 4")
    await form.getByRole("option", { name: "41 Company 41" }).waitFor()
    await assertAccessible(page, "the finder of a new row")
    await field.fill("AAA")
    await form.getByRole("option", { name: "3 AAA 17" }).waitFor()
    await field.press("ArrowDown")
    await field.press("Enter")
    assert.strictEqual(await field.inputValue(), "3")
    await form.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("5 rows").waitFor()
    assert.deepStrictEqual(await sql(service, `select company_id from ${person} where id = 9`), [{ company_id: 3 }])
  })
})

describe("a moment", () => {
  for (const timezoneId of ["America/New_York", "Asia/Kolkata", "Europe/Berlin"]) {
    it(`is read and written in UTC, which it shows, in a browser in ${timezoneId}`, async () => {
      const table = nameOf("moment")
      await sql(service, `create table ${table} (id int primary key, at timestamptz)`)
      await sql(service, `insert into ${table} select i, '2026-01-01 00:00+00' from generate_series(1, 4) i`)
      const page = await open(table, { timezoneId })
      // The hours that Berlin and New York skip and repeat are hours as others.
      const typed = ["2026-06-15 14:10", "2026-03-29 02:30", "2026-11-01 01:30:00.25", "2026-06-15 14:10 +05:30"]
      for (const [row, text] of typed.entries()) {
        await edit(page, row, 1)
        await page.getByRole("textbox").fill(text)
        await page.keyboard.press("Enter")
      }
      await page.getByRole("gridcell", { name: "2026-06-15 14:10+00" }).waitFor()
      await save(page)
      await page.getByText("4 rows saved").waitFor()
      for (const shown of [
        "2026-06-15 14:10:00+00",
        "2026-03-29 02:30:00+00",
        "2026-11-01 01:30:00.25+00",
        "2026-06-15 08:40:00+00"
      ])
        await page.getByRole("gridcell", { name: shown, exact: true }).waitFor()
      // Filters read it so, too, and so does the form of a new row.
      await page.getByRole("button", { name: "Filter", exact: true }).click()
      await page.getByLabel("Column", { exact: true }).selectOption("at")
      await page.getByLabel("Value").fill("2026-06-15 14:10")
      await page.getByRole("button", { name: "Apply" }).click()
      await page.getByText("1 row", { exact: true }).waitFor()
      await page.getByRole("button", { name: "Insert" }).click()
      const form = page.getByRole("complementary", { name: `Insert into ${table}` })
      await form.getByLabel(/^id/).fill("7")
      await form.getByLabel(/^at/).fill("2026-06-15 14:10")
      await form.getByRole("button", { name: "Save", exact: true }).click()
      await page.getByText("2 rows").waitFor()
    })
  }
})

describe("a value", () => {
  it("of an array is edited as it is shown", async () => {
    const table = nameOf("tags")
    await sql(service, `create table ${table} (id int primary key, tags text[], grid int[])`)
    await sql(service, `insert into ${table} values (1, '{one,"two, three"}', '{{1,2},{3,4}}')`)
    const page = await open(table)
    await edit(page, 0, 1)
    const field = page.getByRole("textbox", { name: "tags, text[]" })
    assert.strictEqual(await field.inputValue(), '["one","two, three"]')
    await field.fill('["one", "two, \\"3\\"", null]')
    await page.keyboard.press("Enter")
    await edit(page, 0, 2)
    await page.getByRole("textbox").fill("[[1, 2], [3, x]]")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText("Not valid JSON").waitFor()
    await page.getByRole("textbox").fill("[[1, 2], [3, 5]]")
    await page.keyboard.press("Enter")
    await save(page)
    await page.getByText("1 row saved").waitFor()
    assert.deepStrictEqual(await sql(service, `select tags, grid from ${table}`), [
      {
        tags: ["one", 'two, "3"', null],
        grid: [
          [1, 2],
          [3, 5]
        ]
      }
    ])
  })

  it("that its type can't have is refused in the cell; what PostgreSQL refuses is named by row and column", async () => {
    const table = nameOf("checked")
    await sql(
      service,
      `create table ${table} (id int primary key, day date, amount numeric(4, 2), code varchar(3), small smallint check (small <> 13))`
    )
    await sql(service, `insert into ${table} select i, '2026-01-01', 1, 'a', 1 from generate_series(1, 30) i`)
    const page = await open(table)
    for (const [column, text, why] of [
      [1, "2023-02-29", "There is no 2023-02-29"],
      [2, "12abc", "Not a number"],
      [3, "abcd", "Too long: 4 characters, of 3"],
      [4, "40000", "Out of range"]
    ] as const) {
      await edit(page, 0, column)
      await page.getByRole("textbox").fill(text)
      await page.keyboard.press("Enter")
      await page.getByRole("alert").getByText(why).waitFor()
      await page.keyboard.press("Escape")
    }
    // More rows than a transaction has statements: what is wrong is one of two rows in one of them.
    await edit(page, 0, 2)
    await page.keyboard.press("Escape")
    for (let row = 0; row < 27; row++) {
      await page.keyboard.type(row === 22 ? "1000" : "2.50")
      await page.keyboard.press("Enter")
    }
    await page.getByText("27 unsaved changes").waitFor()
    await save(page)
    await page.getByRole("alert").getByText("Row [23], column amount: numeric field overflow").waitFor()
    await page.getByRole("button", { name: "Go on editing" }).click()
    assert.strictEqual(await page.locator("[role=gridcell][aria-invalid=true]").textContent(), "1000")
    await assertAccessible(page, "a refused cell")
    assert.deepStrictEqual(await sql(service, `select count(*)::int as n from ${table} where amount <> 1`), [{ n: 0 }])
  })

  it("is in the review as SQL that does what saving does", async () => {
    const table = nameOf("Odd name")
    const create = (name: string) =>
      sql(
        service,
        `create table "${name}" (id int primary key, "two words" text, tags text[], doc jsonb, at timestamptz, raw bytea)`
      )
    const fill = (name: string) => sql(service, `insert into "${name}" (id) values (1)`)
    await create(table)
    await fill(table)
    const page = await openPage()
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
    await page.goto(at(`/tables/public/${encodeURIComponent(table)}`))
    await page.getByRole("gridcell").first().waitFor()
    const typed = [
      "it's \\ 'odd' 🙂",
      '["a\\"b", null, "c,d"]',
      '{"a": [1.10, "x\'y"]}',
      "2026-06-15 14:10",
      "\\xdeadbeef"
    ]
    for (const [column, text] of typed.entries()) {
      await edit(page, 0, column + 1)
      await page.getByRole("textbox").fill(text)
      await page.keyboard.press("Control+Enter")
    }
    await page.keyboard.press("Control+s")
    const dialog = page.getByRole("dialog", { name: "Review changes" })
    const shown = (await dialog.getByRole("region", { name: "Statements" }).textContent()) ?? ""
    await dialog.getByRole("button", { name: "Copy SQL" }).click()
    assert.strictEqual(await page.evaluate(() => navigator.clipboard.readText()), shown)
    await assertAccessible(page, "the review")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("1 row saved").waitFor()
    const rows = () => sql(service, `select * from "${table}"`)
    const saved = await rows()
    await sql(service, `delete from "${table}"`)
    await fill(table)
    await sql(service, shown)
    assert.deepStrictEqual(await rows(), saved)
    assert.strictEqual(saved[0]?.["two words"], typed[0])
  })
})

/** A table with a column of each kind that a sheet fills. */
const makeSheet = async (rows = 4) => {
  const table = nameOf("sheet")
  await sql(
    service,
    `create table ${table} (id int generated by default as identity primary key, name text, qty int not null default 1, paid boolean, due date)`
  )
  await sql(service, `insert into ${table} (name, qty) select 'n' || i, i from generate_series(1, ${rows}) i`)
  return table
}
/** What a sheet gives to the clipboard. */
const paste = async (page: Page, text: string, keys = "Control+v") => {
  await page.evaluate((copied) => navigator.clipboard.writeText(copied), text)
  await page.keyboard.press(keys)
}
const clipboard = { permissions: ["clipboard-read", "clipboard-write"] }
const press = async (page: Page, ...keys: ReadonlyArray<string>) => {
  for (const key of keys) await page.keyboard.press(key)
}
const stand = async (page: Page, row: number, column: number) => {
  await page.getByRole("grid").focus()
  await press(page, "Control+Home", ...Array.from({ length: row }, () => "ArrowDown"))
  await press(page, ...Array.from({ length: column }, () => "ArrowRight"))
}
const saveByKeys = async (page: Page) => {
  await press(page, "Control+s")
  await page.getByRole("dialog", { name: "Review changes" }).waitFor()
  await press(page, "Control+s")
}

describe("a range of cells", () => {
  it("is selected by keys and by the pointer, copied to a sheet, and pasted from one", async () => {
    const table = await makeSheet()
    const page = await open(table, clipboard)
    await stand(page, 0, 1)
    await press(page, "Shift+ArrowDown", "Shift+ArrowRight")
    await page.getByRole("status").getByText("2 × 2 cells").waitFor()
    await assertAccessible(page, "a range of cells")
    await press(page, "Control+c")
    await page.getByText("4 cells copied").waitFor()
    assert.strictEqual(await page.evaluate(() => navigator.clipboard.readText()), "n1\t1\nn2\t2")
    await press(page, "Control+Shift+ArrowDown", "Control+Shift+ArrowRight")
    await page.getByRole("status").getByText("4 × 4 cells").waitFor()
    await press(page, "Control+a")
    await page.getByRole("status").getByText("4 × 5 cells").waitFor()
    await press(page, "Escape")
    await page.getByRole("gridcell", { name: "n2" }).click()
    await page.getByRole("gridcell", { name: "n3" }).click({ modifiers: ["Shift"] })
    await page.getByRole("status").getByText("2 × 1 cells").waitFor()
    const [from, to] = [page.getByRole("gridcell", { name: "n1" }), page.getByRole("gridcell", { name: "n4" })]
    await from.hover()
    await page.mouse.down()
    await to.hover()
    await page.mouse.up()
    await page.getByRole("status").getByText("4 × 1 cells").waitFor()

    // Wrong cells are marked, and the others saved. What goes beyond the end is new rows.
    await stand(page, 3, 1)
    await paste(page, 'four\t4\tTRUE\t2026-01-31\n"two\nlines"\tx5\tno\t\nsix\t\tFALSE\t2026-02-30\nseven\t7\t\t\n')
    await page.getByText("2 cells can't be saved, and are marked").waitFor()
    await page.getByRole("gridcell", { name: "x5 Not a whole number" }).waitFor()
    await page.getByRole("gridcell", { name: "2026-02-30 There is no 2026-02-30" }).waitFor()
    await assertAccessible(page, "a pasted sheet")
    await press(page, "Control+s")
    const dialog = page.getByRole("dialog", { name: "Review changes" })
    await dialog.getByText("2 cells can't be saved").waitFor()
    await dialog.getByText(`insert into "public"."${table}" ("name", "qty")`).waitFor()
    await assertAccessible(page, "the review of a pasted sheet")
    await press(page, "Control+s")
    await page.getByText("2 rows saved").waitFor()
    const shown = `select name, qty, paid, due::text from ${table} where id >= 4 order by id`
    assert.deepStrictEqual(await sql(service, shown), [
      { name: "four", qty: 4, paid: true, due: "2026-01-31" },
      { name: "seven", qty: 7, paid: null, due: null }
    ])
    // They wait until they are right.
    await page.getByRole("gridcell", { name: "x5" }).dblclick()
    await page.getByRole("textbox").fill("5")
    await press(page, "Enter")
    await page.getByRole("gridcell", { name: "2026-02-30" }).dblclick()
    await page.getByRole("textbox").fill("2026-02-28")
    await press(page, "Enter")
    await saveByKeys(page)
    await page.getByText("2 rows saved").waitFor()
    await page.getByText("7 rows").waitFor()
    assert.deepStrictEqual((await sql(service, shown)).slice(2), [
      { name: "two\nlines", qty: 5, paid: false, due: null },
      { name: "six", qty: 1, paid: false, due: "2026-02-28" }
    ])
  })

  it("is filled, emptied, given one value, and each step is taken back", async () => {
    const table = await makeSheet()
    const page = await open(table, clipboard)
    const names = () => page.locator(".row .cell:nth-child(3)").allTextContents()
    const expectNames = async (...expected: ReadonlyArray<string>) => {
      await page.waitForFunction(
        (wanted) =>
          Array.from(document.querySelectorAll(".row .cell:nth-child(3)"), (cell) => cell.textContent)
            .slice(0, 4)
            .join() === wanted,
        expected.join()
      )
      assert.deepStrictEqual((await names()).slice(0, 4), expected)
    }
    await stand(page, 0, 1)
    await press(page, "Shift+ArrowDown", "Shift+ArrowDown", "Control+d")
    await expectNames("n1", "n1", "n1", "n4")
    await press(page, "Control+z")
    await expectNames("n1", "n2", "n3", "n4")
    await press(page, "Control+Shift+z")
    await expectNames("n1", "n1", "n1", "n4")
    await press(page, "Delete")
    await expectNames("NULL", "NULL", "NULL", "n4")
    await press(page, "F2")
    await page.getByRole("textbox").fill("all")
    await press(page, "Control+Enter")
    await expectNames("all", "all", "all", "n4")
    await press(page, "Control+z", "Control+z", "Control+y")
    await expectNames("NULL", "NULL", "NULL", "n4")
    await press(page, "Control+z", "Control+z")
    assert.strictEqual(await page.getByRole("region", { name: "Unsaved changes" }).count(), 0)
    // By the handle, and to the right, where the type is another.
    await stand(page, 0, 1)
    const handle = page.locator(".handle")
    await handle.hover()
    await page.mouse.down()
    await page.getByRole("gridcell", { name: "n3" }).hover()
    await page.mouse.up()
    await expectNames("n1", "n1", "n1", "n4")
    await stand(page, 3, 1)
    await press(page, "Shift+ArrowRight", "Control+r")
    await page.getByRole("gridcell", { name: "n4 Not a whole number" }).waitFor()
    await press(page, "Control+z")
    // One cell in all of a range.
    await stand(page, 2, 2)
    await press(page, "Shift+ArrowDown")
    await paste(page, "90")
    await page.getByText("4 unsaved changes").waitFor()
    await saveByKeys(page)
    await page.getByText("3 rows saved").waitFor()
    assert.deepStrictEqual(await sql(service, `select name, qty from ${table} order by id`), [
      { name: "n1", qty: 1 },
      { name: "n1", qty: 2 },
      { name: "n1", qty: 90 },
      { name: "n4", qty: 90 }
    ])
  })

  it("has rows that are deleted when it is saved, unless another user changed them", async () => {
    const table = await makeSheet()
    const page = await open(table, clipboard)
    await stand(page, 1, 1)
    await press(page, "Shift+ArrowDown", "Shift+Delete")
    await page.getByText("2 unsaved changes").waitFor()
    await assertAccessible(page, "rows to be deleted")
    await sql(service, `update ${table} set qty = 33 where id = 3`)
    await saveByKeys(page)
    const dialog = page.getByRole("dialog", { name: "Review changes" })
    await dialog.getByText("changed or deleted by another user").waitFor()
    assert.deepStrictEqual(await sql(service, `select count(*)::int as n from ${table}`), [{ n: 4 }])
    await press(page, "Escape")
    // One is kept, and a new row takes the key of the other.
    await stand(page, 2, 1)
    await press(page, "Shift+Delete")
    await stand(page, 4, 0)
    await paste(page, "2\tagain\t20", "Control+Shift+v")
    await saveByKeys(page)
    await page.getByText("2 rows saved").waitFor()
    assert.deepStrictEqual(await sql(service, `select id, name, qty from ${table} order by id`), [
      { id: 1, name: "n1", qty: 1 },
      { id: 2, name: "again", qty: 20 },
      { id: 3, name: "n3", qty: 33 },
      { id: 4, name: "n4", qty: 4 }
    ])
  })

  it("is copied as JSON, SQL, Markdown and CSV", async () => {
    const table = await makeSheet(2)
    await sql(service, `update ${table} set name = 'a "b" | c' where id = 1`)
    const page = await open(table, clipboard)
    await stand(page, 0, 1)
    await press(page, "Shift+ArrowDown", "Shift+ArrowRight", "Shift+ArrowRight")
    const expected: Readonly<Record<string, string>> = {
      JSON: JSON.stringify(
        [
          { name: 'a "b" | c', qty: 1, paid: null },
          { name: "n2", qty: 2, paid: null }
        ],
        null,
        2
      ),
      SQL: `insert into "public"."${table}" ("name", "qty", "paid")\nvalues ('a "b" | c', 1, null),\n  ('n2', 2, null);`,
      Markdown: '| name | qty | paid |\n| --- | --- | --- |\n| a "b" \\| c | 1 |  |\n| n2 | 2 |  |',
      CSV: 'name,qty,paid\n"a ""b"" | c",1,\nn2,2,'
    }
    for (const [format, text] of Object.entries(expected)) {
      await press(page, "Shift+F10")
      await page.getByRole("button", { name: `Copy cells as ${format}` }).click()
      await page.waitForFunction(
        async (wanted) => (await navigator.clipboard.readText()).replaceAll("\r\n", "\n") === wanted,
        text
      )
    }
    await press(page, "Shift+F10")
    await assertAccessible(page, "the menu of a range")
  })
})

describe("columns", () => {
  it("sort together, move by keys and by the menu, and stay where they are", async () => {
    const table = await makeSheet(4)
    await sql(service, `update ${table} set name = case when id < 3 then 'a' else 'b' end`)
    const page = await open(table)
    await page.getByRole("columnheader", { name: /^name/ }).click()
    await page.waitForURL(/order=name\.asc$/)
    await page.getByRole("columnheader", { name: /^qty/ }).click({ modifiers: ["Shift"] })
    await page.waitForURL(/order=name\.asc,qty\.asc$/)
    await page.getByRole("columnheader", { name: /^qty/ }).click({ modifiers: ["Shift"] })
    await page.waitForURL(/order=name\.asc,qty\.desc$/)
    await page.waitForFunction(
      () =>
        Array.from(document.querySelectorAll(".row .cell:nth-child(4)"), (cell) => cell.textContent)
          .slice(0, 4)
          .join() === "2,1,4,3"
    )
    const heads = () =>
      page.getByRole("columnheader").evaluateAll((all) => all.map((one) => one.querySelector(".name")?.textContent))
    await stand(page, 0, 1)
    await press(page, "ArrowUp", "Alt+Shift+ArrowRight")
    assert.deepStrictEqual((await heads()).slice(1), ["id", "qty", "name", "paid", "due"])
    await page.getByRole("gridcell", { name: "a", exact: true }).first().click({ button: "right" })
    await page.getByRole("button", { name: "Move column left" }).click()
    assert.deepStrictEqual((await heads()).slice(1), ["id", "name", "qty", "paid", "due"])
    await page.getByRole("gridcell", { name: "a", exact: true }).first().click({ button: "right" })
    await page.getByRole("button", { name: "Pin columns up to here" }).click()
    await page.setViewportSize({ width: 1050, height: 600 })
    await stand(page, 1, 4)
    await page.waitForFunction(() => (document.querySelector("[role=grid]")?.scrollLeft ?? 0) > 0)
    const seen = async (row: number, column: number) =>
      (await page.getByRole("row").nth(row).locator(".cell").nth(column).boundingBox()) ?? { x: 0, width: 0 }
    const [pinned, active] = [await seen(2, 2), await page.locator("#active-cell").boundingBox()]
    assert.isAtLeast(active?.x ?? 0, pinned.x + pinned.width - 1)
    await assertAccessible(page, "pinned columns")
    // All of it is kept.
    await page.reload()
    await page.getByRole("gridcell").first().waitFor()
    assert.deepStrictEqual((await heads()).slice(1), ["id", "name", "qty", "paid", "due"])
    assert.strictEqual(await page.locator(".head-cell.pinned").count(), 2)
  })
})

describe("the row of a reference", () => {
  it("is opened beside the table, changed there, and refused when another user was faster", async () => {
    const { company, person } = await makePeople()
    await sql(service, `alter table ${company} add column details jsonb, add column open boolean default true`)
    await sql(service, `update ${company} set details = '{"n": 9007199254740993}' where id = 5`)
    const page = await open(person)
    await stand(page, 0, 1)
    await press(page, "Shift+F10")
    await page.getByRole("button", { name: `Open the row of ${company}` }).click()
    const panel = page.getByRole("complementary", { name: `${company} 5` })
    const name = panel.getByLabel(/^name/)
    assert.strictEqual(await name.inputValue(), "Company 5")
    assert.include(await panel.getByLabel(/^details/).inputValue(), "9007199254740993")
    await assertAccessible(page, "the row of a reference")
    await name.fill("Renamed")
    await panel.getByLabel(/^open/).selectOption("false")
    // What was typed is lost neither by Escape nor by another row.
    await press(page, "Escape")
    await page.getByRole("button", { name: "Go on editing" }).click()
    await panel.getByRole("button", { name: "Save" }).click()
    await page.getByText(`Row of ${company} saved`).waitFor()
    await page.getByRole("gridcell", { name: "5 Renamed" }).first().waitFor()
    assert.deepStrictEqual(await sql(service, `select name, open, details::text from ${company} where id = 5`), [
      { name: "Renamed", open: false, details: '{"n": 9007199254740993}' }
    ])
    await name.fill("Mine")
    await sql(service, `update ${company} set name = 'Theirs' where id = 5`)
    await panel.getByRole("button", { name: "Save" }).click()
    await panel.getByText(/was changed or deleted by another user/).waitFor()
    assert.deepStrictEqual(await sql(service, `select name from ${company} where id = 5`), [{ name: "Theirs" }])
    await panel.getByRole("button", { name: "Undo" }).click()
    await press(page, "Escape")
    await panel.waitFor({ state: "detached" })
    // Also from the row's own panel.
    await stand(page, 0, 0)
    await press(page, " ")
    await page.getByRole("button", { name: `Open the row of ${company}` }).click()
    await panel.waitFor()
  })
})

describe("a table", () => {
  it("that is empty takes what is pasted, and what its form or a file brings", async () => {
    const table = nameOf("empty")
    await sql(service, `create table ${table} (id int primary key, name text)`)
    const page = await open(table, { permissions: ["clipboard-read", "clipboard-write"] })
    await page.getByText("No rows yet").waitFor()
    await assertAccessible(page, "an empty table")
    await stand(page, 0, 0)
    await paste(page, "1\tone\n2\ttwo\n3\tthree\n")
    await page.getByText("No rows yet").waitFor({ state: "detached" })
    await saveByKeys(page)
    await page.getByText("3 rows saved").waitFor()
    assert.deepStrictEqual(await sql(service, `select name from ${table} order by id`), [
      { name: "one" },
      { name: "two" },
      { name: "three" }
    ])
  })

  it("has one of its enum's labels or booleans set in many rows by the menu", async () => {
    const table = nameOf("states")
    await sql(service, `create type ${table}_mood as enum ('low', 'high')`)
    await sql(service, `create table ${table} (id int primary key, mood ${table}_mood, done boolean)`)
    await sql(service, `insert into ${table} (id) select generate_series(1, 6)`)
    const page = await open(table)
    await stand(page, 1, 1)
    await press(page, "Shift+ArrowDown", "Shift+ArrowDown", "Shift+F10")
    await page.getByRole("button", { name: "Set 3 cells to high" }).click()
    await stand(page, 2, 2)
    await press(page, "Shift+ArrowDown", "Shift+F10")
    await page.getByRole("button", { name: "Set 2 cells to true" }).click()
    await saveByKeys(page)
    await page.getByText("3 rows saved").waitFor()
    assert.deepStrictEqual(
      await sql(service, `select id, mood::text, done from ${table} where mood is not null order by id`),
      [
        { id: 2, mood: "high", done: null },
        { id: 3, mood: "high", done: true },
        { id: 4, mood: "high", done: true }
      ]
    )
  })

  it("has columns that are dragged, and labels of references that are chosen, and keeps both", async () => {
    const { company, person } = await makePeople()
    await sql(service, `alter table ${company} add column town text`)
    await sql(service, `update ${company} set town = 'Town ' || id`)
    const page = await open(person)
    const head = (name: string) => page.getByRole("columnheader", { name: new RegExp(`^${name}`) })
    const names = () =>
      page.getByRole("columnheader").evaluateAll((all) => all.map((one) => one.querySelector(".name")?.textContent))
    await page.getByRole("gridcell", { name: "5 Company 5" }).first().waitFor()
    await stand(page, 0, 1)
    await press(page, "Shift+F10")
    await page.getByRole("button", { name: "Show town beside the key" }).click()
    await page.getByRole("gridcell", { name: "5 Town 5" }).first().waitFor()
    const from = await head("company_id").boundingBox()
    const to = await head("id").boundingBox()
    await page.mouse.move((from?.x ?? 0) + 20, (from?.y ?? 0) + 12)
    await page.mouse.down()
    await page.mouse.move((to?.x ?? 0) + 20, (to?.y ?? 0) + 12, { steps: 5 })
    await page.mouse.up()
    await page.waitForFunction(
      () => document.querySelectorAll("[role=columnheader] .name")[0]?.textContent === "company_id"
    )
    // A drag does not sort.
    assert.notMatch(page.url(), /order=/)
    await page.reload()
    await page.getByRole("gridcell", { name: "5 Town 5" }).first().waitFor()
    assert.deepStrictEqual((await names()).slice(1), ["company_id", "id"])
    // Without a finger or a pen that moves, a press sorts.
    await head("id").click()
    await page.waitForURL(/order=id/)
  })

  it("is filtered by any of several conditions, which the address has", async () => {
    const table = nameOf("any")
    await sql(service, `create table ${table} (id int primary key, name text, "or" text)`)
    await sql(service, `insert into ${table} values (1, 'a,b', 'x'), (2, 'c)', 'y'), (3, 'd', 'z'), (4, null, 'x')`)
    const page = await open(table)
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await page.getByLabel("Column", { exact: true }).selectOption("name")
    await page.getByLabel("Value").fill("a,b")
    await page.getByRole("button", { name: "Or…" }).click()
    await page.getByLabel("Value").fill("c)")
    await page.getByRole("button", { name: "Or…" }).click()
    await page.getByLabel("Condition").selectOption("is NULL")
    await page.getByText("Any of: name is a,b; name is c); or this condition.").waitFor()
    await assertAccessible(page, "conditions of which one must hold")
    await page.getByRole("button", { name: "Apply" }).click()
    await page.getByText("3 rows", { exact: true }).waitFor()
    await page.reload()
    await page.getByText("3 rows", { exact: true }).waitFor()
    // A column of the same name is a column.
    await page.goto(at(`/tables/public/${table}?or=eq.x`))
    await page.getByText("2 rows", { exact: true }).waitFor()
    await page.goto(at(`/tables/public/${table}?or=(id.eq.1,id.eq.3)&or=eq.x`))
    await page.getByText("1 row", { exact: true }).waitFor()
    await page.getByRole("button", { name: /^Remove filter or any of/ }).click()
    await page.getByText("2 rows", { exact: true }).waitFor()
  })

  it("keeps no more of its columns in place than leave room for the others", async () => {
    const table = nameOf("wide")
    await sql(service, `create table ${table} (id int primary key, a text, b text, c text, d text)`)
    await sql(service, `insert into ${table} values (1, 'a', 'b', 'c', 'd')`)
    const page = await open(table, { viewport: { width: 800, height: 600 } })
    await page.evaluate((name) => {
      const widths = { id: 110, a: 300, b: 300, c: 300, d: 300 }
      localStorage.setItem(name, JSON.stringify({ widths, hidden: [], order: [], fixed: 4 }))
    }, `svc.columns.public.${table}`)
    await page.reload()
    await page.getByRole("gridcell").first().waitFor()
    const pinned = () => page.locator("[role=columnheader].pinned").count()
    assert.isBelow(await pinned(), 3)
    await stand(page, 0, 4)
    const cell = await page.locator("#active-cell").boundingBox()
    assert.isAtMost((cell?.x ?? 0) + (cell?.width ?? 0), 801)
    await page.setViewportSize({ width: 2300, height: 600 })
    await page.waitForFunction(() => document.querySelectorAll("[role=columnheader].pinned").length === 4)
  })
})
