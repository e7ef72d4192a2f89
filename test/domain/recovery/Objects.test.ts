import { assert, describe, it } from "vitest"
import {
  changesFrom,
  changesName,
  objectsAt,
  outdatedObjects,
  packName,
  parseChangesName,
  parsePackName,
  type StoredRows
} from "../../../src/domain/recovery/Objects.ts"

const piece = (from: number, to: number, until: number, store = "a") => {
  const parsed = parseChangesName(changesName({ store, from, to, until }))
  if (parsed === undefined) throw new Error("A name is not parsed")
  return parsed
}
const rows = (from: number, at: number, packs: ReadonlyArray<string> = [], store = "a"): StoredRows => ({
  id: `${at}`,
  store,
  from,
  to: from,
  at,
  pages: 1,
  packs
})

describe("objects in an archive", () => {
  it("follow the changes without a gap, by the longest pieces", () => {
    const pieces = [piece(0, 5, 50), piece(5, 7, 70), piece(0, 7, 70), piece(7, 7, 90), piece(9, 12, 120)]
    assert.deepStrictEqual(
      changesFrom(pieces, 0).map(({ from, to }) => [from, to]),
      [
        [0, 7],
        [7, 7]
      ]
    )
    assert.deepStrictEqual(
      changesFrom(pieces, 6).map(({ until }) => until),
      [70, 90]
    )
    assert.deepStrictEqual(changesFrom(pieces, 8), [])
  })

  it("are as of a time those of the latest rows before it", () => {
    const all = [rows(0, 10), rows(7, 60), rows(100, 80, [], "b")]
    const pieces = [piece(0, 7, 55), piece(7, 9, 75), piece(100, 110, 95, "b")]
    assert.isUndefined(objectsAt(all, pieces, 9))
    assert.strictEqual(objectsAt(all, pieces, 59)?.rows.at, 10)
    const then = objectsAt(all, pieces, 79)
    assert.strictEqual(then?.rows.at, 60)
    assert.strictEqual(then?.until, 75)
    assert.strictEqual(objectsAt(all, pieces, 200)?.rows.store, "b")
    assert.strictEqual(objectsAt(all, pieces, 200)?.until, 95)
  })

  it("stay as long as a state of the last days needs them", () => {
    const pack = (position: number, store = "a") => packName({ store, position, size: 10 }, "00")
    assert.deepStrictEqual(parsePackName(pack(3)), { store: "a", position: 3, size: 10 })
    const [old, shared, before, later] = [pack(1), pack(2), pack(8), pack(20)]
    const all = [rows(0, 10, [old, shared]), rows(10, 100, [shared]), rows(30, 300, [shared])]
    const pieces = [piece(0, 10, 90), piece(10, 30, 290), piece(30, 31, 310)]
    const given = { rows: all, pieces, packs: [old, shared, before, later, pack(1, "c"), "not a pack"] }
    const gone = outdatedObjects(given, "a", 200)
    assert.deepStrictEqual(
      gone.rows.map(({ at }) => at),
      [10]
    )
    // One that ends where the rows begin is not needed, but harmless.
    assert.deepStrictEqual(gone.pieces, [])
    assert.deepStrictEqual(gone.packs, [old, before, pack(1, "c")])
    assert.deepStrictEqual(outdatedObjects(given, "a", 5).rows, [])
    // A store that was lost and recovered is kept until its last state is too old.
    const other = { rows: [...all, rows(5, 20, [old], "b")], pieces: [...pieces, piece(5, 9, 250, "b")], packs: [old] }
    assert.deepStrictEqual(outdatedObjects(other, "a", 200).packs, [])
    const past = outdatedObjects(other, "a", 260)
    assert.deepStrictEqual(past.packs, [old])
    assert.deepStrictEqual(
      past.pieces.map(({ store }) => store),
      ["b"]
    )
  })
})
