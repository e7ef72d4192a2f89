import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { contentRange, rangeStatus, rowRange } from "../../../src/http/rows/Range.ts"

describe("Range", () => {
  it.each<[header: string | undefined, range: object | undefined]>([
    [undefined, undefined],
    ["0-24", { offset: 0, limit: 25 }],
    ["10-", { offset: 10, limit: undefined }],
    ["3-3", { offset: 3, limit: 1 }],
    ["5-2", { offset: 5, limit: -2 }],
    ["-5", undefined],
    ["items=0-4", undefined],
    ["bytes=-1", undefined],
    ["0-4,6-8", undefined],
    ["1-2\n", undefined]
  ])("%s", (header, range) => {
    assert.deepStrictEqual(rowRange(header), range as ReturnType<typeof rowRange>)
  })

  it("stays within exact whole numbers for any number of digits", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n }), fc.bigInt({ min: 0n }), (first, last) => {
        const range = rowRange(`${first}-${last}`)
        assert.isTrue(Number.isSafeInteger(range?.offset) && Number.isSafeInteger(range?.limit))
      })
    )
  })
})

it.each<[offset: number, count: number, total: number | undefined, expected: string, status: number]>([
  [0, 25, undefined, "0-24/*", 200],
  [0, 25, 573, "0-24/573", 206],
  [50, 25, 75, "50-74/75", 206],
  [0, 3, 3, "0-2/3", 200],
  [0, 0, undefined, "*/*", 200],
  [0, 0, 0, "*/0", 200],
  [3, 0, 3, "*/3", 206],
  [4, 0, 3, "*/3", 416],
  [1, 0, 0, "*/0", 416],
  // An estimate may be lower than the number of rows.
  [0, 10, 4, "0-9/4", 200]
])("offset %i, %i rows of %s: %s, %i", (offset, count, total, expected, status) => {
  assert.strictEqual(contentRange(offset, count, total), expected)
  assert.strictEqual(rangeStatus(offset, count, total), status)
})
