import { Client, type CallToolResult, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { randomBytes } from "node:crypto"
import { afterAll, assert, it } from "vitest"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"
import { type Service, startService } from "../../support/service.ts"

const postgres = await startOtherPostgres()
const dataDir = await makeDataDir()
afterAll(async () => {
  await removeDataDir(dataDir)
  await postgres[Symbol.asyncDispose]()
})

const callTool = async (service: Service, name: string, given: Record<string, unknown>) => {
  const client = new Client({ name: "test", version: "1" })
  const headers = { apikey: service.service_role }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }))
  const { content, isError } = (await client.callTool({ name, arguments: given })) as CallToolResult
  await client.close()
  const [first] = content
  return { failed: isError === true, text: first?.type === "text" ? first.text : "" }
}

it("a login that may not create roles runs no read-only SQL until an administrator has run the named statement", async () => {
  await postgres.sql("create role keeper login createrole password 'secret'")
  await postgres.sql("create database theirs owner keeper")
  const address = new URL(postgres.url)
  Object.assign(address, { username: "keeper", password: "secret", pathname: "theirs" })
  const jwtSecret = randomBytes(32).toString("base64url")
  const start = (mode: string) =>
    startService({
      dataDir,
      jwtSecret,
      env: { DATABASE_URL: address.href, SVC_SERVICE_ROLE: "keeper", SVC_MCP: mode }
    })
  const sql = { sql: "select current_user, 7 as seven" }

  {
    await using _ = await start("off")
  }
  assert.deepStrictEqual(await postgres.sql("select from pg_roles where rolname = 'svc_assistant'"), [])
  await postgres.sql("alter role keeper nocreaterole")
  let remedy = ""
  {
    await using service = await start("branches")
    for (const tool of ["run_sql", "explain"]) {
      const { failed, text } = await callTool(service, tool, sql)
      assert.isTrue(failed, tool)
      assert.match(text, /"code":"MCP_ROLE_MISSING"/)
      remedy = /As an administrator of the database: (.*); then restart/.exec(text)?.[1]?.replaceAll('\\"', '"') ?? ""
    }
    assert.include(remedy, "createrole")
    assert.include(service.output().replaceAll('\\"', '"'), remedy)
    assert.isFalse((await callTool(service, "search_docs", { query: "branches" })).failed)
  }
  await postgres.sql(remedy)
  await using service = await start("branches")
  const { failed, text } = await callTool(service, "run_sql", sql)
  assert.isFalse(failed, text)
  assert.include(text, "svc_assistant")
})
