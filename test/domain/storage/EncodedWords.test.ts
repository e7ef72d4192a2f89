import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { decodeWords, encodeWords } from "../../../src/domain/storage/EncodedWords.ts"

/** A header's bytes as Node returns them. */
const raw = (bytes: string) => Buffer.from(bytes, "utf8").toString("latin1")

describe("encoded words", () => {
  it("restore any text, within RFC 2047's limit of 75 characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const header = encodeWords(text)
        assert.match(header, /^[\x20-\x7e]*$/)
        for (const word of header.split(" ")) if (word.startsWith("=?UTF-8?B?")) assert.isAtMost(word.length, 75)
        assert.strictEqual(decodeWords(header), text)
      })
    )
  })

  it.each([
    ["", ""],
    ["plain text", "plain text"],
    ["é", "=?UTF-8?B?w6k=?="],
    [" x", "=?UTF-8?B?IHg=?="],
    ["a  b", "=?UTF-8?B?YSAgYg==?="],
    ["=?UTF-8?B?w6k=?=", "=?UTF-8?B?PT9VVEYtOD9CP3c2az0/PQ==?="]
  ])("encodes %j as %j", (text, header) => assert.strictEqual(encodeWords(text), header))

  it.each([
    ["plain", "plain"],
    ["50% =off?= ?", "50% =off?= ?"],
    ["=?utf-8?q?caf=C3=A9_au_lait?=", "café au lait"],
    ["=?ISO-8859-1?Q?caf=E9?=", "café"],
    ["=?UTF-8?B?w6k=?= =?UTF-8?B?w6g=?=", "éè"],
    // A character split between two words.
    ["=?UTF-8?B?ww==?= =?UTF-8?B?qQ==?=", "é"],
    ["=?UTF-8?B?w6k=?= and =?UTF-8?B?w6g=?=", "é and è"],
    ["=?UTF-8?B?w6k=?= =?ISO-8859-1?Q?=E8?=", "éè"],
    ["=?no-such-charset?B?w6k=?=", "=?no-such-charset?B?w6k=?="],
    [raw("漢字 as it is"), "漢字 as it is"],
    ["caf\xe9 in latin1", "café in latin1"]
  ])("decodes %j as %j", (header, text) => assert.strictEqual(decodeWords(header), text))
})
