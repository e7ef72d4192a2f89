import { assert, describe, inject, it } from "vitest"
import { sql } from "../support/client.ts"
import { at, checkPages, openPage, watchTasks } from "../support/ui/dashboard.ts"
import { makeShop } from "../support/ui/tables.ts"
import { assertCount } from "../support/ui/counts.ts"

/** What users of other dashboards complain about, as far as the tests of the pages do not show it. */

const service = inject("service")
checkPages()
let made = 0
const makeTable = async (columns: string, ...statements: ReadonlyArray<string>) => {
  const name = `plain_${process.pid}_${++made}`
  await sql(service, `create table ${name} (${columns})`)
  for (const statement of statements) await sql(service, statement.replaceAll("TABLE", name))
  return name
}

describe("a table", () => {
  it("is opened by its first hundred rows, and nothing is counted exactly", async () => {
    const table = await makeTable(
      "id int primary key, note text",
      "insert into TABLE select i, 'note' from generate_series(1, 30000) i",
      "analyze TABLE"
    )
    const page = await openPage()
    const asked: Array<{ readonly query: URLSearchParams; readonly prefer: string }> = []
    page.on("request", (request) => {
      const url = new URL(request.url())
      if (url.pathname.startsWith("/v1/db/"))
        asked.push({ query: url.searchParams, prefer: request.headers()["prefer"] ?? "" })
    })
    await page.goto(at("/tables"))
    await page.getByRole("link", { name: table }).waitFor()
    assert.deepStrictEqual(asked, [], "the list of tables reads no rows")
    // On a slow network the shape of rows is shown meanwhile.
    let arrive = () => {}
    const arrived = new Promise<void>((done) => (arrive = done))
    await page.route("**/v1/db/**", (route) => arrived.then(() => route.continue()))
    await page.getByRole("link", { name: table }).click()
    await page.locator(".waiting .bar").first().waitFor()
    arrive()
    await page.locator(".waiting").waitFor({ state: "detached" })
    await page.getByText("about 30,000 rows").waitFor()
    assert.isNotEmpty(asked)
    for (const { prefer, query } of asked) {
      assert.strictEqual(query.get("limit"), "100")
      assert.notInclude(prefer, "exact")
    }
  })

  it("with a value of a megabyte reads its beginning, and all of it for the panel of the row and for an edit", async () => {
    const table = await makeTable(
      "id int primary key, doc jsonb, note text",
      `insert into TABLE values (1, jsonb_build_object('text', repeat('x', 1000000)), repeat('y', 50000))`
    )
    const page = await openPage({ permissions: ["clipboard-read", "clipboard-write"] })
    const first = page.waitForResponse((response) => response.url().includes(`/v1/db/${table}?`))
    await page.goto(at(`/tables/public/${table}`))
    await page.getByRole("gridcell", { name: /^yyy/ }).waitFor()
    assert.isBelow((await (await first).body()).length, 2000)
    const longest = await page.evaluate(() =>
      Math.max(...Array.from(document.querySelectorAll("[role=gridcell]"), (cell) => cell.textContent?.length ?? 0))
    )
    assert.isAtMost(longest, 401)
    await page.getByRole("grid").focus()
    await page.keyboard.press(" ")
    const panel = page.getByRole("complementary", { name: "Row 1" })
    await panel.getByText(/y{500}/).waitFor()
    assert.isAbove((await panel.textContent())?.length ?? 0, 1_050_000)

    // Once it has been read again, only its beginning is there again: an edit must not save that.
    await page.getByRole("button", { name: "Close" }).click()
    await page.getByRole("button", { name: "Read again" }).click()
    await page.getByRole("gridcell", { name: /^yyy/ }).waitFor()
    await page.getByRole("grid").focus()
    await page.keyboard.press("End")
    await page.keyboard.press("Control+c")
    await page.getByText("Cell copied").waitFor()
    assert.strictEqual(await page.evaluate(async () => (await navigator.clipboard.readText()).length), 50_000)
    await page.keyboard.press("Enter")
    const editor = page.getByRole("textbox", { name: "note, text" })
    await editor.waitFor()
    await page.keyboard.press("Control+End")
    await page.keyboard.type("!")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Control+s")
    await page.getByRole("dialog", { name: "Review changes" }).getByRole("button", { name: "Save" }).click()
    await page.getByText("1 row saved").waitFor()
    const [row] = await sql(service, `select right(note, 2) as end, length(note) as length from ${table}`)
    assert.deepStrictEqual(row, { end: "y!", length: 50_001 })

    // More than one transaction takes, with the old value: said before it is sent, and kept.
    await page.getByRole("grid").focus()
    await page.keyboard.press("Control+Home")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Enter")
    await page.getByRole("textbox", { name: "doc, jsonb" }).fill(JSON.stringify({ text: "z".repeat(60_000) }))
    await page.keyboard.press("Control+Enter")
    await page.keyboard.press("Control+s")
    const review = page.getByRole("dialog", { name: "Review changes" })
    await review.getByText("one transaction takes 1 MiB").waitFor()
    assert.strictEqual(await review.getByRole("button", { name: "Save" }).getAttribute("aria-disabled"), "true")
    await review.getByRole("button", { name: "Go on editing" }).click()
    await page.getByRole("region", { name: "Unsaved changes" }).getByText("1 unsaved change").waitFor()
  })

  it("without a primary key is read page by page, changed and emptied, unless a row has changed meanwhile", async () => {
    const table = await makeTable(
      "no int, note text, doc jsonb",
      `insert into TABLE select i, 'note ' || i, jsonb_build_object('x', repeat('x', 250 * (i % 2) + 250)) from generate_series(1, 450) i`,
      "insert into TABLE select * from TABLE where no = 1",
      "analyze TABLE"
    )
    const page = await openPage()
    await page.goto(at(`/tables/public/${table}`))
    await page.getByText("451 rows").waitFor()
    await page.getByText(/^This table has no primary key/).waitFor()
    await page.getByRole("grid").focus()
    await page.keyboard.press("Control+End")
    await page.getByRole("row", { name: /^451/ }).getByText("note 1", { exact: true }).waitFor()
    const edit = async (text: string) => {
      await page.keyboard.press("Control+Home")
      await page.keyboard.press("ArrowRight")
      await page.keyboard.press("Enter")
      await page.getByRole("textbox", { name: "note, text" }).fill(text)
      await page.keyboard.press("Enter")
      await page.keyboard.press("Control+s")
      await page.getByRole("dialog", { name: "Review changes" }).getByRole("button", { name: "Save" }).click()
    }
    await edit("mine")
    await page.getByText("1 row saved").waitFor()
    const notes = () =>
      sql(service, `select note, count(*)::int as n from ${table} where no = 1 group by note order by note`)
    // One of the two equal rows.
    assert.deepStrictEqual(await notes(), [
      { note: "mine", n: 1 },
      { note: "note 1", n: 1 }
    ])
    // The first row is now the second one. Another value of it changes.
    await page.getByRole("row", { name: /^1 / }).getByText("note 2", { exact: true }).waitFor()
    await sql(service, `update ${table} set doc = '{"x": 1}' where no = 2`)
    await edit("lost")
    await page.getByText("was changed or deleted by another user").waitFor()
    await page.getByRole("button", { name: "Go on editing" }).click()
    await page.getByRole("button", { name: "Discard" }).click()
    await page.getByRole("button", { name: "Read again" }).click()

    await page.getByRole("row", { name: /^1 / }).getByText("note 3", { exact: true }).waitFor()
    await page.getByRole("grid").focus()
    await page.keyboard.press("Control+Home")
    for (const key of ["Shift+Space", "ArrowDown", "Shift+Space"]) await page.keyboard.press(key)
    await sql(service, `update ${table} set note = 'changed' where no = 4`)
    await page.getByRole("button", { name: "Delete", exact: true }).click()
    const confirm = page.getByRole("dialog", { name: /^Delete 2 rows/ })
    await confirm.getByRole("button", { name: "Delete 2 rows" }).click()
    await confirm.getByText("Nothing was deleted").waitFor()
    await page.keyboard.press("Escape")
    assert.deepStrictEqual(await sql(service, `select count(*)::int as n from ${table}`), [{ n: 451 }])
  })

  it("hides columns, and remembers which", async () => {
    const { order } = await makeShop(5)
    const page = await openPage()
    await page.goto(at(`/tables/public/${order}`))
    await page.getByRole("columnheader", { name: /^note/ }).waitFor()
    await page.getByRole("button", { name: "Columns" }).click()
    await page.getByRole("button", { name: /^note/, pressed: true }).click()
    await page.getByRole("columnheader", { name: /^note/ }).waitFor({ state: "detached" })
    await page.reload()
    await page.getByRole("columnheader", { name: /^total/ }).waitFor()
    await assertCount(page.getByRole("columnheader", { name: /^note/ }), 0)
  })

  it("follows a reference by two columns as a whole, from the row that is referred to", async () => {
    const parent = await makeTable(
      "region text, id int, primary key (region, id)",
      "insert into TABLE values ('eu', 1), ('us', 1)"
    )
    const child = await makeTable(
      `no int primary key, region text, parent int, foreign key (region, parent) references ${parent}`,
      "insert into TABLE values (1, 'eu', 1), (2, 'eu', 1), (3, 'us', 1)"
    )
    const page = await openPage()
    await page.goto(at(`/tables/public/${parent}?order=region.asc`))
    await page.getByRole("gridcell", { name: "eu" }).waitFor()
    await page.getByRole("grid").focus()
    await page.keyboard.press(" ")
    const link = page.getByRole("complementary").getByRole("link", { name: new RegExp(child) })
    await link.click()
    await page.getByText("2 rows", { exact: true }).waitFor()
    assert.include(decodeURIComponent(page.url()), "region=eq.eu")
  })

  it("with changes that are not saved asks before the tab is closed or loaded again", async () => {
    const { order } = await makeShop(5)
    const page = await openPage()
    await page.goto(at(`/tables/public/${order}`))
    await page
      .getByRole("gridcell", { name: /Customer/ })
      .first()
      .waitFor()
    await page.getByRole("grid").focus()
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "x", "Enter"])
      await page.keyboard.press(key)
    await page.getByRole("region", { name: "Unsaved changes" }).waitFor()
    const asked = page.waitForEvent("dialog")
    await page.evaluate(() => {
      setTimeout(() => location.reload())
    })
    const dialog = await asked
    assert.strictEqual(dialog.type(), "beforeunload")
    await dialog.dismiss()
    await page.getByRole("region", { name: "Unsaved changes" }).waitFor()
  })

  it("says what it has just asked, as a command without the key", async () => {
    const { order } = await makeShop(5)
    const page = await openPage({ permissions: ["clipboard-read", "clipboard-write"] })
    await page.goto(at(`/tables/public/${order}?total=gt.2`))
    await page.getByText("4 rows").waitFor()
    await page.getByRole("button", { name: "Copy request" }).click()
    const text = await page.evaluate(() => navigator.clipboard.readText())
    assert.match(text, /^curl /)
    assert.include(text, `/v1/db/${order}?`)
    assert.include(text, "total=gt.2")
    assert.include(text, "$SERVICE_KEY")
  })
})

