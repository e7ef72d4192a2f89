import { beforeAll, inject } from "vitest"
import { ask, sql } from "../support/client.ts"
import { at, checkPages } from "../support/ui/dashboard.ts"
import { checkStates, type States } from "../support/ui/states.ts"

const service = inject("service")
checkPages()
beforeAll(() =>
  sql(service, `create table exposed_${process.pid} (id int primary key, parent int references exposed_${process.pid})`)
)

/** Every state of the pages about the service itself. */
const states: States = {
  insights: async (page) => {
    await page.goto(at("/insights"))
    await page.getByRole("region", { name: "Foreign keys without an index" }).waitFor()
  },
  "insights, a slow statement": async (page) => {
    const { json } = await ask(service, "GET /api/insights", { key: service.service_role })
    const finding = {
      kind: "slow_statement",
      severity: "warning",
      object: { type: "statement", schema: null, name: "-8123456789012345678", table: null },
      explanation: "It takes 1500 ms on average and has taken 30 s in 20 calls.",
      fix: null,
      details: {
        statement: "select * from orders where note like $1",
        calls: 20,
        mean_ms: 1500,
        total_ms: 30_000,
        rows: 3
      }
    }
    await page.route("**/api/insights", (route) =>
      route.fulfill({ json: { ...(json as object), findings: [finding] } })
    )
    await page.goto(at("/insights"))
    await page.getByText("20 calls").waitFor()
  },
  "insights, all well": async (page) => {
    const { json } = await ask(service, "GET /api/insights", { key: service.service_role })
    await page.route("**/api/insights", (route) => route.fulfill({ json: { ...(json as object), findings: [] } }))
    await page.goto(at("/insights"))
    await page.getByRole("heading", { name: "All is well" }).waitFor()
  },
  "insights refused": async (page) => {
    const json = {
      error: "The database is too busy",
      code: "DATABASE_BUSY",
      details: null,
      hint: null,
      request_id: "1"
    }
    await page.route("**/api/insights", (route) => route.fulfill({ status: 403, json }))
    await page.goto(at("/insights"))
    await page.getByRole("alert").waitFor()
  },
  requests: async (page) => {
    for (const path of ["keys", "db/nowhere", "status"])
      await ask(service, `GET /v1/${path}`, { key: service.service_role })
    await page.goto(at("/requests"))
    await page.getByRole("table", { name: "Latest requests" }).waitFor()
    await page.getByRole("table", { name: "Routes" }).waitFor()
    await page.getByRole("button", { name: "Pause" }).click()
  },
  "requests, none matches": async (page) => {
    await page.goto(at("/requests?path=nothing-has-this&key=4711&route=/v1/keys&method=GET"))
    await page.getByText("No request matches").waitFor()
    await page.getByRole("button", { name: "Pause" }).click()
  },
  "requests, none yet": async (page) => {
    await page.route("**/api/requests?*", (route) => route.fulfill({ json: { processes: 1, requests: [] } }))
    await page.goto(at("/requests"))
    await page.getByText("No requests yet").waitFor()
    await page.getByRole("button", { name: "Pause" }).click()
  },
  history: async (page) => {
    await ask(service, "POST /api/keys", { key: service.service_role, body: { keyType: "wrong" } })
    await page.goto(at("/history?from=2026-01-01"))
    await page.getByRole("table", { name: "History" }).waitFor()
  },
  "history, one entry": async (page) => {
    const body = { keyType: "anon", label: "of the states" }
    await ask(service, "POST /api/keys", { key: service.service_role, body })
    await page.goto(at("/history?action=key.create"))
    await page
      .getByRole("button", { name: /^Show details/ })
      .first()
      .click()
    await page.getByRole("dialog").waitFor()
  },
  "history, none matches": async (page) => {
    await page.goto(at("/history?subject=key:0&actor=key:1&request_id=none"))
    await page.getByText("No entry matches").waitFor()
  },
  "history, none yet": async (page) => {
    await page.route("**/api/audit?*", (route) => route.fulfill({ json: { entries: [], next: null } }))
    await page.goto(at("/history"))
    await page.getByText("No changes yet").waitFor()
  },
  "history refused": async (page) => {
    await page.goto(at("/history?from=yesterday"))
    await page.getByRole("alert").waitFor()
  },
  "requests refused": async (page) => {
    await page.goto(at("/requests?status=abc"))
    await page.getByRole("alert").waitFor()
  }
}

checkStates(states)
