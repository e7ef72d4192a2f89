import { assert, it } from "vitest"
import { loggedText } from "../../../src/domain/webhooks/Reply.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

it("is the text as it is, up to 1,024 bytes", () => {
  assert.strictEqual(loggedText(utf8("")), "")
  assert.strictEqual(loggedText(utf8("é".repeat(512))), "é".repeat(512))
  assert.strictEqual(loggedText(utf8("x".repeat(5_000))), "x".repeat(1_024))
})

it("is cut before a character that does not fit, not within it", () => {
  assert.strictEqual(loggedText(utf8(`x${"é".repeat(600)}`)), `x${"é".repeat(511)}`)
  assert.strictEqual(loggedText(utf8(`x${"🎉".repeat(300)}`)), `x${"🎉".repeat(255)}`)
})

it("has U+FFFD for what PostgreSQL can't store", () => {
  assert.strictEqual(loggedText(Uint8Array.of(0x61, 0xff, 0x00, 0x62)), "a\ufffd\ufffdb")
  assert.strictEqual(loggedText(utf8("é").subarray(0, 1)), "\ufffd")
  assert.isTrue(loggedText(Uint8Array.of(0xed, 0xa0, 0x80)).isWellFormed())
})
