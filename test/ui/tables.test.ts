import { type Page } from "playwright-core"
import { assert, describe, inject, it } from "vitest"
import { sql } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { makeShop } from "../support/ui/tables.ts"

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
    assert.strictEqual(await page.locator("[aria-sort=descending]").count(), 1)
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

  it("keeps changes over a filter, and asks before it loses them", async () => {
    const { customer, order } = await makeShop()
    const page = await openTable(order)
    await goTo(page, 0, 4)
    await page.keyboard.type("kept")
    await press(page, "Enter")
    await page.getByRole("columnheader", { name: /^total/ }).click()
    await page.waitForURL(/order=total/)
    await page.getByText("1 unsaved change").waitFor()
    let asked = ""
    page.once("dialog", (dialog) => {
      asked = dialog.message()
      void dialog.dismiss()
    })
    await page.getByRole("navigation", { name: "Tables" }).getByRole("link", { name: customer }).click()
    await page.getByText("1 unsaved change").waitFor()
    assert.include(asked, "discard 1 unsaved change")
    assert.include(page.url(), order)
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

  it("deletes rows after their table's name was typed", async () => {
    const { order } = await makeShop(6)
    const page = await openTable(order)
    await goTo(page, 1, 0)
    await press(page, "Shift+ ", "ArrowDown", "Shift+ ")
    await page.getByRole("button", { name: "Delete" }).click()
    const dialog = page.getByRole("dialog")
    const last = dialog.getByRole("button", { name: "Delete 2 rows" })
    assert.strictEqual(await last.getAttribute("aria-disabled"), "true")
    await dialog.getByLabel(`Type ${order} to confirm`).fill(order)
    await last.click()
    await page.getByText("4 rows").waitFor()
    assert.deepStrictEqual(
      await sql(service, `select id from ${order} order by id`),
      [1, 4, 5, 6].map((id) => ({ id }))
    )
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
