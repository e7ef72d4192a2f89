import { Result, Schema } from "effect"
import { assert, describe, it } from "vitest"
import {
  globalsFile,
  inventoryFile,
  NewBackup,
  newBackupFile,
  parsePartial,
  partialFile,
  restoreLabel
} from "../../../src/domain/backups/Backup.ts"
import { NewBranch } from "../../../src/domain/branches/Branch.ts"

const takes = (schema: Schema.Decoder<unknown>, value: unknown) =>
  Result.isSuccess(Schema.decodeUnknownResult(schema)(value))

describe("a label", () => {
  it.each(["x", "x".repeat(100), "😀".repeat(100), "é漢😀", "'; drop table backups; --"])("may be %j", (label) => {
    assert.isTrue(takes(NewBackup, { label }))
  })
  it.each(["", "x".repeat(101), "😀".repeat(101), "a\0b", "\ud800", 1, null, undefined])("is not %j", (label) => {
    assert.isFalse(takes(NewBackup, { label }))
  })
  it("of a restore is truncated between characters", () => {
    assert.strictEqual(restoreLabel("mine"), "Restore of mine")
    assert.strictEqual(restoreLabel("😀".repeat(100)), `Restore of ${"😀".repeat(49)}`)
    assert.isTrue(takes(NewBranch, { label: restoreLabel("x".repeat(100)) }))
  })
})

describe("names of files", () => {
  it("identify the backup while they are partial", () => {
    for (const format of ["custom", "plain"] as const) {
      const file = newBackupFile(Date.UTC(2026, 10, 21, 3), format)
      assert.match(file, /^20261121T030000Z-[0-9a-f]{12}\.(dump|sql\.zst)$/)
      assert.deepStrictEqual(parsePartial(partialFile(file)), { file, restore: undefined })
      assert.deepStrictEqual(parsePartial(partialFile(file, 12)), { file, restore: 12 })
      assert.deepStrictEqual(parsePartial(partialFile(globalsFile(file))), { file, restore: undefined })
      assert.deepStrictEqual(parsePartial(partialFile(inventoryFile(file))), { file, restore: undefined })
      for (const other of [file, globalsFile(file), `${file}.partial.bak`, `../${file}.partial`, "x.partial", ""]) {
        assert.isUndefined(parsePartial(other))
      }
    }
  })
})
