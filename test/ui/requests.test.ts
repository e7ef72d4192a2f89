import { assert, inject, it } from "vitest"
import { ask } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()

const send = (line: string, id: string, key = service.service_role) =>
  ask(service, line, { key, headers: { "x-request-id": id } })

it("requests appear while the page is open, are filtered by the address, and counted by route", async () => {
  const name = `absent_${process.pid}`
  const page = await openPage()
  await page.goto(at(`/requests?path=${name}`))
  await page.getByText("No request matches").waitFor()
  await send(`GET /v1/db/${name}?note=eq.secret`, "seen-live")
  const list = page.getByRole("table", { name: "Latest requests" })
  const row = list.getByRole("row", { name: new RegExp(`GET /v1/db/${name} .*404 PGRST205`) })
  await row.waitFor()
  await list.getByRole("button", { name: "Copy request id seen-live" }).waitFor()
  assert.notInclude(await page.content(), "secret")

  await page.getByRole("button", { name: "Pause" }).click()
  await send(`GET /v1/db/${name}?again`, "seen-later")
  await page.getByLabel("Status").selectOption("4xx")
  await page.waitForURL(/status=4xx/)
  await list.getByRole("button", { name: "Copy request id seen-later" }).waitFor()
  await page.getByLabel("Status").selectOption("2xx")
  await page.getByText("No request matches").waitFor()
  await page.getByRole("button", { name: "Clear filters" }).click()
  await page.waitForURL(/\/requests$/)

  const routes = page.getByRole("table", { name: "Routes" })
  await routes.getByRole("button", { name: "GET /v1/db/{table}" }).click()
  await page.waitForURL(/route=/)
  await page.reload()
  await page.getByRole("button", { name: "Remove filter GET /v1/db/{table}" }).waitFor()
  await row.first().waitFor()
  const hour = page.getByRole("region", { name: "The last hour" })
  await hour.getByRole("img", { name: /^Requests by minute: \d+ in the last hour/ }).waitFor()
  for (const line of await list.getByRole("row").allTextContents()) {
    assert.match(line, /Arrived|GET \/v1\/db\/[^/]+/)
  }
})

it("what pages of the dashboard send is shown when it is asked for", async () => {
  const page = await openPage()
  await page.goto(at("/requests?path=%2Fapi%2Frequests"))
  await page.getByText("No request matches").waitFor()
  await page.getByLabel("Those of the dashboard").check()
  await page.waitForURL(/dashboard=true/)
  await page
    .getByRole("row", { name: /\/api\/requests.*dashboard/ })
    .first()
    .waitFor()
})

it("the page of keys counts the requests of each, and leads to them", async () => {
  const body = { keyType: "service_role", label: `of ${process.pid}` }
  const { json } = await ask(service, "POST /api/keys", { key: service.service_role, body })
  const { secret } = json as { readonly secret: string }
  await send("GET /v1/status", "of-this-key", secret)
  await send("GET /v1/db/nowhere", "refused-to-this-key", secret)
  const page = await openPage()
  await page.goto(at("/keys"))
  const row = page.getByRole("row", { name: new RegExp(`of ${process.pid}`) })
  await row.getByRole("link", { name: "1 refused" }).click()
  await page.waitForURL(/\/requests\?key=\d+&status=4xx$/)
  await page.getByRole("button", { name: "Copy request id refused-to-this-key" }).waitFor()
  await assertCount(page.getByRole("table", { name: "Latest requests" }).getByRole("row"), 2)
  await page.goBack()
  await row.getByRole("link", { name: "2 requests, show the latest" }).click()
  await page.waitForURL(/\/requests\?key=\d+$/)
  await page.getByRole("button", { name: "Copy request id of-this-key" }).waitFor()
  await assertCount(page.getByRole("table", { name: "Latest requests" }).getByRole("row"), 3)
})

it("an address that the service refuses is a problem, not an empty list", async () => {
  const page = await openPage()
  await page.goto(at("/requests?status=abc"))
  await page.getByRole("heading", { name: "The requests could not be read" }).waitFor()
  await page.getByLabel("Status").selectOption({ label: "any status" })
  await page.getByRole("table", { name: "Latest requests" }).waitFor()
})
