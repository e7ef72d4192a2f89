import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { assert, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { startService } from "../support/service.ts"
import { makeChartPoints } from "../support/ui/charts.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const shared = inject("service")
checkPages()

it("a component that stops is shown within 10 seconds, and that it works again", async () => {
  const idp = createServer((_, response) => void response.setHeader("content-type", "application/json").end("[]"))
  const listen = (port: number) => new Promise<void>((done) => idp.listen(port, "127.0.0.1", done))
  await listen(0)
  const { port } = idp.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  await using service = await startService({ env: { IDP_PUBLIC_URL: url, IDP_ADMIN_URL: url, SVC_IDENTITY: "off" } })
  const page = await openPage({ on: service })
  await page.goto(at("/status", service))
  const components = page.getByRole("list", { name: "Components" })
  const card = components.getByRole("listitem").filter({ hasText: "Identity provider" })
  await card.getByText("works").waitFor()
  await components.getByRole("listitem").filter({ hasText: "OAuth2 server" }).getByText("not configured").waitFor()
  idp.closeAllConnections()
  await new Promise((closed) => idp.close(closed))
  await card.getByText("does not work").waitFor({ timeout: 10_000 })
  await listen(port)
  await card.getByText("works", { exact: true }).waitFor({ timeout: 10_000 })
  idp.closeAllConnections()
  await new Promise((closed) => idp.close(closed))
  await page.close()
})

it("sizes, connections, and statements that wait for a lock", async () => {
  const table = `locked_${process.pid}`
  await sql(shared, `create table ${table} (id int primary key)`)
  const key = shared.service_role
  const statements = [{ sql: `lock table ${table} in access exclusive mode` }, { sql: "select pg_sleep(25)" }]
  // By another role, and so by other connections than those of service keys.
  const rows = () => ask(shared, `GET /v1/db/${table}`, { key: shared.anon })
  assert.strictEqual((await rows()).status, 200)
  const stop = new AbortController()
  const holding = ask(shared, "POST /v1/sql/transaction", { key, body: { statements }, signal: stop.signal })
  for (let held = false; !held;) {
    held = (await sql(shared, "select 1 from pg_locks where relation = $1::regclass", [table])).length > 0
  }
  const waiting = rows()
  const page = await openPage()
  await page.goto(at("/status"))
  await page.getByRole("region", { name: "Requests" }).getByText("Refused").waitFor()
  await page
    .getByText(/\d+ of \d+/)
    .first()
    .waitFor()
  const list = page.getByRole("table", { name: "Statements that take long" })
  await list.getByRole("row", { name: new RegExp(`lock of \\d+.*${table}`) }).waitFor()
  stop.abort()
  await Promise.allSettled([holding, waiting])
})

it("a locked table, for which other requests of the same key wait, holds up no page", async () => {
  const table = `held_${process.pid}`
  const enumType = `${table}_kind`
  await sql(shared, `create type ${enumType} as enum ('small', 'large')`)
  await sql(shared, `create table ${table} (id int primary key, kind ${enumType})`)
  await sql(shared, `create view ${table}_view as select * from ${table}`)
  const key = shared.service_role
  const stop = new AbortController()
  const send = (body: unknown, path = "/v1/sql") => ask(shared, `POST ${path}`, { key, body, signal: stop.signal })
  const statements = [{ sql: `lock table ${table} in access exclusive mode` }, { sql: "select pg_sleep(25)" }]
  const holding = send({ statements }, "/v1/sql/transaction")
  for (let held = false; !held;) {
    held = (await sql(shared, "select 1 from pg_locks where relation = to_regclass($1)", [table])).length > 0
  }
  const waiting = [1, 2, 3].map(() => send({ sql: `select count(*) from ${table}` }))
  const page = await openPage()
  const begun = Date.now()
  await page.goto(at("/tables"))
  await page.getByRole("link", { name: table }).first().waitFor()
  await page.goto(at("/status"))
  await page.getByRole("region", { name: "Largest tables" }).waitFor()
  await page.getByRole("table", { name: "Statements that take long" }).getByText(table).first().waitFor()
  // Long before the lock is released.
  assert.isBelow(Date.now() - begun, 15_000)
  stop.abort()
  await Promise.allSettled([holding, ...waiting])
})

it("settings are searched by the address, and secrets are masked", async () => {
  const page = await openPage()
  await page.goto(at("/status?setting=svc_jwt_secret"))
  const settings = page.getByRole("table", { name: "Settings" })
  const row = settings.getByRole("row", { name: /SVC_JWT_SECRET/ })
  await row.getByText("****").waitFor()
  assert.notInclude(await page.content(), shared.jwtSecret)
  for (const text of (await settings.getByRole("row").allTextContents()).slice(1)) assert.include(text, "JWT_SECRET")
  await page.getByLabel("Search settings").fill("PORT")
  await page.waitForURL(/setting=PORT/)
  await page.getByLabel("Only those that are set").check()
  await page.waitForURL(/set=true/)
  await page.reload()
  await settings.getByRole("row", { name: /^PORT/ }).waitFor()
})

it("requests, connections and sizes of the last hour and of 30 days, by keyboard and as a table", async () => {
  await makeChartPoints()
  const page = await openPage()
  await page.goto(at("/status"))
  const charts = page.getByRole("region", { name: "Over time" })
  await charts.getByRole("img", { name: /^Requests each minute: requests [\d,]+ to [\d,]+/ }).waitFor()
  await charts.getByRole("img", { name: /^Size of the database: size [\d.]+ [kMG]B to/ }).waitFor()
  await charts.getByRole("button", { name: "30 d" }).click()
  await page.waitForURL(/range=month/)
  await charts.getByRole("img", { name: /^Requests each hour/ }).waitFor()
  const time = charts.getByRole("slider", { name: "Time" })
  const last = await time.getAttribute("aria-valuetext")
  await time.press("Home")
  assert.notStrictEqual(await time.getAttribute("aria-valuetext"), last)
  assert.match(String(await time.getAttribute("aria-valuetext")), /^\d+ \w+, \d\d:00 UTC$/)
  await charts.getByText("Show as a table").click()
  const table = charts.getByRole("table", { name: "Each hour" })
  await table.getByRole("row").nth(718).waitFor()
  await page.reload()
  await charts.getByRole("img", { name: /^Requests each hour/ }).waitFor()
})
