import { type Page } from "playwright-core"
import { assert, describe, inject, it } from "vitest"
import { ask } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { makeShop } from "../support/ui/tables.ts"

const service = inject("service")
checkPages()

interface Entry {
  readonly id: number
  readonly name: string
  readonly revision: number
  readonly content: { readonly sql: string }
}
const key = service.service_role
const list = async (kind: string) =>
  (await ask(service, `GET /api/workspace/items?kind=${kind}`, { key })).json as ReadonlyArray<Entry>
const read = async (name: string) => {
  const found = (await list("query")).find((one) => one.name === name)
  return (await ask(service, `GET /api/workspace/items/${found?.id}`, { key })).json as Entry
}
const save = async (body: object, by = key) =>
  (await ask(service, "POST /api/workspace/items", { key: by, body })).json as Entry
/** A key of another owner. */
const colleague = async () => {
  const body = { keyType: "service_role", label: "Colleague" }
  return ((await ask(service, "POST /api/keys", { key, body })).json as { readonly secret: string }).secret
}

const openSql = async (page: Page, address = "/sql") => {
  await page.goto(at(address))
  await page.getByRole("textbox", { name: "SQL statement" }).waitFor()
}
const write = async (page: Page, text: string) => {
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.press("Control+a")
  await page.keyboard.insertText(text)
  await page.keyboard.press("Escape")
}
const saved = (page: Page) => page.getByRole("dialog", { name: "Saved queries" })
const editor = (page: Page, text: string) => page.getByRole("textbox", { name: "SQL statement" }).getByText(text)

describe("saved queries", () => {
  it("are kept by the service with their chart, shared by a switch, and come back after they are removed", async () => {
    const page = await openPage()
    await openSql(page)
    await write(page, "select date '2026-01-01' + i as day, i as total from generate_series(1, 9) i")
    await page.keyboard.press("Control+Enter")
    await page.getByRole("button", { name: "Chart", exact: true }).click()
    await page.getByRole("button", { name: "Saved queries" }).click()
    await saved(page).getByLabel("Save this query as").fill("totals")
    await saved(page).getByRole("switch", { name: "Share with the team" }).check()
    await saved(page).getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("totals saved and shared").waitFor()

    const other = await openPage()
    await openSql(other)
    await other.keyboard.press("Control+k")
    await other.keyboard.type("totals")
    await other.getByRole("option", { name: "totals Saved query" }).click()
    await editor(other, "generate_series(1, 9)").waitFor()
    await other.getByRole("textbox", { name: "SQL statement" }).click()
    await other.keyboard.press("Control+Enter")
    await other.getByRole("img", { name: /^Line of total by day/ }).waitFor()

    await other.getByRole("button", { name: "Saved queries" }).click()
    await saved(other).getByRole("button", { name: "Remove totals" }).click()
    await other.getByText("totals removed").waitFor()
    assert.notInclude(
      (await list("query")).map(({ name }) => name),
      "totals"
    )
    await other.keyboard.press("Escape")
    await other.getByRole("button", { name: "Undo" }).click()
    await other.getByRole("button", { name: "Saved queries" }).click()
    await saved(other).getByRole("button", { name: "Stop sharing totals" }).waitFor()
  })

  it("that another page has changed are replaced only after that was shown", async () => {
    const { id } = await save({ name: "contested", content: { sql: "select 1" } })
    const page = await openPage()
    await openSql(page, `/sql?saved=${id}`)
    await editor(page, "select 1").waitFor()
    const changed = { content: { sql: "select 'theirs'" } }
    await ask(service, `PATCH /api/workspace/items/${id}`, { key, body: changed })
    await write(page, "select 'mine'")
    await page.getByRole("button", { name: "Saved queries" }).click()
    await saved(page).getByRole("button", { name: "Replace", exact: true }).click()
    await saved(page).getByText("contested was changed elsewhere meanwhile").waitFor()
    assert.strictEqual((await read("contested")).content.sql, "select 'theirs'")
    await saved(page).getByRole("button", { name: "Replace all the same" }).click()
    await page.getByText("contested saved").waitFor()
    assert.strictEqual((await read("contested")).content.sql, "select 'mine'")
  })

  it("of others can be opened if they are shared, and not changed", async () => {
    const theirs = await colleague()
    await save({ name: "report of a colleague", shared: true, content: { sql: "select 'shared'" } }, theirs)
    await save({ name: "private of a colleague", content: { sql: "select 'private'" } }, theirs)
    const page = await openPage()
    await openSql(page)
    await page.getByRole("button", { name: "Saved queries" }).click()
    await saved(page).getByText("of Colleague").waitFor()
    assert.strictEqual(await saved(page).getByText("private of a colleague").count(), 0)
    assert.strictEqual(await saved(page).getByRole("button", { name: "Remove report of a colleague" }).count(), 0)
    await saved(page)
      .getByRole("button", { name: /^report of a colleague/ })
      .click()
    await editor(page, "select 'shared'").waitFor()
  })

  it("and the history that the browser of an earlier version has kept are taken over, once", async () => {
    await save({ name: "in both", content: { sql: "select 'at the service'" } })
    const page = await openPage()
    await page.goto(at("/keys"))
    await page.getByRole("table").waitFor()
    await page.evaluate(() => {
      const queries = [
        { name: "only in the browser", text: "select $1", values: { 1: "kept" } },
        { name: "in both", text: "select 'in the browser'" },
        { name: "empty", text: "" }
      ]
      localStorage.setItem("svc.sql.saved", JSON.stringify(queries))
      const ran = [{ at: Date.now() - 60_000, text: "select 'ran in the browser'", millis: 1 }]
      localStorage.setItem("svc.sql.history", JSON.stringify(ran))
    })
    await page.keyboard.press("Control+k")
    await page.keyboard.type("only in the browser")
    await page.getByRole("option", { name: "only in the browser" }).click()
    await editor(page, "select $1").waitFor()
    await page.getByRole("textbox", { name: "Value of $1" }).or(page.getByLabel("$1")).first().waitFor()
    assert.strictEqual((await read("in both")).content.sql, "select 'at the service'")
    const names = (await list("query")).map(({ name }) => name)
    assert.strictEqual(names.filter((name) => name.startsWith("in both (")).length, 1)
    await page.getByRole("button", { name: "History" }).click()
    await page.getByRole("button", { name: /ran in the browser/ }).waitFor()
    const left = await page.evaluate(() => Object.keys(localStorage).filter((name) => /saved|history/.test(name)))
    assert.deepStrictEqual(left, [])
  })
})

