import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import {
  bucketNameOf,
  isBucketPrefix,
  isProjectId,
  isSchemaPrefix,
  NewEnvironment,
  type Project,
  schemaNameOf,
  slugFault
} from "../../../src/domain/environments/Environment.ts"
import { bucketNameFault } from "../../../src/domain/storage/Bucket.ts"

const project = (schema = "project", bucket = "project"): Project => ({ id: "default", schema, bucket })
const isGood = (given: object) => Schema.is(NewEnvironment)({ name: "Dev", slug: "dev", ...given })

describe("slugs", () => {
  it.each(["a", "0", "dev", "my-stage", "a--b", "2026-11"])("%s is valid", (slug) => {
    assert.isTrue(isGood({ slug }))
    assert.isUndefined(slugFault(project(), slug))
  })

  it.each(["", "-a", "a-", "A", "a_b", "a.b", "a b", "é", "a\n", "a/b", "a\0", 'a"', 1, null])(
    "%j is invalid",
    (slug) => assert.isFalse(isGood({ slug }))
  )

  it("leave both names valid, for all prefixes", () => {
    for (const start of ["p", "project", "x".repeat(40)]) {
      const room = 62 - start.length
      for (const two of [project(start, "p"), project("p", start)]) {
        const slug = "s".repeat(room)
        assert.isUndefined(slugFault(two, slug))
        assert.isAtMost(Buffer.byteLength(schemaNameOf(two, slug)), 63)
        assert.isUndefined(bucketNameFault(bucketNameOf(two, slug)))
        assert.strictEqual(slugFault(two, `${slug}s`), `Expected at most ${room} characters`)
      }
    }
  })

  it("are rejected if they make a reserved name", () => {
    assert.match(slugFault(project(), "s3alias") ?? "", /-s3alias/)
    assert.match(slugFault(project("information"), "schema") ?? "", /reserved/)
    assert.isUndefined(slugFault(project("information"), "schemas"))
  })
})

describe("prefixes", () => {
  it.each(["project", "_", "a1_b", "svc", "information", "x".repeat(40)])("%s is valid for schemas", (text) =>
    assert.isTrue(isSchemaPrefix(text))
  )
  it.each(["", "pg", "pg_x", "1a", "A", "a-b", "a b", 'a"', "é", "x".repeat(41)])("%j is invalid for schemas", (text) =>
    assert.isFalse(isSchemaPrefix(text))
  )
  it.each(["project", "p", "1.a-b", "x".repeat(40)])("%s is valid for buckets", (text) =>
    assert.isTrue(isBucketPrefix(text))
  )
  it.each(["", "a_b", "A", "-a", ".a", "a..b", "xn-", "xn--a", "sthree", "x".repeat(41), "a/b"])(
    "%j is invalid for buckets",
    (text) => assert.isFalse(isBucketPrefix(text))
  )
  it.each(["default", "a.b_c-d", "0"])("%s is a valid project", (id) => assert.isTrue(isProjectId(id)))
  it.each(["", ".", "..", "a/b", "a b", "é", "x".repeat(65)])("%j is not a valid project", (id) =>
    assert.isFalse(isProjectId(id))
  )
})

describe("properties", () => {
  const deep = (levels: number): unknown => (levels === 1 ? {} : { a: deep(levels - 1) })

  it.each([{}, { a: null }, { a: [1, "ä😀", true, { b: 1.5 }] }, deep(32)])("%j is a valid config", (config) =>
    assert.isTrue(isGood({ config }))
  )
  it.each([
    [],
    "x",
    null,
    { a: "\0" },
    { "\ud800": 1 },
    { a: 2 ** 53 },
    { a: Number.POSITIVE_INFINITY },
    JSON.parse('{"__proto__":1}') as unknown,
    deep(33),
    { a: Array.from({ length: 10_001 }, () => 1) }
  ])("case %# is not a valid config", (config) => assert.isFalse(isGood({ config })))

  it("a name has 1–100 characters", () => {
    for (const name of ["x".repeat(100), "😀".repeat(100)]) assert.isTrue(isGood({ name }))
    for (const name of ["", "x".repeat(101), "😀".repeat(101), "\0", 1]) assert.isFalse(isGood({ name }))
  })
})
