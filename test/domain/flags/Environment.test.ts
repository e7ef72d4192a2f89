import { assert, describe, it } from "@effect/vitest"
import { selectFlags } from "../../../src/domain/flags/Environment.ts"

describe("selectFlags", () => {
  it("takes an environment as flag set, as source and alone", () => {
    for (const text of ["flagSetId=dev", "source=dev", "dev"])
      assert.strictEqual(selectFlags(text, "production"), "dev")
  })

  it("means the environment by default when nothing is asked for", () => {
    assert.strictEqual(selectFlags(undefined, "staging"), "staging")
    assert.strictEqual(selectFlags("", "staging"), "staging")
  })

  it("selects nothing that we don't have", () => {
    for (const text of [
      "flagSetId=",
      "flagSetId=qa",
      "source=",
      "source=dev=",
      "Dev",
      "flagSetId=dev,source=dev",
      " dev"
    ])
      assert.strictEqual(selectFlags(text, "staging"), "none", text)
  })

  it("says which keys there are", () => {
    for (const text of ["flagsetid=dev", "=dev", "environment=dev"]) {
      assert.deepStrictEqual(selectFlags(text, "staging"), {
        problem: `invalid selector key ${JSON.stringify(text.split("=")[0])}, valid keys: "flagSetId", "source"`
      })
    }
  })
})
