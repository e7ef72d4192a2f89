import { type Page, type WebSocketRoute } from "playwright-core"
import { assert, beforeEach, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()
let table: string
let made = 0
beforeEach(async () => {
  table = `watched_${process.pid}_${++made}`
  await sql(service, `create table ${table} (id int primary key, total numeric(30,2), note text)`)
  const { status } = await ask(service, "POST /api/realtime/subscribe", { key: service.service_role, body: { table } })
  assert.strictEqual(status, 201)
})

const open = async (page: Page) => {
  await page.goto(at(`/realtime?table=${table}`))
  await page.getByText("connected", { exact: true }).waitFor()
}
const list = (page: Page) => page.getByRole("listbox", { name: "Events, newest first" })

it("1,000 inserts are shown, in order, none twice", async () => {
  const page = await openPage()
  await open(page)
  await sql(service, `insert into ${table} select i, i, 'n' || i from generate_series(1, 1000) i`)
  await page
    .getByRole("status")
    .getByText(/^1,000 /)
    .waitFor()
  const ids = new Set<number>()
  await list(page).focus()
  await page.keyboard.press("Home")
  for (let presses = 0; presses < 100 && ids.size < 1000; presses++) {
    for (const text of await list(page).getByRole("option").allTextContents())
      ids.add(Number(/id: (\d+)/.exec(text)?.[1]))
    await page.keyboard.press("PageDown")
    // Drawn once the list has scrolled there.
    await list(page).getByRole("option", { selected: true }).waitFor()
  }
  assert.deepStrictEqual(
    Array.from(ids),
    Array.from({ length: 1000 }, (_, at) => 1000 - at)
  )
})

it("an update shows what differs, with exact numbers, and is found by its text and its operation", async () => {
  const page = await openPage()
  await open(page)
  await sql(service, `insert into ${table} values (1, 12345678901234567890.10, 'before')`)
  await sql(service, `update ${table} set note = 'after' where id = 1`)
  await list(page).getByText("note: before → after").click()
  const panel = page.getByRole("complementary", { name: "Event" })
  await panel.getByRole("row", { name: /note.*changed.*before.*after/ }).waitFor()
  await assertCount(panel.getByText("12345678901234567890.10"), 2)
  await assertCount(panel.getByText("changed"), 1)
  await page.getByLabel("Operation").selectOption("INSERT")
  await page.waitForURL(/operation=INSERT/)
  await page
    .getByRole("status")
    .getByText(/^1 of /)
    .waitFor()
  await page.getByLabel("Text in the event").fill("nowhere to be found")
  await page.getByText("No event matches").waitFor()
  await page.getByRole("button", { name: "Clear filters" }).click()
  await list(page).getByText("note: before → after").waitFor()
})

it("while paused, what arrives is kept, and shown on resuming", async () => {
  const page = await openPage()
  await open(page)
  await sql(service, `insert into ${table} values (1, 1, 'first')`)
  await list(page).getByText("note: first").waitFor()
  await page.getByRole("button", { name: "Pause" }).click()
  await sql(service, `insert into ${table} select i, 1, 'later' from generate_series(2, 4) i`)
  await page.getByRole("button", { name: "Resume (3 new)" }).waitFor()
  await assertCount(list(page).getByText("later"), 0)
  await page.getByRole("button", { name: "Resume (3 new)" }).click()
  await list(page).getByText("note: later").nth(2).waitFor()
})

it("a lost connection is resumed: what was missed is replayed, and nothing is shown twice", async () => {
  const page = await openPage()
  const sockets: Array<WebSocketRoute> = []
  await page.routeWebSocket(/\/realtime/, (socket) => {
    sockets.push(socket)
    socket.connectToServer()
  })
  await open(page)
  await sql(service, `insert into ${table} values (1, 1, 'before the cut')`)
  await list(page).getByText("before the cut").waitFor()
  await sockets.at(-1)?.close({ code: 1013 })
  await page.getByText("This browser read too slowly").waitFor()
  await sql(service, `insert into ${table} values (2, 1, 'during the cut')`)
  await list(page).getByText("during the cut").waitFor()
  await assertCount(list(page).getByText("before the cut"), 1)
  assert.match(sockets.at(-1)?.url() ?? "", /since=[1-9]\d{10,}/)
  assert.notMatch(sockets.at(-1)?.url() ?? "", /apikey/)
})

it("events that the service no longer has leave a gap that can be seen", async () => {
  const page = await openPage()
  const sockets: Array<WebSocketRoute> = []
  const missed = Promise.withResolvers<void>()
  await page.routeWebSocket(/\/realtime/, async (socket) => {
    sockets.push(socket)
    // Not before there are more events than the service keeps.
    if (sockets.length > 1) await missed.promise
    socket.connectToServer()
  })
  await open(page)
  await sql(service, `insert into ${table} values (0, 1, 'old')`)
  await list(page).getByText("note: old").waitFor()
  await sockets.at(-1)?.close({ code: 1013 })
  await page.getByText("This browser read too slowly").waitFor()
  await sql(service, `insert into ${table} select i, 1, 'new' from generate_series(1, 300) i`)
  missed.resolve()
  await list(page).getByText("note: new").first().waitFor()
  await list(page).focus()
  await page.keyboard.press("End")
  await list(page).getByText("Events are missing here").waitFor()
})

it("tables are chosen by name, and follow at once", async () => {
  const other = `${table}_b`
  await sql(service, `create table ${other} (id int primary key)`)
  const page = await openPage()
  await page.goto(at(`/realtime?table=${other}`))
  await page.getByText("connected", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Choose tables" }).click()
  const dialog = page.getByRole("dialog", { name: "Tables that publish changes" })
  const one = dialog.getByRole("switch", { name: other })
  await one.waitFor()
  assert.isFalse(await one.isChecked())
  await one.click()
  await page.waitForFunction((name) => {
    const label = Array.from(document.querySelectorAll("label.switch")).find((one) => one.textContent === name)
    return label?.querySelector("input")?.checked === true
  }, other)
  await dialog.getByRole("button", { name: "Done" }).click()
  await sql(service, `insert into ${other} values (7)`)
  await list(page).getByText("id: 7").waitFor()
})

it("an event names a table's row as text, never as HTML", async () => {
  const page = await openPage()
  await open(page)
  await sql(service, `insert into ${table} values (1, 1, '<img src=x onerror=alert(1)>')`)
  await list(page).getByText("<img src=x onerror=alert(1)>").click()
  await page.getByRole("complementary", { name: "Event" }).getByText("<img src=x").waitFor()
  await assertCount(page.locator("main img"), 0)
})

it("tables with row-level security are marked: most clients receive no events of them", async () => {
  await sql(service, `alter table ${table} enable row level security`)
  const page = await openPage()
  await page.goto(at(`/realtime?table=${table}`))
  const warning = "The table has row-level security"
  await page.getByRole("note").filter({ hasText: table }).getByText(warning).waitFor()
  await page.getByRole("button", { name: "Choose tables" }).click()
  const entry = page.getByRole("dialog").getByRole("listitem").filter({ hasText: table })
  await entry.getByText(warning).waitFor()
})

it("a table that two people have open marks what the other changes, and compares changes that are not saved", async () => {
  await sql(service, `insert into ${table} select i, i, 'n' || i from generate_series(1, 5) i`)
  const open = async () => {
    const page = await openPage()
    await page.goto(at(`/tables/public/${table}`))
    await page.getByText("live", { exact: true }).waitFor()
    await page.getByRole("gridcell").first().waitFor()
    return page
  }
  const edit = async (page: Page, value: string, text: string) => {
    await page.getByRole("gridcell", { name: value, exact: true }).dblclick()
    await page.getByRole("textbox").fill(text)
    await page.keyboard.press("Enter")
  }
  const save = async (page: Page, saved: string) => {
    await page.keyboard.press("Control+s")
    await page.getByRole("dialog", { name: "Review changes" }).waitFor()
    await page.keyboard.press("Control+s")
    await page.getByText(saved).last().waitFor()
  }
  const [ann, bob] = [await open(), await open()]
  await edit(bob, "n2", "bob 2")
  await edit(bob, "n3", "bob 3")
  await edit(ann, "n2", "ann 2")
  await edit(ann, "n3", "ann 3")
  await edit(ann, "n4", "ann 4")
  await save(ann, "3 rows saved")
  // Ann's own changes are what she sees.
  await ann.getByText("live", { exact: true }).waitFor()
  await bob.getByRole("status").getByText("3 rows changed · 2 conflicts with your changes").waitFor()
  await bob.getByRole("gridcell", { name: "bob 2 changed by others since it was read" }).waitFor()
  await assertAccessible(bob, "rows that others have changed")
  // Nothing moves until it is asked for.
  await bob.getByRole("gridcell", { name: "n4", exact: true }).waitFor()
  await bob.getByRole("button", { name: "Compare" }).click()
  const compare = bob.getByRole("dialog", { name: "Compare changes" })
  await compare.getByRole("row", { name: /note n2 ann 2 bob 2/ }).waitFor()
  await assertAccessible(bob, "the comparison of changes")
  await compare.getByRole("button", { name: "Keep mine: note of row [2]" }).click()
  await compare.getByRole("button", { name: "Take theirs: note of row [3]" }).click()
  await compare.getByText("None of your changes has a conflict any more").waitFor()
  await bob.keyboard.press("Escape")
  await bob.getByRole("gridcell", { name: "ann 3" }).waitFor()
  await bob.getByText("1 unsaved change").waitFor()
  await save(bob, "1 row saved")
  await ann.getByRole("status").getByText("1 row changed").waitFor()
  await ann.getByRole("button", { name: "Show changes" }).click()
  await ann.getByRole("gridcell", { name: "bob 2" }).waitFor()
  await ann.getByText("live", { exact: true }).waitFor()
  // Rows that come and go.
  await sql(service, `delete from ${table} where id = 5`)
  await sql(service, `insert into ${table} values (6, 6, 'n6')`)
  await ann.getByRole("status").getByText("2 rows changed").waitFor()
  await ann.getByRole("button", { name: "Show changes" }).click()
  await ann.getByRole("gridcell", { name: "n6" }).waitFor()
  assert.deepStrictEqual(await sql(service, `select id, note from ${table} order by id`), [
    { id: 1, note: "n1" },
    { id: 2, note: "bob 2" },
    { id: 3, note: "ann 3" },
    { id: 4, note: "ann 4" },
    { id: 6, note: "n6" }
  ])
})

it("a table that is not followed is followed from its page", async () => {
  const other = `${table}_alone`
  await sql(service, `create table ${other} (id int primary key)`)
  await sql(service, `insert into ${other} values (1)`)
  const page = await openPage()
  await page.goto(at(`/tables/public/${other}`))
  await page.getByRole("button", { name: "Follow changes" }).click()
  await page.getByText("live", { exact: true }).waitFor()
  await sql(service, `insert into ${other} values (2)`)
  await page.getByRole("status").getByText("1 row changed").waitFor()
})
