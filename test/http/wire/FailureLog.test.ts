import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/domain/errors.ts"
import { errorResponse } from "../../../src/http/wire/ErrorBodies.ts"
import { makeFailureLog } from "../../../src/http/front/FailureLog.ts"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService

beforeAll(async () => {
  service = await serveInProcess({ SVC_ENCRYPTION_KEY: "" })
  await sql(
    service,
    "create function broken(v text) returns int language plpgsql as $$ begin raise no_data_found using message = v; end $$"
  )
})
afterAll(() => service[Symbol.asyncDispose]())

interface Line {
  readonly level: string
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
}
const logged = (): ReadonlyArray<Line> =>
  service
    .output()
    .split("\n")
    .filter((line) => line.includes("Responded with"))
    .map((line) => JSON.parse(line) as Line)

describe("a request that fails for no fault of its caller", () => {
  it("is one warning, with the id that the caller has, and without what the caller sent", async () => {
    const fail = { key: service.service_role, body: { v: "a private text" } }
    const first = await ask(service, "POST /v1/db/rpc/broken", fail)
    assert.strictEqual(first.status, 500)
    const second = await ask(service, "POST /api/connections?note=secret", {
      key: service.service_role,
      body: { name: "x", connection_url: "postgres://u:p@h/d" }
    })
    assert.strictEqual(second.status, 503, second.text)
    const lines = logged().slice(-2)
    assert.deepStrictEqual(
      lines.map(({ level, message }) => [level, message.split(": ")[0]]),
      [
        ["WARN", "Responded with 500 P0002 to POST /v1/db/rpc/broken"],
        ["WARN", "Responded with 503 NOT_CONFIGURED to POST /api/connections"]
      ]
    )
    assert.deepStrictEqual(
      lines.map(({ annotations }) => annotations["request_id"]),
      [first, second].map(({ headers }) => headers.get("x-request-id"))
    )
    assert.notMatch(service.output(), /a private text|note=secret|\\n {4}at /)
  })

  it.effect("is counted instead, beyond 20 in a second", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    return Effect.gen(function* () {
      const log = makeFailureLog()
      const response = errorResponse(new Unavailable({ error: "The database is unreachable" }), "1")
      const fail = log({ id: "1", method: "GET", path: "/v1/db/t", response, ofDatabase: false })
      for (let times = 0; times < 200; times++) yield* fail
      assert.lengthOf(lines, 20)
      yield* TestClock.adjust("1 second")
      yield* fail
      yield* fail
      assert.deepStrictEqual(lines.slice(19), [
        "Responded with 503 UNAVAILABLE to GET /v1/db/t: The database is unreachable",
        "Responded with 503 UNAVAILABLE to GET /v1/db/t: The database is unreachable; 180 more before are not in the log",
        "Responded with 503 UNAVAILABLE to GET /v1/db/t: The database is unreachable"
      ])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it("is not logged for the caller's own faults, and probes", async () => {
    const before = logged().length
    await ask(service, "GET /v1/status")
    await ask(service, "GET /nowhere")
    await ask(service, "GET /v1/db/nothing", { key: service.service_role })
    assert.strictEqual(logged().length, before)
  })
})
