import { assert, describe, inject, it } from "vitest"
import { type LogPage } from "../../../src/domain/logs/Line.ts"
import { ask, assertRefused } from "../../support/client.ts"

const service = inject("service")
const key = service.service_role

const search = async (query: string) => {
  const reply = await ask(service, `GET /api/logs?${query}`, { key })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as LogPage
}

describe("/api/logs", () => {
  it("finds the lines of a failed request by its id, and by text, level and time", async () => {
    const id = `failing-${process.pid}`
    const before = new Date().toISOString()
    const body = { sql: "select pg_terminate_backend(pg_backend_pid())" }
    const failed = await ask(service, "POST /v1/sql", { key, body, headers: { "x-request-id": id } })
    assert.isAtLeast(failed.status, 500, failed.text)
    const { database, host, lines } = await search(`request_id=${id}`)
    assert.strictEqual(database, "embedded")
    assert.notStrictEqual(host, "")
    assert.isNotEmpty(lines)
    for (const line of lines) assert.containSubset(line, { level: "WARN", request_id: id, host })
    assert.include(lines[0]?.text, "POST /v1/sql")
    const found = async (query: string) => (await search(query)).lines.some(({ request_id }) => request_id === id)
    assert.isTrue(await found(`text=${encodeURIComponent("to post /V1/SQL")}&from=${before}&level=WARN`))
    assert.isFalse(await found(`text=nothing-has-this`))
    assert.isFalse(await found(`request_id=${id}&level=ERROR`))
    assert.isFalse(await found(`request_id=${id}&to=${before}`))
    const one = await search("limit=1")
    assert.strictEqual(one.lines.length, 1)
    assert.isTrue(one.more)
    const older = await search(`limit=1&to=${one.lines[0]?.at}`)
    assert.isBelow(Date.parse(older.lines[0]?.at ?? ""), Date.parse(one.lines[0]?.at ?? ""))
  })

  it("has the log of the embedded server", async () => {
    const { lines } = await search("source=database&text=ready%20to%20accept")
    assert.include(lines[0]?.text, "ready to accept connections")
    assert.strictEqual(lines[0]?.level, "INFO")
  })

  it("is for service keys, and refuses what is no search", async () => {
    assertRefused(await ask(service, "GET /api/logs", { key: service.anon }), 403)
    assertRefused(await ask(service, "GET /api/logs"), 401)
    for (const query of ["limit=0", "limit=1001", "level=LOUD", "from=yesterday", "source=disk", "text="])
      assertRefused(await ask(service, `GET /api/logs?${query}`, { key }), 400)
  })
})