describe("2,000 tables", () => {
  it("do not hold up the list, the search, the SQL editor or the schema", async () => {
    const { order } = await makeShop(1)
    const page = await openPage()
    // As if the database had them: to make them would hold up the tests beside.
    await page.route("**/v1/database/schema*", async (route) => {
      const response = await route.fetch()
      const schema = (await response.json()) as { readonly tables: ReadonlyArray<{ readonly name: string }> }
      const one = schema.tables.find(({ name }) => name === order)
      const tables = Array.from({ length: 2000 }, (_, at) => ({ ...one, name: `many_${at}_tables` }))
      await route.fulfill({ response, json: { ...schema, tables } })
    })
    const longest = await watchTasks(page)
    // And 200 queries that are saved.
    await page.addInitScript(() => {
      const queries = Array.from({ length: 200 }, (_, at) => ({ name: `query ${at}`, text: `select ${at}` }))
      localStorage.setItem("svc.sql.saved", JSON.stringify(queries))
    })
    await page.goto(at("/tables"))
    await page.getByRole("searchbox", { name: "Find a table" }).fill("many_1999")
    await page.getByRole("link", { name: "many_1999_tables" }).waitFor()
    await page.keyboard.press("Control+k")
    await page.keyboard.type("many_1998")
    await page.getByRole("option", { name: "many_1998_tables" }).waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "SQL workbench" }).click()
    await page.getByRole("textbox", { name: "SQL statement" }).click()
    await page.getByRole("button", { name: "Saved queries" }).click()
    await page.getByText("query 199").waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("textbox", { name: "SQL statement" }).click()
    await page.keyboard.type("select * from many_1997")
    await page.getByRole("option", { name: "many_1997_tables" }).waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Schema" }).click()
    await page.getByText(/more: narrow the search down/).waitFor()
    // On a machine with other work; what takes quadratic time takes minutes.
    assert.isBelow(await longest(), 5000)
  })
})
