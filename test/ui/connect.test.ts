import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, inject, it } from "vitest"
import { sql } from "../support/client.ts"
import { root, type Service, startService } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

checkPages()
let service: Service
beforeAll(async () => {
  service = await startService({ env: { SVC_MCP: "read" } })
})
afterAll(() => service[Symbol.asyncDispose]())

const execute = promisify(execFile)

it("an app is connected by a key that is created on the page, and by its programs as they are", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/connect", service))
  await page.getByText("The database has no table yet").waitFor()
  await sql(service, "create table notes (id int primary key)")
  await sql(service, "insert into notes values (7)")
  await sql(service, "grant select on notes to anon")
  await page.reload()
  await page.getByText("The requests of each table and function").waitFor()
  await page.getByRole("button", { name: "Create an anon key" }).click()
  await page.getByRole("button", { name: "Try it" }).click()
  await page.getByText("The key works: it reaches /notes.").waitFor()

  const programs = page.getByRole("group", { name: "Program" })
  const text = page.getByLabel("Program", { exact: true }).locator("visible=true").last()
  const settings = await text.innerText()
  const env = {
    PATH: process.env["PATH"] ?? "",
    ...Object.fromEntries(settings.split("\n").map((line) => line.split("=") as [string, string]))
  }
  assert.match(settings, /^API_URL=http:.*\nANON_KEY=svc_pk_/)
  await programs.getByRole("button", { name: "curl" }).click()
  assert.strictEqual((await execute("bash", ["-c", await text.innerText()], { env })).stdout, '[{"id":7}]')
  await programs.getByRole("button", { name: "fetch" }).click()
  const program = ["--input-type=module", "--eval", await text.innerText()]
  assert.match((await execute(process.execPath, program, { env, cwd: root })).stdout, /^200 \[ \{ id: 7 \} \]/)
  await programs.getByRole("button", { name: "supabase-js" }).click()
  await page.getByText("which is not set on this service").waitFor()
})

it("an assistant gets a key with a limit, whose tools the page shows", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/assistant", service))
  await page.getByRole("button", { name: "What an anon key may read" }).click()
  await page.getByRole("button", { name: "Create an anon key" }).click()
  await page.getByRole("button", { name: "Try it" }).click()
  await page.getByText("The assistant has 4 tools: list_tables, describe_table, read_rows, search_docs.").waitFor()
  await page.getByRole("button", { name: "All rows, and SQL" }).click()
  await page.getByRole("button", { name: "Create a service_role key" }).waitFor()
  await page.getByRole("button", { name: "What an anon key may read" }).click()
  const settings = page.getByLabel("Settings", { exact: true })
  assert.match(await settings.innerText(), /^claude mcp add --transport http svc http.*\/mcp --header/)
  for (const name of ["Cursor", "VS Code", "Gemini CLI", "Zed", "Windsurf", "Other"]) {
    await page.getByRole("button", { name, exact: true }).click()
    assert.match(JSON.stringify(JSON.parse(await settings.innerText())), /\/mcp".*Bearer svc_pk_/)
  }
  await assertAccessible(page, "connect an assistant")
  const keys = await sql(service, "select label, rate_limit from svc.api_keys where label = 'assistant'")
  assert.deepStrictEqual(keys, [{ label: "assistant", rate_limit: 60 }])
})

it("a service without assistants says how to allow them", async () => {
  const page = await openPage({})
  await page.goto(at("/assistant", inject("service")))
  await page.getByText("Assistants are off").waitFor()
})
