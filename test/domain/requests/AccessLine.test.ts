import { assert, describe, it } from "@effect/vitest"
import { type Access, jsonLine, plainLine } from "../../../src/domain/requests/AccessLine.ts"

const access: Access = {
  at: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  id: "r-1",
  method: "GET",
  path: "/v1/db/notes",
  route: "/v1/db/{table}",
  status: 200,
  code: "",
  millis: 1.239,
  bytesIn: 0,
  bytesOut: 17,
  keyId: 3,
  role: "anon",
  identity: "",
  client: "192.0.2.1",
  dashboard: false
}
/** What a line must not contain, of C0 and C1 controls, line breaks and changes of direction. */
const hostile = `a"b\\c\n\r\u001b[31m\u0085\u009b\u2028\u2029\u202e\u2066\u007f\u0000é😀`

describe("a line of the access log", () => {
  it("is JSON, with the worker's number if there are workers", () => {
    assert.deepStrictEqual(JSON.parse(jsonLine(access, 2)), {
      timestamp: "2026-01-02T03:04:05.006Z",
      level: "INFO",
      log: "access",
      request_id: "r-1",
      method: "GET",
      path: "/v1/db/notes",
      route: "/v1/db/{table}",
      status: 200,
      code: null,
      milliseconds: 1.24,
      bytes_in: 0,
      bytes_out: 17,
      key: 3,
      role: "anon",
      identity: null,
      client: "192.0.2.1",
      dashboard: false,
      worker: 2
    })
    assert.notProperty(JSON.parse(jsonLine({ ...access, bytesOut: -1 }, 0)), "worker")
  })

  it("can be read by people on a terminal", () => {
    const line = plainLine({ ...access, status: 404, code: "PGRST205" })
    assert.strictEqual(
      line,
      "[03:04:05.006] \u001b[33m404\u001b[0m GET /v1/db/notes PGRST205 1.2 ms 17 B key 3 anon 192.0.2.1 r-1"
    )
  })

  it("stays one line, and plain, whatever a caller has sent", () => {
    const given = {
      ...access,
      id: hostile,
      path: hostile,
      identity: hostile,
      client: hostile,
      role: hostile,
      code: hostile
    }
    const json = jsonLine({ ...given, method: hostile }, 0)
    assert.notMatch(json, /[\p{Cc}\p{Zl}\p{Zp}\u202e\u2066]/u)
    const parsed = JSON.parse(json) as Readonly<Record<string, unknown>>
    for (const name of ["request_id", "path", "identity", "client", "role", "code", "method"]) {
      assert.strictEqual(parsed[name], hostile, name)
    }
    const coloured = plainLine({ ...given, method: hostile }).replace("\u001b[32m200\u001b[0m", "200")
    assert.notMatch(coloured, /[\p{Cc}\p{Zl}\p{Zp}\u202e\u2066]/u)
    const key = `svc_sk_${"x".repeat(43)}`
    for (const line of [jsonLine({ ...access, path: `/${key}` }, 0), plainLine({ ...access, path: `/${key}` })]) {
      assert.notInclude(line, key)
    }
  })
})
