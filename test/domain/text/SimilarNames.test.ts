import { assert, describe, it } from "@effect/vitest"
import { similarNames } from "../../../src/domain/text/SimilarNames.ts"

const names = ["films", "directors", "roles", "actors", "film_roles", "日本"]
const best = (name: string, least?: number) => similarNames(names, name, least)[0]?.name

describe("similar names", () => {
  it("include the most similar name", () => {
    assert.strictEqual(best("film"), "films")
    assert.strictEqual(best("Directors"), "directors")
    assert.strictEqual(best("actor"), "actors")
    assert.strictEqual(best("role"), "roles")
    assert.strictEqual(best("films_roles"), "film_roles")
  })

  it("are empty if no name is similar", () => {
    assert.strictEqual(best("noclosealternative"), undefined)
    assert.strictEqual(best(""), undefined)
    assert.strictEqual(best("acts", 0.75), undefined)
    assert.deepStrictEqual(similarNames([], "x"), [])
  })

  it("score 1 for an equal name", () => {
    assert.deepInclude(similarNames(names, "roles"), { name: "roles", score: 1 })
  })
})
