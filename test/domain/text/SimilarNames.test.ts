import { assert, describe, it } from "@effect/vitest"
import { similarNames } from "../../../src/domain/text/SimilarNames.ts"

const names = ["films", "directors", "roles", "actors", "film_roles", "日本"]
const best = (name: string, least?: number) => similarNames(names, name, least)[0]?.name

describe("similar names", () => {
  it("the one that was probably meant", () => {
    assert.strictEqual(best("film"), "films")
    assert.strictEqual(best("Directors"), "directors")
    assert.strictEqual(best("actor"), "actors")
    assert.strictEqual(best("role"), "roles")
    assert.strictEqual(best("films_roles"), "film_roles")
  })

  it("none when nothing is near", () => {
    assert.strictEqual(best("noclosealternative"), undefined)
    assert.strictEqual(best(""), undefined)
    assert.strictEqual(best("acts", 0.75), undefined)
    assert.deepStrictEqual(similarNames([], "x"), [])
  })

  it("the same name scores 1", () => {
    assert.deepInclude(similarNames(names, "roles"), { name: "roles", score: 1 })
  })
})
