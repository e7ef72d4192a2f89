import { assert, describe, it } from "@effect/vitest"
import { selectFlags } from "../../../src/domain/flags/Environment.ts"

describe("selectFlags", () => {
  it("accepts an environment as flag set, as source and alone", () => {
    for (const text of ["flagSetId=dev", "source=dev", "dev"])
      assert.strictEqual(selectFlags(text, "production"), "dev")
  })

  it("is the default environment without a selector", () => {
    assert.strictEqual(selectFlags(undefined, "staging"), "staging")
    assert.strictEqual(selectFlags("", "staging"), "staging")
  })

  it("selects nothing for unknown environments", () => {
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

  it("lists the valid keys", () => {
    for (const text of ["flagsetid=dev", "=dev", "environment=dev"]) {
      assert.deepStrictEqual(selectFlags(text, "staging"), {
        problem: `invalid selector key ${JSON.stringify(text.split("=")[0])}, valid keys: "flagSetId", "source"`
      })
    }
  })
})
