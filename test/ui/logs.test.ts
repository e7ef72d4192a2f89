import { inject, it } from "vitest"
import { ask } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const service = inject("service")
checkPages()

it("a failed request leads to its lines by one press, and lines are searched by text, level and log", async () => {
  const id = `ui-failing-${process.pid}`
  const body = { sql: "select pg_terminate_backend(pg_backend_pid())" }
  await ask(service, "POST /v1/sql", { key: service.service_role, body, headers: { "x-request-id": id } })
  const page = await openPage()
  await page.goto(at("/requests?status=5xx"))
  await page.getByRole("link", { name: `Log lines of ${id}` }).click()
  await page.waitForURL(/\/logs\?request_id=/)
  const lines = page.getByRole("list", { name: "Lines" })
  await lines.getByText(/^Responded with 50\d \w+ to POST \/v1\/sql/).waitFor()
  await page.getByRole("button", { name: `Remove filter request ${id}` }).click()
  await page.getByRole("searchbox", { name: "Search lines" }).fill("to post /v1/sql")
  await lines.getByRole("button", { name: id }).waitFor()
  await page.getByRole("combobox", { name: "Level" }).selectOption("ERROR")
  await lines.getByRole("button", { name: id }).waitFor({ state: "detached" })
  await page.goto(at("/logs?source=database"))
  await lines.getByText("database system is ready to accept connections").first().waitFor()
})
