import { assert, describe, it } from "vitest"
import { Pieces } from "../../../src/domain/changes/Pieces.ts"

describe("pieces of a change", () => {
  it("make the text, one change after the other", () => {
    const pieces = new Pieces()
    const added = ["1,0,0|one", "2,0,2|a", "2,1,2|b,1|", "2,2,2|c", "3,0,0|"].map((payload) => pieces.add(payload))
    assert.deepStrictEqual(added, ["one", undefined, undefined, "ab,1|c", ""])
  })

  it("that are forged, or not complete, are dropped", () => {
    const pieces = new Pieces()
    const wrong = ["", "x", "1,1,1|b", "1,0,1|a", "2,1,1|b", "1,1,1|b", "1,0,2|a", "1,2,2|c", "9".repeat(20) + ",0,0|x"]
    for (const payload of wrong) assert.isUndefined(pieces.add(payload), payload)
    assert.strictEqual(pieces.add("4,0,0|whole"), "whole")
  })

  it("of a text without an end are not kept for ever", () => {
    const pieces = new Pieces()
    const text = "x".repeat(1024 * 1024)
    for (let n = 0; n < 33; n++) assert.isUndefined(pieces.add(`1,${n},33|${text}`))
    assert.isUndefined(pieces.add(`1,33,33|${text}`))
  })
})
