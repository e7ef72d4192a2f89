import { assert, it } from "vitest"
import { headerProblems } from "../../../src/domain/webhooks/Headers.ts"

it("accepts what HTTP allows", () => {
  assert.deepStrictEqual(
    headerProblems({ Authorization: "Bearer x.y", "x-tab": "a\tb", "!#$%&'*+.^_`|~9": "", "User-Agent": "mine/1" }),
    []
  )
})

it.each([
  "Content-Type",
  "host",
  "CONTENT-LENGTH",
  "transfer-encoding",
  "Connection",
  "keep-alive",
  "upgrade",
  "Expect",
  "TE",
  "Trailer",
  "X-Svc-Signature",
  "Webhook-Id",
  "webhook-timestamp",
  "webhook-Signature"
])("rejects %s, which the service sets", (name) => {
  assert.deepStrictEqual(headerProblems({ [name]: "x" }), [{ name, problem: "This header is set by the service" }])
})

it.each(["", " ", "a b", "a:b", "é", "a\n", "a\0"])("rejects the name %j", (name) => {
  assert.match(headerProblems({ [name]: "x" })[0]?.problem ?? "", /header name/)
})

it.each(["a\r\nX-Other: b", "a\n", "\0", "é", "\u{1f389}", " a", "a ", "\x7f"])("rejects the value %j", (value) => {
  assert.match(headerProblems({ "x-a": value })[0]?.problem ?? "", /printable ASCII/)
})

it("rejects duplicates, too many headers, and too many bytes", () => {
  assert.deepStrictEqual(headerProblems({ "X-A": "1", "x-a": "2" }), [
    { name: "x-a", problem: "This header is given twice" }
  ])
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "v"]))
  assert.lengthOf(headerProblems(many(50)), 0)
  assert.lengthOf(headerProblems(many(51)), 1)
  assert.lengthOf(headerProblems({ "x-a": "v".repeat(8192 - 3) }), 0)
  assert.lengthOf(headerProblems({ "x-a": "v".repeat(8192 - 2) }), 1)
})
