import { type Page } from "playwright-core"
import { assert, beforeAll, describe, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type Operated, operate } from "../support/ui/operated.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { makeChartPoints } from "../support/ui/charts.ts"
import { assertKeyboard } from "../support/ui/keyboard.ts"
import { checkStates, type States } from "../support/ui/states.ts"
import { makeShop } from "../support/ui/tables.ts"

checkPages()
let order: string
let customer: string
let person: string
let board: number
let operated: Operated
beforeAll(async () => {
  operated = await operate()
  const shop = await makeShop()
  order = shop.order
  person = await makePerson()
  board = await makeBoard()
  await makeChartPoints()
  customer = shop.customer
})

/** With a session, a second factor and a mail; the id. */
const makePerson = async () => {
  const service = inject("service")
  const email = "states@example.com"
  const traits = { name: "Ann" }
  const body = { email, traits, password: "four common words" }
  const { json } = await ask(service, "POST /api/identities", { key: service.service_role, body })
  const { id } = (json as { readonly identity: { readonly id: string } }).identity
  await ask(service, "POST /api/auth/login", { body: { identifier: email, password: body.password } })
  await sql(service, "update svc.identities set totp_secret = 'lost' where id = $1", [id])
  await ask(service, "POST /api/auth/verification", { body: { email } })
  return id
}
/** With a chart, a table, a query that is gone, and one of another owner; the id. */
const makeBoard = async () => {
  const service = inject("service")
  const body = { keyType: "service_role", label: "States" }
  const made = await ask(service, "POST /api/keys", { key: service.service_role, body })
  const save = async (name: string, content: object, key = service.service_role) => {
    const reply = await ask(service, "POST /api/workspace/items", { key, body: { name, content, shared: true } })
    return (reply.json as { readonly id: number }).id
  }
  const chart = { on: true, y: "total" }
  const sums = await save("States: sums", { sql: "select i as day, i as total from generate_series(1, 9) i", chart })
  const { secret } = made.json as { readonly secret: string }
  const texts = await save(
    "States: texts",
    { sql: "select 'a text' as words, 1.5 as number", chart: { on: false } },
    secret
  )
  const charts = [sums, texts, 2_147_483_647].map((query, at) => ({ query, wide: at === 1 }))
  return save("States", { charts })
}
const filled = (page: Page) =>
  page
    .getByRole("gridcell", { name: /Customer/ })
    .first()
    .waitFor()
const inGrid = async (page: Page, ...keys: ReadonlyArray<string>) => {
  await page.goto(at(`/tables/public/${order}`))
  await filled(page)
  await page.getByRole("grid").focus()
  for (const key of keys) await page.keyboard.press(key)
}
const runSql = async (page: Page, text: string, keys = "Control+Enter") => {
  await page.goto(at("/sql"))
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.press("Control+a")
  await page.keyboard.insertText(text)
  await page.keyboard.press("Escape")
  await page.keyboard.press(keys)
}

const logged = {
  host: "replica-1",
  database: "embedded",
  more: true,
  lines: ["INFO", "WARN", "ERROR"].map((level, worker) => ({
    at: `2026-01-31T12:00:0${9 - worker}.123Z`,
    level,
    text:
      worker === 2
        ? "Failed to connect to the database"
        : `Responded with 503 POOL_EXHAUSTED to GET /v1/db/${"x".repeat(90)}`,
    details: worker === 2 ? `Error: ${"stack ".repeat(40)}` : null,
    request_id: worker === 1 ? "0198a2b3-c4d5-7e6f-8a9b-0c1d2e3f4a5b" : null,
    host: "replica-1",
    worker
  }))
}

