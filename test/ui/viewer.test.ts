import { type Page } from "playwright-core"
import { assert, describe, inject, it } from "vitest"
import { sql } from "../support/client.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()
let made = 0
/** Notes that only their owners may read. */
const makeNotes = async () => {
  const name = `notes_${process.pid}_${++made}`
  for (const text of [
    `create table ${name} (id int primary key, owner text, body text)`,
    `alter table ${name} enable row level security`,
    `create policy own on ${name} to authenticated using (owner = (select auth.sub()))`,
    `insert into ${name} select i, case i % 4 when 0 then 'ann' else 'bo' end, 'note ' || i from generate_series(1, 400) i`
  ])
    await sql(service, text)
  return name
}
const viewAs = async (page: Page, sub: string) => {
  await page.getByRole("button", { name: /^(?:View as|As )/ }).click()
  await page.getByLabel("A signed-in user").check()
  await page.getByLabel("User (claim sub)").fill(sub)
  await page.getByRole("button", { name: "Use", exact: true }).click()
}

describe("the rows of a table, as another caller sees them", () => {
  it("are those that the policies allow, with filters and pages, and can't be changed", async () => {
    const notes = await makeNotes()
    const page = await openPage()
    await page.goto(at(`/tables/public/${notes}?order=id.desc`))
    await page.getByText("400 rows").waitFor()
    await viewAs(page, "ann")
    await page.getByText("100 rows").waitFor()
    await page.getByRole("button", { name: "As user ann" }).waitFor()
    await assertCount(page.getByRole("button", { name: "Insert" }), 0)
    await page.getByRole("grid").focus()
    await page.keyboard.press("Control+End")
    await page.waitForFunction(() => document.querySelector("#active-cell")?.textContent === "note 4")
    await page.keyboard.press("Enter")
    await page.getByText("Rows that are shown as another caller sees them can't be changed").waitFor()
    await assertAccessible(page, "a table as a user")
    await page.goto(at(`/tables/public/${notes}?id=lt.9`))
    // A typed address has lost the caller.
    await page.getByRole("button", { name: "Work as the service" }).click()
    await viewAs(page, "bo")
    await page.getByText("6 rows").waitFor()
    await viewAs(page, "nobody")
    await page.getByText("No row matches").waitFor()
    await page.getByRole("button", { name: "Clear filters" }).click()
    await page.getByText("As user nobody there are no rows").waitFor()
    await page.getByRole("link", { name: `Policies of ${notes}` }).waitFor()
    await page.getByRole("button", { name: "As user nobody" }).click()
    await page.getByRole("button", { name: "As the service" }).click()
    await page.getByText("400 rows").waitFor()
    await page.getByRole("button", { name: "Insert" }).waitFor()
  })

  it("are exported as that caller reads them, also beyond what one response has", async () => {
    const notes = await makeNotes()
    // 12,000 of ann, in an order whose values repeat and may be NULL.
    await sql(
      service,
      `insert into ${notes} select i, 'ann', case when i % 3 > 0 then 'batch ' || i % 3 end from generate_series(401, 12300) i`
    )
    const page = await openPage()
    await page.goto(at(`/tables/public/${notes}?order=body.desc`))
    await page.getByRole("gridcell").first().waitFor()
    await viewAs(page, "ann")
    await page.getByText("12,000 rows").waitFor()
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Export as CSV" }).click()
    const download = page.waitForEvent("download")
    await page
      .getByRole("dialog", { name: /^Export/ })
      .getByRole("button", { name: "Export" })
      .click()
    const stream = await (await download).createReadStream()
    let text = ""
    for await (const piece of stream) text += String(piece)
    const [head, ...lines] = text.trimEnd().split("\n")
    assert.strictEqual(head, "id,owner,body")
    const [own] = await sql(
      service,
      `select string_agg(concat_ws(',', id, owner, coalesce(body, '')), ';' order by body desc, id desc) as text from ${notes} where owner = 'ann'`
    )
    // Texts with spaces are in quotes.
    assert.deepStrictEqual(
      lines.map((line) => line.replaceAll('"', "")),
      String(own?.["text"]).split(";")
    )
  })
})

describe("a query that is saved", () => {
  it("is kept by the service, and opened from the palette", async () => {
    const page = await openPage()
    await page.goto(at("/sql"))
    await page.getByRole("textbox", { name: "SQL statement" }).click()
    await page.keyboard.insertText("select 'late orders'")
    await page.getByRole("button", { name: "Saved queries" }).click()
    await page.getByLabel("Save this query as").fill("Late orders")
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await page.getByRole("tab", { name: "Late orders" }).waitFor()
    await page.getByRole("button", { name: "Close this query" }).waitFor({ state: "detached" })
    await page.getByRole("button", { name: "New query" }).click()
    await page.getByRole("tab", { name: "Late orders" }).click()
    await page.getByRole("button", { name: "Close this query" }).click()
    await page.goto(at("/keys"))
    await page.getByRole("table").waitFor()
    await page.keyboard.press("Control+k")
    await page.keyboard.type("late")
    await page.getByRole("option", { name: /Late orders/ }).waitFor()
    await page.keyboard.press("Enter")
    await page.getByRole("tab", { name: "Late orders", selected: true }).waitFor()
    await page.getByText("select 'late orders'").waitFor()
    await page.waitForURL(/\/sql$/)
    await page.getByRole("button", { name: "Saved queries" }).click()
    await page.getByRole("button", { name: "Replace" }).waitFor()
    await assertAccessible(page, "saved queries")
    await page.getByRole("button", { name: "Remove Late orders" }).click()
    await page.getByRole("button", { name: "Remove Late orders" }).waitFor({ state: "detached" })
  })
})
