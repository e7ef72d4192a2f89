import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({})
})
afterAll(() => service[Symbol.asyncDispose]())

const manage = async (line: string, body?: unknown) => {
  const request = { key: service.service_role, ...(body === undefined ? {} : { body }) }
  const reply = await ask(service, line, request)
  return { ...reply, json: reply.json as Readonly<Record<string, unknown>> }
}
const target = { type: "sql", sql: "select 1" }
const valid = { name: "valid", cron: "0 3 * * *", target }

describe("/api/schedules", () => {
  it("is for service keys and owners", async () => {
    for (const line of [
      "GET /api/schedules",
      "POST /api/schedules",
      "POST /api/schedules/1/run",
      "GET /api/schedules/times?cron=@daily"
    ]) {
      assertRefused(
        await ask(service, line, { key: service.anon, ...(line.startsWith("POST") && { body: valid }) }),
        403
      )
      assertRefused(await ask(service, line, line.startsWith("POST") ? { body: valid } : {}), 401)
    }
  })

  it("refuses what is not a schedule with a sentence", async () => {
    for (const [change, code] of [
      [{ name: "" }, "INVALID_REQUEST"],
      [{ name: "x".repeat(101) }, "INVALID_REQUEST"],
      [{ name: "a\u0000b" }, "INVALID_REQUEST"],
      [{ cron: "* * *" }, "SCHEDULE_TIMES"],
      [{ cron: "0 0 30 2 *" }, "SCHEDULE_TIMES"],
      [{ timezone: "Mars/Base" }, "SCHEDULE_TIMES"],
      [{ timezone: "+02:00" }, "SCHEDULE_TIMES"],
      [{ role: "no such role" }, "SCHEDULE_ROLE"],
      [{ target: { type: "own" } }, "INVALID_REQUEST"],
      [{ target: { type: "sql", sql: "" } }, "INVALID_REQUEST"],
      [{ target: { type: "http", url: "ftp://x" } }, "INVALID_REQUEST"],
      [{ target: { type: "http", url: "http://x", headers: { "webhook-id": "1" } } }, "INVALID_REQUEST"],
      [{ timeout: 0 }, "INVALID_REQUEST"],
      [{ retries: 11 }, "INVALID_REQUEST"],
      [{ overlap: "never" }, "INVALID_REQUEST"],
      [{ origin: "own" }, "INVALID_REQUEST"]
    ] as const) {
      assertRefused(await manage("POST /api/schedules", { ...valid, ...change }), 400, code)
    }
  })

  it("creates, changes and deletes schedules, and never returns a secret", async () => {
    const made = await manage("POST /api/schedules", {
      name: "call",
      cron: "@daily",
      timezone: "Europe/Berlin",
      target: { type: "http", url: "https://example.com/x", secret: "hush" }
    })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.json, {
      name: "call",
      origin: "api",
      active: true,
      overlap: "skip",
      catch_up: "once",
      timeout: 300
    })
    assert.deepStrictEqual(made.json["target"], {
      type: "http",
      url: "https://example.com/x",
      headers: {},
      has_secret: true
    })
    assert.lengthOf(made.json["next_runs"] as ReadonlyArray<string>, 5)
    const path = `/api/schedules/${made.json["id"]}`
    assertRefused(await manage("POST /api/schedules", { ...valid, name: "call" }), 409, "SCHEDULE_EXISTS")
    const changed = await manage(`PATCH ${path}`, {
      target: { type: "http", url: "https://example.com/y" },
      timeout: 60
    })
    assert.deepInclude(changed.json["target"] as object, { url: "https://example.com/y", has_secret: true })
    assert.strictEqual(changed.json["timeout"], 60)
    assert.deepStrictEqual((await manage(`PATCH ${path}`, { active: false })).json["next_runs"], [])
    assertRefused(await manage(`PATCH ${path}`, { cron: "x" }), 400, "SCHEDULE_TIMES")
    assert.notInclude((await manage("GET /api/schedules")).text, "hush")
    assert.deepStrictEqual((await manage(`DELETE ${path}`)).json, { success: true })
    assertRefused(await manage(`GET ${path}`), 404, "SCHEDULE_NOT_FOUND")
  })

  it("answers 404 to ids that can't be, and 400 to what is none", async () => {
    for (const id of ["0", "-1", "99999", "2147483648", "99999999999999"]) {
      for (const line of [
        `GET /api/schedules/${id}`,
        `DELETE /api/schedules/${id}`,
        `POST /api/schedules/${id}/run`,
        `GET /api/schedules/${id}/runs`
      ]) {
        assertRefused(await manage(line), 404, "SCHEDULE_NOT_FOUND")
      }
    }
    assertRefused(await manage("GET /api/schedules/x"), 400)
    assertRefused(await manage("GET /api/schedules/1.5"), 400)
  })

  it("lists the service's own jobs, which can be run, not changed", async () => {
    const { json } = await manage("GET /api/schedules")
    const own = (
      json as object as ReadonlyArray<{ readonly id: number; readonly origin: string; readonly name: string }>
    ).find(({ name, origin }) => origin === "own" && name === "audit.retention")
    const path = `/api/schedules/${own?.id}`
    assertRefused(await manage(`PATCH ${path}`, { active: false }), 409, "SCHEDULE_OWN")
    assertRefused(await manage(`DELETE ${path}`), 409, "SCHEDULE_OWN")
    assert.strictEqual((await manage(`POST ${path}/run`)).status, 202)
  })

  it("shows the next times of an expression", async () => {
    const { json } = await manage("GET /api/schedules/times?cron=30+2+29+3+*&timezone=Europe%2FBerlin&count=2")
    assert.lengthOf(json["times"] as ReadonlyArray<string>, 2)
    assertRefused(await manage("GET /api/schedules/times?cron=@daily&count=101"), 400)
  })
})
