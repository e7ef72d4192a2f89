import { type Page } from "playwright-core"
import { assert, describe, inject, it } from "vitest"
import { sql } from "../support/client.ts"
import { at, checkPages, openPage, watchTasks } from "../support/ui/dashboard.ts"
import { makeShop } from "../support/ui/tables.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()

const open = async (options: Parameters<typeof openPage>[0] = {}) => {
  const page = await openPage(options)
  await page.goto(at("/sql"))
  await page.getByRole("textbox", { name: "SQL statement" }).waitFor()
  return page
}
const write = async (page: Page, text: string) => {
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.press("Control+a")
  await page.keyboard.insertText(text)
  await page.keyboard.press("Escape")
}
const run = async (page: Page, text: string) => {
  await write(page, text)
  await page.keyboard.press("Control+Enter")
}
const result = (page: Page) => page.getByRole("region", { name: "Result" })

describe("reading", () => {
  it("runs the statement at the cursor, with exact numbers", async () => {
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] })
    await run(page, `select 1 as one;\n\nselect 9007199254740993 as big, 218.90 as price, '{"n": 1.10}'::jsonb as doc`)
    await result(page).getByText("9007199254740993").waitFor()
    await result(page).getByText("218.90").waitFor()
    await result(page).getByText('{"n":1.10}').waitFor()
    await page.getByRole("button", { name: "Copy", exact: true }).click()
    await page.getByRole("button", { name: "Request", exact: true }).click()
    const request = await page.evaluate(() => navigator.clipboard.readText())
    assert.match(
      request,
      /^curl -H "apikey: \$SERVICE_KEY" .*--data-raw '\{"sql":"select 9007.*"read_only":true\}' 'http.*\/v1\/sql'$/
    )
    await assertCount(result(page).getByText("one", { exact: true }), 0)
  })

  it("completes columns behind an alias", async () => {
    const { customer } = await makeShop(1)
    const page = await open()
    await write(page, "")
    await page.keyboard.type(`select c.ema from ${customer} c`)
    for (let left = ` from ${customer} c`.length; left > 0; left--) await page.keyboard.press("ArrowLeft")
    await page.keyboard.type("i")
    await page.getByRole("option", { name: /email/ }).waitFor()
  })

  it("underlines an error at its place, also after an emoji", async () => {
    const page = await open()
    await run(page, "select '🙂🙂' as face, naem from pg_class")
    await page.getByRole("alert").getByText('column "naem" does not exist').waitFor()
    assert.strictEqual(await page.locator(".cm-lintRange-error").textContent(), "naem")
  })

  it("can be stopped, in the database too", async () => {
    const page = await open()
    await run(page, "select pg_sleep(25) as e2e_ui_sleep")
    await page.getByRole("button", { name: "Stop" }).click()
    await page.getByText("Nothing has run yet").waitFor()
    const left = async () =>
      (await sql(service, "select 1 from pg_stat_activity where state = 'active' and query ~ 'e2e_ui_slee[p]'")).length
    for (let tries = 0; tries < 50 && (await left()) > 0; tries++) await page.waitForTimeout(50)
    assert.strictEqual(await left(), 0)
  })

  it("explains by plan, without running a write", async () => {
    const { order } = await makeShop(100)
    const page = await open()
    await write(page, `select * from ${order} where total > 5`)
    await page.keyboard.press("Control+Shift+Enter")
    await page.getByRole("region", { name: "Query plan" }).getByText("Seq Scan").first().waitFor()
    await write(page, `delete from ${order}`)
    await page.keyboard.press("Control+Shift+Enter")
    await page.getByText("Nothing was written").waitFor()
    assert.deepStrictEqual(await sql(service, `select count(*)::int as n from ${order}`), [{ n: 100 }])
  })

  it("sends the values of parameters, NULL and the empty text too, and asks for those that are missing", async () => {
    const { order } = await makeShop(3)
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] })
    const field = (number: number) => page.getByRole("textbox", { name: `$${number}`, exact: true })
    await write(page, `select 'no $1', "no $2".x from (select $$ $3 $$ || $t$ $4 $t$ as x /* $5 */) "no $2" -- $6`)
    await assertCount(page.getByRole("group", { name: "Parameters" }), 0)
    await write(
      page,
      `select id || '-' || coalesce($2, 'none') || '-' || coalesce($10, 'none') as found from ${order} where id = $1::int + 0`
    )
    await field(10).waitFor()
    await assertCount(page.getByRole("group", { name: "Parameters" }).getByRole("textbox"), 3)
    const requests: Array<string> = []
    page.on("request", (request) => {
      if (request.url().includes("/v1/sql")) requests.push(request.postData() ?? "")
    })
    await page.keyboard.press("Control+Enter")
    await page.getByRole("alert").first().waitFor()
    await assertCount(page.getByText("Enter a value, or choose NULL or empty"), 3)
    assert.isTrue(await field(1).evaluate((element) => element === document.activeElement))
    assert.deepStrictEqual(requests, [])
    await field(1).fill("2")
    await page.getByRole("button", { name: "$2 is the empty text" }).click()
    await page.getByRole("button", { name: "$10 is NULL" }).click()
    // PostgreSQL counts parameters: it has to know the types of those that the statement leaves out, too.
    await field(10).press("Control+Enter")
    await page.getByRole("alert").getByText("could not determine data type of parameter $3").waitFor()
    const statement = `select id || '-' || coalesce($2, 'none') || '-' || coalesce($3, 'none') as found from ${order} where id = $1`
    await write(page, statement)
    await page.getByRole("button", { name: "$3 is NULL" }).click()
    await field(1).press("Control+Enter")
    await result(page).getByText("2--none", { exact: true }).waitFor()
    assert.include(requests.at(-1), '"params":["2","",null]')
    await page.getByRole("button", { name: "Copy", exact: true }).click()
    await page.getByRole("button", { name: "Request", exact: true }).click()
    assert.include(await page.evaluate(() => navigator.clipboard.readText()), '"params":["2","",null]')
    await field(1).fill("no number")
    await field(1).press("Control+Enter")
    await page.getByRole("alert").getByText('invalid input syntax for type integer: "no number"').waitFor()
    await field(1).fill("3")
    await field(1).press("Control+Shift+Enter")
    await page.getByRole("region", { name: "Query plan" }).waitFor()
    assert.include(requests.at(-1), '"params":["3","",null]')
    await page.getByRole("button", { name: "View as" }).click()
    await page.getByLabel("A signed-in user").check()
    await page.getByLabel("User (claim sub)").fill("7")
    await page.getByRole("button", { name: "Use", exact: true }).click()
    await sql(service, `grant select on ${order} to authenticated`)
    await field(1).press("Control+Enter")
    await result(page).getByText("3--none", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Saved queries" }).click()
    await page.getByLabel("Save this query as").fill("By number")
    await page.getByRole("button", { name: "Save", exact: true }).click()
    // The values stay with the query, with what was saved, and with what has run.
    await page.reload()
    await field(1).waitFor()
    assert.strictEqual(await field(1).inputValue(), "3")
    assert.strictEqual(await field(2).getAttribute("placeholder"), "EMPTY")
    assert.strictEqual(await field(3).getAttribute("placeholder"), "NULL")
    await page.getByRole("button", { name: "Close this query" }).waitFor({ state: "detached" })
    await page.getByRole("button", { name: "New query" }).click()
    await field(1).waitFor({ state: "detached" })
    await page.getByRole("button", { name: "History" }).click()
    await page
      .getByRole("button", { name: new RegExp(`\\$2, 'none'.*just now`) })
      .first()
      .click()
    await field(1).waitFor()
    assert.strictEqual(await field(1).inputValue(), "3")
    await page.getByRole("button", { name: "Close this query" }).click()
    await page.getByRole("button", { name: "Close this query" }).waitFor({ state: "detached" })
    await field(1).fill("1")
    await write(page, "select 1")
    await page.getByRole("button", { name: "Saved queries" }).click()
    await page.getByRole("button", { name: "By number", exact: true }).click()
    await field(1).waitFor()
    assert.strictEqual(await field(1).inputValue(), "3")
    assert.strictEqual(await field(3).getAttribute("placeholder"), "NULL")
  })

  it("runs as a user, under the policies", async () => {
    const { order } = await makeShop(90)
    await sql(service, `alter table ${order} enable row level security`)
    await sql(
      service,
      `create policy own on ${order} for select using (customer_id::text = current_setting('request.jwt.sub', true))`
    )
    const page = await open()
    const count = async (expected: string) => {
      await run(page, `select count(*) || ' rows' as seen from ${order}`)
      await result(page).getByText(expected, { exact: true }).waitFor()
    }
    await count("90 rows")
    await page.getByRole("button", { name: "View as" }).click()
    await page.getByLabel("A signed-in user").check()
    await page.getByLabel("User (claim sub)").fill("7")
    await page.getByRole("button", { name: "Use", exact: true }).click()
    await count("3 rows")
    await page.getByRole("button", { name: "As user 7" }).click()
    await page.getByLabel("An anon key without a user").check()
    await page.getByRole("button", { name: "Use", exact: true }).click()
    await count("0 rows")
  })

  it("shows and copies 10,000 rows of 50 columns without holding up the page or holding them in it", async () => {
    const page = await openPage({ permissions: ["clipboard-read", "clipboard-write"] })
    const longest = await watchTasks(page)
    await page.goto(at("/sql"))
    const more = Array.from({ length: 49 }, (_, at) => `i * 1.10 + ${at} as c${at}`)
    await page.getByLabel("Rows to read at most").selectOption("10000")
    await write(page, `select ${more}, 'row ' || i as name from generate_series(1, 20000) i`)
    await longest()
    await page.keyboard.press("Control+Enter")
    await page.getByText(/first 10,000 rows/).waitFor()
    await result(page).evaluate((element) => (element.scrollTop = element.scrollHeight))
    await result(page).getByText("row 10000", { exact: true }).waitFor()
    assert.isBelow(await result(page).locator("tr").count(), 100)
    await page.getByRole("button", { name: "Copy", exact: true }).click()
    await page.getByRole("button", { name: "CSV", exact: true }).click()
    await page.getByText("CSV copied").waitFor()
    const lines = (await page.evaluate(() => navigator.clipboard.readText())).trimEnd().split("\r\n")
    assert.strictEqual(lines.length, 10_001)
    assert.match(lines.at(-1) ?? "", /^11000\.00,11001\.00,.*,row 10000$/)
    // To parse all values at once takes 800 ms and more, and to copy them as much again; this takes about 150.
    assert.isBelow(await longest(), 600)
  })

  it("shows each row and value as a whole, by keyboard", async () => {
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] })
    await run(
      page,
      `select i, repeat('long ', 200) || i as text, '' as empty, '{"n": 1.10}'::jsonb as doc from generate_series(1, 30) i`
    )
    const grid = result(page).getByRole("grid", { name: "Rows" })
    await grid.focus()
    for (const key of ["ArrowDown", "ArrowRight", "Control+c"]) await page.keyboard.press(key)
    await page.getByText("Cell copied").waitFor()
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^(?:long ){200}2$/)
    await page.keyboard.press("Enter")
    const panel = page.getByRole("complementary")
    await panel.getByText(/long 2$/).waitFor()
    await page.keyboard.press("Control+End")
    await page
      .getByRole("complementary", { name: "Row 30" })
      .getByText(/long 30$/)
      .waitFor()
    await panel.getByText("EMPTY", { exact: true }).waitFor()
    await panel.getByText('"n": 1.10').waitFor()
    await panel.getByRole("button", { name: "Copy as JSON" }).click()
    await page.getByText("Row copied").waitFor()
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /"doc": ?\{"n": ?1\.10\}/)
    await page.keyboard.press("Escape")
    await panel.waitFor({ state: "detached" })
    assert.isTrue(await grid.evaluate((element) => element === document.activeElement))
  })

  it("draws a column of numbers by another, with exact values, by keyboard, without holding up the page", async () => {
    const page = await openPage()
    const longest = await watchTasks(page)
    await page.goto(at("/sql"))
    await write(
      page,
      "select date '2026-01-01' + i as day, case when i % 7 > 0 then 9007199254740993 - i * 1.10 end as total, 'row ' || i as name from generate_series(0, 2999) i"
    )
    await page.getByLabel("Rows to read at most").selectOption("10000")
    await page.getByRole("textbox", { name: "SQL statement" }).focus()
    await page.keyboard.press("Control+Enter")
    await result(page).getByText("row 0", { exact: true }).waitFor()
    await longest()
    await page.getByRole("button", { name: "Chart", exact: true }).press("Enter")
    const chart = page.getByRole("region", { name: "Chart" })
    await chart
      .getByRole("img", {
        name: "Line of total by day: 3,000 points from 2026-01-01 to 2034-03-19, 429 without a value; least 9007199254737694.10 at 2034-03-19, most 9007199254740991.90 at 2026-01-02"
      })
      .waitFor()
    const point = chart.getByRole("slider", { name: "Point" })
    await point.press("Home")
    await chart.getByText("day 2026-01-01 · total NULL").waitFor()
    await point.press("ArrowRight")
    assert.strictEqual(await point.getAttribute("aria-valuetext"), "day 2026-01-02, total 9007199254740991.90")
    const box = await chart.getByRole("img").boundingBox()
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) - 14, (box?.y ?? 0) + 20)
    await chart.getByText("day 2034-03-19 · total 9007199254737694.10").waitFor()
    await chart.getByRole("button", { name: "Bars" }).click()
    await chart.getByRole("img", { name: /^Bars of total by day: 3,000 points/ }).waitFor()
    await chart.getByLabel("Across").selectOption("name")
    await chart.getByRole("img", { name: /^Bars of total by name: 3,000 points from row 0 to row 2999/ }).waitFor()
    assert.strictEqual(
      await chart
        .locator("path")
        .getAttribute("d")
        .then((d) => d?.split("M").length),
      2572
    )
    assert.isBelow(await longest(), 300)
    // The view and its columns stay, also for another result.
    await run(page, "select 'only' as name, -1.50 as total")
    await chart.getByRole("img", { name: /^Bars of total by name: 1 point from only to only; least -1.50/ }).waitFor()
    await run(page, "select null::int as total, 'x' as name")
    await chart.getByText("No row has a number in total").waitFor()
    await run(page, "select 'a' as name")
    await page.getByText("No column is a number").waitFor()
    await page.getByRole("button", { name: "Rows", exact: true }).click()
    await result(page).getByText("a", { exact: true }).waitFor()
  })

  it("of several statements shows the result that is chosen", async () => {
    const page = await open()
    await write(page, "select 'first' as one; select 'second' as two")
    await page.keyboard.press("Control+a")
    await page.keyboard.press("Control+Enter")
    await result(page).getByText("second", { exact: true }).waitFor()
    await page.getByLabel("Result", { exact: true }).and(page.getByRole("combobox")).selectOption("1. SELECT")
    await result(page).getByText("first", { exact: true }).waitFor()
  })
})

