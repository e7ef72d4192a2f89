import { assert, describe, it } from "vitest"
import { circularImports, homonymsOf, misnamedTests } from "../../scripts/sources.ts"

const file = (path: string, ...imports: ReadonlyArray<string>) => ({ path, imports })

describe("circular imports", () => {
  it("of nouns are found over a third noun, where no files form a circle", () => {
    const found = circularImports([
      file("src/domain/one/A.ts", "src/domain/two/B.ts"),
      file("src/domain/two/C.ts", "src/domain/three/deep/D.ts"),
      file("src/domain/three/E.ts", "src/domain/one/F.ts"),
      file("src/services/four/G.ts", "src/domain/one/A.ts")
    ])
    assert.sameMembers(
      [...found.keys()],
      ["src/domain/one -> src/domain/two", "src/domain/two -> src/domain/three", "src/domain/three -> src/domain/one"]
    )
  })

  it("within a noun are none of theirs", () => {
    const found = circularImports([
      file("src/domain/one/A.ts", "src/domain/one/deep/B.ts"),
      file("src/domain/one/deep/B.ts", "src/domain/two/C.ts")
    ])
    assert.strictEqual(found.size, 0)
  })

  it("of a file beside the nouns count", () => {
    const found = circularImports([
      file("src/http/Api.ts", "src/http/front/A.ts"),
      file("src/http/front/B.ts", "src/http/Api.ts")
    ])
    assert.strictEqual(found.size, 2)
  })
})

it("names that two files export are found", () => {
  const found = homonymsOf([
    { path: "a.ts", exports: ["One", "Two"] },
    { path: "b.ts", exports: ["Two"] }
  ])
  assert.deepStrictEqual([...found], [["Two", ["a.ts", "b.ts"]]])
})

it("tests are found whose capital names no file", () => {
  const misnamed = misnamedTests([
    { path: "src/domain/one/Unit.ts" },
    { path: "dashboard/src/Page.tsx" },
    { path: "test/domain/one/Unit.test.ts" },
    { path: "test/dashboard/Page.test.ts" },
    { path: "test/http/one/a-behaviour.test.ts" },
    { path: "test/domain/one/Gone.test.ts" }
  ])
  assert.deepStrictEqual(misnamed, ["test/domain/one/Gone.test.ts"])
})