/** Every state of every page, and how it is reached. A new page adds its own here. */
const states: States = {
  "sign in": async (page) => {
    await page.context().clearCookies()
    await page.goto(at("/"))
    await page.getByRole("heading", { name: "Sign in" }).waitFor()
  },
  "not found": async (page) => {
    await page.goto(at("/nowhere"))
    await page.getByText("No such page").waitFor()
  },
  "tables, none chosen": async (page) => {
    await page.goto(at("/tables"))
    await page.getByRole("link", { name: order }).waitFor()
  },
  "no such table": async (page) => {
    await page.goto(at("/tables/public/nowhere"))
    await page.getByText("There is no table public.nowhere").waitFor()
  },
  "table filled": (page) => inGrid(page),
  "table empty": async (page) => {
    await page.goto(at(`/tables/public/${order}?id=eq.0`))
    await page.getByText("No row matches").waitFor()
  },
  "table refused": async (page) => {
    await page.goto(at(`/tables/public/${order}?total=gt.x`))
    await page.getByRole("alert").waitFor()
  },
  "filter open": async (page) => {
    await inGrid(page)
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await page.getByLabel("Condition").waitFor()
  },
  "editing a reference": async (page) => {
    await inGrid(page, "ArrowRight", "Enter")
    await page.getByRole("option").first().waitFor()
  },
  "editing an enum": (page) => inGrid(page, "ArrowRight", "ArrowRight", "Enter"),
  "changes under review": async (page) => {
    await inGrid(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "x", "Enter", "Control+s")
    await page.getByRole("dialog", { name: "Review changes" }).waitFor()
  },
  "row panel": async (page) => {
    await page.goto(at(`/tables/public/${customer}`))
    await page.getByRole("gridcell").first().waitFor()
    await page.getByRole("grid").focus()
    await page.keyboard.press(" ")
    await page.getByText("Referred to by").waitFor()
  },
  "cell menu": async (page) => {
    await inGrid(page, "Shift+F10")
    await page.getByRole("dialog", { name: "Cell id" }).waitFor()
  },
  "rows that can't be read again": async (page) => {
    await inGrid(page)
    await page.route("**/v1/db/**", (route) => route.fulfill({ status: 503, json: { error: "No" } }))
    await page.getByRole("button", { name: "Read again" }).click()
    await page.getByText("Some rows could not be read").waitFor()
  },
  "insert form": async (page) => {
    await inGrid(page)
    await page.getByRole("button", { name: "Insert" }).click()
    await page.getByRole("complementary").waitFor()
  },
  "rows selected, deleting": async (page) => {
    await inGrid(page, "Shift+ ", "ArrowDown", "Shift+ ")
    await page.getByRole("button", { name: "Delete" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "new table": async (page) => {
    await page.goto(at("/tables"))
    await page.getByRole("button", { name: "New table" }).click()
    await page.getByRole("group", { name: "Column id" }).getByText("Reference, comment").click()
  },
  "table that is edited": async (page) => {
    await inGrid(page)
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Edit table" }).click()
    await page.getByRole("button", { name: "Remove column note" }).click()
  },
  "table that is dropped": async (page) => {
    await inGrid(page)
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Drop table" }).click()
    await page.getByRole("dialog").waitFor()
  },
  import: async (page) => {
    await inGrid(page)
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Import CSV" }).click()
    await page
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "a.csv", mimeType: "text/csv", buffer: Buffer.from("id,total,unused\n1,five,x\n2,,y\n") })
    await page.getByText("Line 2, column total").waitFor()
  },
  export: async (page) => {
    await inGrid(page)
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Export as CSV" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "table, view as": async (page) => {
    await inGrid(page)
    await page.getByRole("button", { name: "View as" }).click()
    await page.getByLabel("An anon key without a user").check()
    await page.getByRole("button", { name: "Use", exact: true }).click()
    await page.getByRole("button", { name: "As anon" }).click()
    await page.getByLabel("A signed-in user").check()
  },
  palette: async (page) => {
    await inGrid(page, "Control+k")
    await page.getByRole("option").first().waitFor()
  },
  "sql, nothing run": async (page) => {
    await page.goto(at("/sql"))
    await page.getByText("Nothing has run yet").waitFor()
  },
  "sql result": async (page) => {
    await runSql(page, "select 1 as one, null as none, 'x' as text")
    await page.getByRole("region", { name: "Result" }).waitFor()
  },
  "sql result, a row": async (page) => {
    await states["sql result"]?.(page)
    await page.getByRole("grid").focus()
    await page.keyboard.press("Enter")
    await page.getByRole("complementary", { name: "Row 1" }).waitFor()
  },
  "sql refused": async (page) => {
    await runSql(page, "selec 1")
    await page.getByRole("alert").waitFor()
  },
  "sql parameters, one missing": async (page) => {
    await runSql(page, "select $1::int, $2, $3")
    await page.getByRole("button", { name: "$2 is NULL" }).click()
    await page.getByRole("alert").first().waitFor()
  },
  "sql chart": async (page) => {
    await runSql(page, "select date '2026-01-01' + i as day, i * i - 40 as total from generate_series(1, 20) i")
    await page.getByRole("button", { name: "Chart", exact: true }).click()
    await page.getByRole("img", { name: /^Line of total by day/ }).waitFor()
  },
  "sql chart of no numbers": async (page) => {
    await runSql(page, "select 'a' as text")
    await page.getByRole("button", { name: "Chart", exact: true }).click()
    await page.getByText("No column is a number").waitFor()
  },
  "sql history": async (page) => {
    await states["sql result"]?.(page)
    await page.getByRole("button", { name: "History" }).click()
    await page
      .getByRole("button", { name: /just now/ })
      .first()
      .waitFor()
  },
  "sql plan": async (page) => {
    await runSql(page, `select * from ${order} where total > 3`, "Control+Shift+Enter")
    await page.getByRole("region", { name: "Query plan" }).waitFor()
  },
  "saved queries": async (page) => {
    await page.goto(at("/sql"))
    await page.getByRole("button", { name: "Saved queries" }).click()
    await page.getByLabel("Save this query as").waitFor()
  },
  "saved queries, one of another owner": async (page) => {
    await page.goto(at("/sql"))
    await page.getByRole("button", { name: "Saved queries" }).click()
    await page.getByText("of States").first().waitFor()
  },
  "views of a table": async (page) => {
    await inGrid(page)
    await page.getByRole("button", { name: "Views of this table" }).click()
    await page.getByText("Nothing is saved yet").waitFor()
  },
  boards: async (page) => {
    await page.goto(at("/boards"))
    await page.getByRole("table", { name: "Boards" }).waitFor()
  },
  "no boards": async (page) => {
    await page.route("**/api/workspace/items*", (route) => route.fulfill({ json: [] }))
    await page.goto(at("/boards"))
    await page.getByText("No boards").waitFor()
  },
  "board form": async (page) => {
    await states["boards"]?.(page)
    await page.getByRole("button", { name: "New board" }).click()
    await page.getByRole("dialog").waitFor()
  },
  board: async (page) => {
    await page.goto(at(`/boards/${board}`))
    await page.getByRole("img", { name: /^Line of total/ }).waitFor()
    await page.getByRole("cell", { name: "a text" }).waitFor()
    await page.getByText("was removed").waitFor()
  },
  "no such board": async (page) => {
    await page.goto(at("/boards/2147483647"))
    await page.getByText("No such board").waitFor()
  },
  "sql, view as": async (page) => {
    await page.goto(at("/sql"))
    await page.getByRole("button", { name: "View as" }).click()
    await page.getByLabel("A signed-in user").check()
  },
  keys: async (page) => {
    await page.goto(at("/keys"))
    await page.getByRole("table", { name: "API keys" }).waitFor()
  },
  "key form": async (page) => {
    await states["keys"]?.(page)
    await page.getByRole("button", { name: "Create key" }).click()
    await page.getByRole("dialog").waitFor()
  },
  people: async (page) => {
    await page.goto(at("/people"))
    await page.getByRole("table", { name: "People" }).waitFor()
  },
  "no person found": async (page) => {
    await page.goto(at("/people?address=nobody@example.com"))
    await page.getByRole("heading", { name: "No person found" }).waitFor()
  },
  "person form": async (page) => {
    await states["people"]?.(page)
    await page.getByRole("button", { name: "Create person" }).click()
    await page.getByLabel("that you share with them").check()
    await page.getByLabel("Password", { exact: true }).waitFor()
  },
  person: async (page) => {
    await page.goto(at(`/people/${person}`))
    await page.getByRole("region", { name: "Public metadata" }).waitFor()
  },
  "person whose factor is removed": async (page) => {
    await states["person"]?.(page)
    await page.getByRole("button", { name: "Remove: authenticator app" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "person whose sessions end": async (page) => {
    await states["person"]?.(page)
    await page.getByRole("button", { name: "End sessions" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "person whose traits are edited": async (page) => {
    await states["person"]?.(page)
    await page.getByRole("button", { name: "Edit traits" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "person being deleted": async (page) => {
    await states["person"]?.(page)
    await page.getByRole("button", { name: "Delete" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "person gone": async (page) => {
    await page.goto(at("/people/00000000-0000-4000-8000-000000000000"))
    await page.getByText("No such person").waitFor()
  },
  mails: async (page) => {
    await page.goto(at("/mails"))
    await page.getByText("No e-mail is sent").waitFor()
    await page.getByRole("table", { name: "Mails" }).waitFor()
  },
  mail: async (page) => {
    await states["mails"]?.(page)
    await page.getByRole("button", { name: "Read" }).first().click()
    await page.getByRole("dialog").waitFor()
  },
  webhooks: async (page) => {
    await page.goto(at("/webhooks"))
    await page.getByRole("table", { name: "Webhooks" }).waitFor()
  },
  "webhook form": async (page) => {
    await states["webhooks"]?.(page)
    await page.getByRole("button", { name: "Create webhook" }).click()
    await page.getByRole("button", { name: "Add header" }).click()
  },
  webhook: async (page) => {
    await page.goto(at(`/webhooks/${operated.webhook}`))
    await page.getByRole("table", { name: "Deliveries" }).waitFor()
    await page.getByText("How the receiver verifies the signature").click()
  },
  "connect an app": async (page) => {
    await page.goto(at("/connect"))
    await page.getByRole("button", { name: "Create an anon key" }).click()
    await page.getByRole("button", { name: "Try it" }).click()
    await page.getByText("The key works").waitFor()
  },
  "connect an assistant": async (page) => {
    await page.goto(at("/assistant"))
    await page.getByText("Assistants are off").waitFor()
  },
  queues: async (page) => {
    await page.goto(at("/queues"))
    await page.getByRole("table", { name: "Queues" }).waitFor()
  },
  "queue form": async (page) => {
    await states["queues"]?.(page)
    await page.getByRole("button", { name: "Create queue" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Create queue" }).click()
  },
  queue: async (page) => {
    await page.goto(at("/queues/mails"))
    await page.getByRole("table", { name: "Messages" }).waitFor()
  },
  "dead letters": async (page) => {
    await states["queue"]?.(page)
    await page.getByRole("button", { name: "Dead letters" }).click()
    await page.getByRole("button", { name: "Put all back" }).waitFor()
  },
  "queue message": async (page) => {
    await states["queue"]?.(page)
    await page.getByRole("button", { name: "Show" }).first().click()
  },
  "queue send": async (page) => {
    await states["queue"]?.(page)
    await page.getByRole("button", { name: "Send" }).click()
  },
  "queue gone": async (page) => {
    await page.goto(at("/queues/none"))
    await page.getByText("No such queue").waitFor()
  },
  "webhook gone": async (page) => {
    await page.goto(at("/webhooks/999999"))
    await page.getByText("No such webhook").waitFor()
  },
  schedules: async (page) => {
    await page.goto(at("/schedules"))
    await page.getByRole("table", { name: "Own jobs" }).waitFor()
  },
  "schedule form": async (page) => {
    await states["schedules"]?.(page)
    await page.getByRole("button", { name: "Create schedule" }).first().click()
    await page.getByRole("list", { name: "The next times" }).getByRole("listitem").first().waitFor()
  },
  schedule: async (page) => {
    await states["schedules"]?.(page)
    await page.getByRole("link", { name: "audit.retention" }).click()
    await page.getByRole("heading", { name: "History" }).waitFor()
  },
  "schedule gone": async (page) => {
    await page.goto(at("/schedules/999999"))
    await page.getByText("No such schedule").waitFor()
  },
  delivery: async (page) => {
    await states["webhook"]?.(page)
    await page.getByRole("button", { name: "Show" }).first().click()
    await page.getByRole("dialog").waitFor()
  },
  "webhook being deleted": async (page) => {
    await states["webhook"]?.(page)
    await page.getByRole("button", { name: "Delete" }).click()
    await page.getByRole("dialog").waitFor()
  },
  realtime: async (page) => {
    // The log keeps the newest events of all tables, of which other files write thousands meanwhile.
    await sql(inject("service"), `update ${operated.table} set note = note || '.' where id <= 3`)
    await page.goto(at(`/realtime?table=${operated.table}`))
    await page.getByRole("listbox").getByRole("option").first().waitFor()
  },
  "realtime, nothing matches": async (page) => {
    await page.goto(at("/realtime?text=nowhere"))
    await page.getByText("No event matches").waitFor()
  },
  "realtime event": async (page) => {
    await states["realtime"]?.(page)
    await page
      .getByRole("option", { name: /update/ })
      .first()
      .click()
    await page.getByRole("complementary", { name: "Event" }).waitFor()
  },
  "realtime tables": async (page) => {
    await states["realtime"]?.(page)
    await page.getByRole("button", { name: "Choose tables" }).click()
    await page.getByRole("switch").first().waitFor()
  },
  "realtime in an app": async (page) => {
    await states["realtime"]?.(page)
    await page.getByRole("button", { name: "In an app" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "protection, off": async (page) => {
    await page.goto(at("/protection"))
    await page.getByText("SVC_PITR=true").waitFor()
  },
  branches: async (page) => {
    await page.goto(at("/branches"))
    await page.getByRole("table", { name: "Branches" }).waitFor()
  },
  "on a branch": async (page) => {
    await states["branches"]?.(page)
    await page.getByRole("button", { name: "Work on it" }).first().click()
    await page.getByText("you work on it").waitFor()
  },
  "branch form": async (page) => {
    await states["branches"]?.(page)
    await page.getByRole("button", { name: "Create branch" }).click()
    await page.getByRole("dialog").waitFor()
  },
  backups: async (page) => {
    await page.goto(at("/backups"))
    await page.getByRole("table", { name: "Backups" }).waitFor()
  },
  backup: async (page) => {
    await page.goto(at(`/backups/${operated.backup}`))
    await page.getByRole("heading", { name: "Restores" }).waitFor()
  },
  "restore form": async (page) => {
    await states["backup"]?.(page)
    await page.getByRole("button", { name: "Restore" }).click()
    await page.getByRole("dialog").waitFor()
  },
  environments: async (page) => {
    await page.goto(at("/environments"))
    await page.getByRole("table", { name: "Environments" }).waitFor()
  },
  "environment form": async (page) => {
    await states["environments"]?.(page)
    await page.getByRole("button", { name: "Edit" }).first().click()
    await page.getByRole("dialog").waitFor()
  },
  connections: async (page) => {
    await page.goto(at("/connections"))
    await page.getByRole("button", { name: "Test" }).first().click()
    await page.getByText("failed", { exact: true }).waitFor()
  },
  "connection form": async (page) => {
    await states["connections"]?.(page)
    await page.getByRole("button", { name: "Save connection" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Save connection" }).click()
  },
  "foreign data": async (page) => {
    await page.goto(at("/foreign"))
    await page.getByRole("region", { name: operated.server }).waitFor()
  },
  "foreign server form": async (page) => {
    await states["foreign data"]?.(page)
    await page.getByRole("button", { name: "Add server" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "foreign login form": async (page) => {
    await states["foreign data"]?.(page)
    await page.getByRole("button", { name: "Add login" }).first().click()
    await page.getByRole("dialog").waitFor()
  },
  "foreign import form": async (page) => {
    await states["foreign data"]?.(page)
    await page.getByRole("button", { name: "Import tables" }).first().click()
    await page.getByRole("dialog").waitFor()
  },
  "foreign server being dropped": async (page) => {
    await states["foreign data"]?.(page)
    await page.getByRole("button", { name: "Drop server" }).first().click()
    await page.getByRole("dialog").waitFor()
  },
  migrations: async (page) => {
    await page.goto(at("/migrations"))
    await page.getByRole("heading", { name: "No migrations" }).waitFor()
  },
  "migration gone": async (page) => {
    await page.goto(at("/migrations/nowhere"))
    await page.getByText("No such migration").waitFor()
  },
  api: async (page) => {
    await page.goto(at("/api"))
    await page.getByRole("table", { name: "API" }).waitFor()
  },
  "api of a table": async (page) => {
    await page.goto(at(`/api/public/${order}?client=fetch&caller=user`))
    await page.getByRole("heading", { name: "Delete" }).waitFor()
  },
  "api of a table, tried": async (page) => {
    await page.goto(at(`/api/public/${customer}`))
    await page.getByRole("button", { name: "Try" }).first().click()
    await page.getByLabel("Response").waitFor()
  },
  "api of nothing": async (page) => {
    await page.goto(at("/api/public/nowhere"))
    await page.getByText("There is no public.nowhere").waitFor()
  },
  logs: async (page) => {
    await page.route("**/api/logs*", (route) => route.fulfill({ json: logged }))
    await page.goto(at("/logs"))
    await page.getByText("Failed to connect").waitFor()
    await page.getByText("Details").first().click()
  },
  "logs without a match": async (page) => {
    await page.goto(at("/logs?request_id=nothing"))
    await page.getByText("No line matches").waitFor()
  },
  "logs of an external database": async (page) => {
    await page.route("**/api/logs*", (route) => route.fulfill({ json: { ...logged, database: "external", lines: [] } }))
    await page.goto(at("/logs?source=database"))
    await page.getByText("can't be read here").waitFor()
  },
  "status, a month as a table": async (page) => {
    await page.goto(at("/status?range=month"))
    await page.getByRole("img", { name: /^Requests each hour/ }).waitFor()
    await page.getByText("Show as a table").click()
    await page.getByRole("table", { name: "Each hour" }).waitFor()
  },
  status: async (page) => {
    await page.goto(at("/status"))
    await page.getByRole("table", { name: "Settings" }).waitFor()
    await page.getByRole("region", { name: "Largest tables" }).waitFor()
  }
}

checkStates(states)

describe("the keyboard", () => {
  it.each([
    "table filled",
    "sql result",
    "board",
    "keys",
    "person",
    "mails",
    "webhook",
    "schedules",
    "realtime",
    "branches",
    "connections",
    "foreign data",
    "api of a table"
  ])("reaches everything in %s, and shows where it is", async (name) => {
    const page = await openPage()
    await states[name]?.(page)
    await assertKeyboard(page)
  })

  it("skips to the content, opens the palette, and gives the focus back", async () => {
    const page = await openPage()
    await page.goto(at("/keys"))
    await page.getByRole("table").waitFor()
    await page.keyboard.press("Tab")
    await page.getByRole("link", { name: "Skip to content" }).waitFor()
    await page.getByRole("button", { name: "Create key" }).focus()
    await page.keyboard.press("Control+k")
    await page.keyboard.type(order)
    await page.getByRole("option", { name: order }).waitFor()
    await page.keyboard.press("Escape")
    assert.strictEqual(await page.evaluate(() => document.activeElement?.textContent), "Create key")
    await page.keyboard.press("Control+k")
    await page.keyboard.type(order)
    await page.keyboard.press("Enter")
    await page.waitForURL(new RegExp(order))
    // What was opened last is the first that is offered.
    await page.keyboard.press("Control+k")
    assert.match((await page.getByRole("option").first().textContent()) ?? "", new RegExp(order))
  })
})

describe("a phone", () => {
  it("has the navigation in a drawer, which is not reachable while it is closed", async () => {
    const page = await openPage({ viewport: { width: 390, height: 780 } })
    await states["keys"]?.(page)
    const link = page.getByRole("link", { name: "SQL workbench" })
    assert.isFalse(await link.isVisible())
    await page.getByRole("button", { name: "Navigation" }).click()
    await link.click()
    await page.waitForURL(/\/sql$/)
    await link.waitFor({ state: "hidden" })
  })
})

it("a theme is kept, and its choice beats the system's", async () => {
  const page = await openPage({ colorScheme: "light" })
  await states["keys"]?.(page)
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const light = await ground()
  await page.getByRole("button", { name: "Theme and session" }).click()
  await page.getByRole("button", { name: "Dark" }).click()
  assert.notStrictEqual(await ground(), light)
  await page.reload()
  await page.getByRole("table").waitFor()
  assert.notStrictEqual(await ground(), light)
})