describe("writing", () => {
  it("is refused by PostgreSQL until it is allowed for this query, once", async () => {
    const { order } = await makeShop(5)
    const page = await open()
    const remove = `with x as (delete from ${order} where id <= 2 returning 1) select count(*) || ' deleted' as n from x`
    await run(page, remove)
    await page.getByText("Nothing was written").waitFor()
    await page.getByRole("switch", { name: "Allow writes" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Allow writes" }).click()
    await run(page, remove)
    await result(page).getByText("2 deleted").waitFor()
    await page.getByRole("button", { name: "New query" }).click()
    assert.isFalse(await page.getByRole("switch", { name: "Allow writes" }).isChecked())
    await run(page, `delete from ${order}`)
    await page.getByText("Nothing was written").waitFor()
    assert.deepStrictEqual(await sql(service, `select count(*)::int as n from ${order}`), [{ n: 3 }])
  })

  it("of a table shows it at once", async () => {
    const { order } = await makeShop(1)
    const page = await open()
    await page.getByRole("switch", { name: "Allow writes" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Allow writes" }).click()
    await run(page, `create table ${order}_new (id int primary key)`)
    await page.getByRole("heading", { name: "CREATE TABLE" }).waitFor()
    await page.getByRole("link", { name: "Tables", exact: true }).click()
    await page.getByRole("link", { name: `${order}_new` }).waitFor()
  })
})

describe("a query", () => {
  it("keeps its own result, also while it runs again, and its text when it is closed by mistake", async () => {
    const page = await open()
    await run(page, "select 'of the first' as k")
    await result(page).getByText("of the first").waitFor()
    await page.getByRole("button", { name: "New query" }).click()
    await page.getByText("Nothing has run yet").waitFor()
    await run(page, "select pg_sleep(25) as e2e_ui_tab_sleep")
    await page.getByRole("heading", { name: "Running…" }).waitFor()
    await page.getByRole("tab", { name: "Query 1" }).click()
    await result(page).getByText("of the first").waitFor()
    await run(page, "select pg_sleep(25) as e2e_ui_tab_sleep")
    await page.getByRole("status").getByText("Running…").waitFor()
    await result(page).getByText("of the first").waitFor()
    await page.getByRole("button", { name: "Stop" }).click()
    await page.getByRole("button", { name: "Run" }).waitFor()
    await result(page).getByText("of the first").waitFor()
    // Closing the other one stops it as well.
    await page.getByRole("tab", { name: "Query 2" }).click()
    await page.getByRole("button", { name: "Close this query" }).click()
    await page.getByRole("tab", { name: "Query 2" }).waitFor({ state: "detached" })
    await page.getByRole("button", { name: "Undo" }).click()
    await page.getByRole("tab", { name: "Query 2", selected: true }).waitFor()
    await page.getByRole("textbox", { name: "SQL statement" }).getByText("e2e_ui_tab_sleep").waitFor()
    await page.reload()
    await page.getByRole("tab", { name: "Query 2" }).waitFor()
  })

  it("that two windows change becomes two, and neither text is lost", async () => {
    const one = await open()
    await write(one, "select 'before'")
    const other = await one.context().newPage()
    await other.goto(at("/sql"))
    await other.getByRole("textbox", { name: "SQL statement" }).getByText("before").waitFor()
    for (const text of ["first", "second"]) {
      await write(one, `select '${text} of one'`)
      await write(other, `select '${text} of the other'`)
    }
    await one.reload()
    const editor = one.getByRole("textbox", { name: "SQL statement" })
    await editor.getByText("second of one").waitFor()
    assert.deepStrictEqual(await one.getByRole("tab").allTextContents(), ["Query 1", "Query 2"])
    await one.getByRole("tab", { name: "Query 2" }).click()
    await editor.getByText("second of the other").waitFor()
  })
})

it("keeps queries and history over a reload, and leaves the editor by Tab", async () => {
  const page = await open()
  await run(page, "select 'kept query' as k")
  await result(page).getByText("kept query").waitFor()
  await page.reload()
  await page.getByRole("textbox", { name: "SQL statement" }).getByText("kept query").waitFor()
  await page.getByRole("button", { name: "History" }).click()
  await page.getByRole("button", { name: /kept query/ }).waitFor()
  await page.keyboard.press("Escape")
  await page.evaluate(() => {
    const ran = Array.from({ length: 200 }, (_, at) => ({ at: Date.now(), text: `select ${at} as number`, millis: 1 }))
    localStorage.setItem("svc.sql.history", JSON.stringify(ran))
  })
  await page.reload()
  await page.getByRole("button", { name: "History" }).click()
  await page.getByText("200 statements").waitFor()
  await page.getByRole("searchbox", { name: "Find a statement" }).fill("SELECT 19")
  await page.getByText("11 statements").waitFor()
  await page.getByRole("button", { name: /^select 199 as number/ }).click()
  await page.getByRole("textbox", { name: "SQL statement" }).getByText("select 199 as number").waitFor()
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.press("Tab")
  assert.include(await page.evaluate(() => document.activeElement?.textContent), "Run")
})
