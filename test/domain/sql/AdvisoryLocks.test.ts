import { assert, it } from "vitest"
import * as locks from "../../../src/domain/sql/AdvisoryLocks.ts"

it("no two advisory locks have the same number", () => {
  const numbers = Object.values(locks)
  assert.strictEqual(new Set(numbers).size, numbers.length)
  for (const number of numbers) assert.match(number, /^\d{1,18}$/)
})
