import { Result } from "effect"
import { assert, describe, it } from "vitest"
import { readResponseSettings } from "../../../src/domain/rows/ResponseSettings.ts"

const read = (status: string, headers: string) => readResponseSettings({ status, headers })

describe("the response settings of a function", () => {
  it("are a status and headers in order, with repeated names", () => {
    assert.deepStrictEqual(
      Result.getOrThrow(read("418", '[{"X-Tea":"Earl Grey"},{"Set-Cookie":"a=1"},{"Set-Cookie":"b=2"}]')),
      {
        status: 418,
        headers: [
          ["x-tea", "Earl Grey"],
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2"]
        ]
      }
    )
    assert.deepStrictEqual(Result.getOrThrow(read("", "[]")), { status: undefined, headers: [] })
  })

  it("omit headers that frame the message", () => {
    const headers = '[{"Content-Length":"5"},{"Transfer-Encoding":"chunked"},{"Connection":"close"},{"A":"b"}]'
    assert.deepStrictEqual(Result.getOrThrow(read("", headers)).headers, [["a", "b"]])
  })

  it.each([
    "{}",
    "null",
    "[",
    "5",
    '["a"]',
    '[{"a":1}]',
    '[{"a":"b","c":"d"}]',
    "[{}]",
    '[{"a b":"c"}]',
    '[{"":"c"}]',
    '[{"a":"b\\r\\nc: d"}]',
    '[{"a":"\\u0000"}]'
  ])("reject headers %s", (headers) => {
    const result = read("", headers)
    assert.deepInclude(Result.isFailure(result) ? result.failure : {}, { status: 500, code: "PGRST111" })
  })

  it.each(["teapot", "99", "101", "1000", "600", "20x", "-200", "2e2"])("reject status %s", (status) => {
    const result = read(status, "")
    assert.deepInclude(Result.isFailure(result) ? result.failure : {}, { status: 500, code: "PGRST112" })
  })
})
