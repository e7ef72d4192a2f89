import { assert, it } from "vitest"
import { compareBytes } from "../../../src/domain/branches/rows/KeyOrder.ts"

it("texts are ordered as PostgreSQL orders their UTF-8", () => {
  const texts = ["", "a", "ab", "B", "z", "é", "\ud7ff", "\ue000", "\uffee", "😀", "😀a", "😁", "a\u{10000}", "a\uffff"]
  const expected = texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  assert.deepStrictEqual(texts.toSorted(compareBytes), expected)
})
