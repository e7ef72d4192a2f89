import { assert, it } from "vitest"
import { parseRange } from "../../../src/http/wire/ByteRange.ts"
import { prefersAsync } from "../../../src/http/rows/Prefer.ts"

it.each([
  ["bytes=0-0", 10, { first: 0, last: 0 }],
  ["bytes=3-5", 10, { first: 3, last: 5 }],
  ["bytes=3-", 10, { first: 3, last: 9 }],
  ["bytes=3-99", 10, { first: 3, last: 9 }],
  ["BYTES=-4", 10, { first: 6, last: 9 }],
  ["bytes=-40", 10, { first: 0, last: 9 }],
  ["bytes=9-", 10, { first: 9, last: 9 }],
  ["bytes=10-", 10, "outside"],
  ["bytes=10-20", 10, "outside"],
  ["bytes=-0", 10, "outside"],
  ["bytes=0-", 0, "outside"],
  ["bytes=-1", 0, "outside"],
  // Valid but unsupported, or invalid: the whole file, as without a range.
  ["bytes=5-3", 10, undefined],
  ["bytes=0-1,3-4", 10, undefined],
  ["bytes=-", 10, undefined],
  ["bytes=a-b", 10, undefined],
  ["lines=1-2", 10, undefined],
  ["bytes=99999999999999999999-", 10, undefined],
  ["", 10, undefined],
  [undefined, 10, undefined]
] as const)("%j of %d bytes is %j", (header, size, range) => {
  assert.deepStrictEqual(parseRange(header, size), range)
})

it("Prefer: respond-async (RFC 7240) requests a response before the work is done", () => {
  for (const yes of [
    "respond-async",
    "return=minimal, respond-async",
    "Respond-Async; x=1",
    "wait=10,respond-async,a"
  ]) {
    assert.isTrue(prefersAsync(yes), yes)
  }
  for (const no of [undefined, "", "return=minimal", "no-respond-async", "respond-asynchronous"]) {
    assert.isFalse(prefersAsync(no), no)
  }
})
