import { assert, it } from "vitest"
import { generatedPages } from "../../scripts/docs.ts"

it.each(generatedPages())("$path repeats the source (npm run docs:generate)", ({ current, wanted }) => {
  assert.strictEqual(current, wanted)
})
