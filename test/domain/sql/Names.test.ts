import { assert, it } from "@effect/vitest"
import { arrayLiteral, quoteName } from "../../../src/domain/sql/Names.ts"

it("identifiers and array literals", () => {
  assert.strictEqual(quoteName('a"b'), '"a""b"')
  assert.strictEqual(arrayLiteral(['a"', "b\\", "", "NULL"]), '{"a\\"","b\\\\","","NULL"}')
})