describe("views of a table", () => {
  it("keep filters, order, and how columns are shown, for the team", async () => {
    const { order } = await makeShop(3)
    const page = await openPage()
    await page.goto(at(`/tables/public/${order}?id=gt.1&order=id.desc`))
    await page.getByRole("gridcell").first().waitFor()
    await page.getByRole("button", { name: "Columns" }).click()
    await page
      .getByRole("dialog", { name: "Columns" })
      .getByRole("button", { name: /^total/ })
      .click()
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "Views of this table" }).click()
    const views = page.getByRole("dialog", { name: "Views of this table" })
    await views.getByLabel("Save this view as").fill("Newest")
    await views.getByRole("switch", { name: "Share with the team" }).check()
    await views.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByText("Newest saved and shared").waitFor()

    const other = await openPage()
    await other.goto(at(`/tables/public/${order}`))
    await other.getByRole("columnheader", { name: "total" }).waitFor()
    await other.getByRole("button", { name: "Views of this table" }).click()
    await other.getByRole("button", { name: /^Newest/ }).click()
    await other.waitForURL(/id=gt\.1&order=id\.desc/)
    await other.getByRole("listitem").filter({ hasText: "greater than" }).waitFor()
    await other.getByRole("columnheader", { name: "total" }).waitFor({ state: "detached" })
    await other.getByRole("button", { name: "Newest", exact: true }).waitFor()
  })
})

describe("boards", () => {
  it("show the charts of saved queries, which only read", async () => {
    const chart = { on: true, y: "total" }
    const { id } = await save({
      name: "sums",
      content: { sql: "select i as day, i * 2 as total from generate_series(1, 5) i;", chart }
    })
    await save({
      name: "texts",
      content: { sql: "select 'a text' as words, $1::text as given", values: { 1: "value" } }
    })
    const writing = await save({ name: "writing", content: { sql: "create table made_by_a_board (id int)" } })
    const page = await openPage()
    await page.goto(at("/boards"))
    await page.getByRole("button", { name: "New board" }).click()
    await page.getByRole("dialog").getByLabel("Name").fill("Sales")
    await page.getByRole("button", { name: "Create board" }).click()
    await page.getByText("No charts yet").waitFor()
    for (const name of ["sums", "texts", "writing"]) {
      await page.getByRole("button", { name: "Add chart" }).click()
      await page.getByRole("dialog", { name: "Add a chart" }).getByRole("button", { name, exact: true }).click()
      await page.getByRole("region", { name, exact: true }).waitFor()
    }
    await page
      .getByRole("region", { name: "sums" })
      .getByRole("img", { name: /^Line of total by day: 5 points/ })
      .waitFor()
    await page.getByRole("region", { name: "texts" }).getByRole("cell", { name: "value" }).waitFor()
    await page.getByRole("region", { name: "writing" }).getByText("read-only transaction").waitFor()

    await page.getByRole("button", { name: "Change the chart texts" }).click()
    await page.getByRole("button", { name: "Move before" }).click()
    await page.getByRole("button", { name: "Change the chart sums" }).click()
    await page.getByRole("button", { name: "Full width" }).click()
    await page.getByText("Share with the team").click()
    await page.getByText("only you see this chart").first().waitFor()
    await page.reload()
    await page.getByRole("img", { name: /^Line of total/ }).waitFor()
    const order = await page.getByRole("heading", { level: 3 }).allTextContents()
    assert.deepStrictEqual(order, ["texts", "sums", "writing"])
    await ask(service, `DELETE /api/workspace/items/${writing.id}`, { key })
    await page.reload()
    await page.getByText("was removed, or its owner does not share it").waitFor()
    assert.isAbove(id, 0)
    await page.getByRole("button", { name: "Remove this board" }).click()
    await page.getByText("Sales removed").waitFor()
  })
})
