import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import { eventText, gapText, parseNotification, RealtimeGap } from "../../../src/domain/realtime/Event.ts"
import { channelOf } from "../../../src/domain/realtime/Subscription.ts"

const bytes = (text: string) => Buffer.byteLength(text)
const payload = (over: object = {}) =>
  JSON.stringify({ id: 1_795_268_748_364_671, schema: "public", table: "notes", operation: "INSERT", ...over })

describe("channelOf", () => {
  it("is svc_rt_{schema}_{table} up to 63 bytes, and 63 bytes at most beyond", () => {
    assert.strictEqual(channelOf("public", "notes"), "svc_rt_public_notes")
    // "svc_rt_" and "_" leave 55 bytes for the names.
    assert.strictEqual(channelOf("s", "t".repeat(54)), `svc_rt_s_${"t".repeat(54)}`)
    for (let length = 1; length <= 63; length++) {
      const name = channelOf("s".repeat(63), "t".repeat(length))
      assert.isAtMost(bytes(name), 63)
      assert.match(name, /^svc_rt_s+_[0-9a-f]{16}$/)
    }
  })

  it("truncates at a character boundary", () => {
    for (const character of ["é", "€", "𝄞"]) {
      for (let before = 0; before < 4; before++) {
        const name = channelOf("public", "x".repeat(before) + character.repeat(Math.floor(63 / bytes(character))))
        assert.isAtMost(bytes(name), 63)
        assert.isAbove(bytes(name), 63 - bytes(character), "only as much as necessary is truncated")
        assert.isTrue(name.isWellFormed())
        assert.strictEqual(Buffer.from(name).toString(), name)
      }
    }
  })

  it("distinguishes long names, whichever characters differ", () => {
    const long = "x".repeat(62)
    const names = [
      channelOf("public", `${long}a`),
      channelOf("public", `${long}b`),
      channelOf("public", long),
      channelOf(`${long}a`, "t"),
      channelOf(`${long}b`, "t"),
      // The same text, split at different places.
      channelOf("a".repeat(30), `${"a".repeat(30)}_b`),
      channelOf(`${"a".repeat(30)}_${"a".repeat(30)}`, "b")
    ]
    assert.strictEqual(new Set(names).size, names.length)
  })

  it("may be the same for two tables with short names", () => {
    assert.strictEqual(channelOf("a", "b_c"), channelOf("a_b", "c"))
  })
})

describe("parseNotification", () => {
  it("parses payloads of the trigger and keeps their text", () => {
    const text = `{"id":17,"schema":"public","table":"n","operation":"UPDATE","row":{"n":12345678901234567890.10}}`
    const found = parseNotification(text)
    assert.deepInclude(found, { micros: 17, schema: "public", table: "n", gap: false })
    const event = found && eventText(found, 99)
    assert.strictEqual(event?.text, text.replace('"id":17', '"id":99'))
    assert.deepInclude(event, { id: 99, schema: "public", table: "n" })
  })

  it("parses a gap", () => {
    assert.isTrue(parseNotification(payload({ gap: true }))?.gap)
  })

  it("is not confused by names or values of columns", () => {
    const row = { schema: "svc", table: "api_keys", id: 3, gap: true, operation: "x" }
    assert.deepInclude(parseNotification(payload({ row })), { schema: "public", table: "notes", gap: false })
  })

  it.each([
    "",
    "subscriptions",
    "{}",
    "null",
    '{"id":1,',
    `[${payload()}]`,
    ` ${payload()}`,
    payload().replace(/"id":\d+/, '"id":1.5'),
    payload().replace(/"id":\d+/, '"id":-1'),
    payload().replace(/"id":\d+/, '"id":"1"'),
    payload().replace(/"id":\d+/, '"id":12345678901234567'),
    payload().replace(/"id":\d+/, '"id":9999999999999999'),
    payload({ operation: "MERGE" }),
    payload({ schema: null }),
    payload({ table: 1 }),
    payload({ gap: "yes" }),
    `${payload()}x`
  ])("rejects other payloads: %s", (text) => {
    assert.isUndefined(parseNotification(text))
  })
})

it("the text of a gap matches its schema", () => {
  assert.deepStrictEqual(Schema.decodeUnknownSync(RealtimeGap)(JSON.parse(gapText(3, 7))), {
    gap: true,
    since: 3,
    oldest: 7
  })
})
