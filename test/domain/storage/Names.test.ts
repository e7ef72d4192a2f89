import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import { BucketName } from "../../../src/domain/storage/Bucket.ts"
import {
  ContentDisposition,
  ContentType,
  ExpiresIn,
  ObjectKey,
  uploadPlace,
  uploadToken,
  UrlKey
} from "../../../src/domain/storage/Object.ts"

const is = (schema: Schema.Codec<unknown>) => Schema.is(schema)

describe("bucket names", () => {
  it.each(["abc", "a".repeat(63), "my-bucket", "my.bucket.1", "0-9", "1.2.3", "1.2.3.4.5", "a-.b"])(
    "%s is valid",
    (name) => assert.isTrue(is(BucketName)(name))
  )

  it.each([
    "",
    "ab",
    "a".repeat(64),
    "Abc",
    "a_b",
    "a b",
    "é--",
    "-abc",
    "abc-",
    ".abc",
    "abc.",
    "a..b",
    "192.168.5.4",
    "999.1.1.1",
    "xn--abc",
    "sthree-abc",
    "abc-s3alias",
    "abc--ol-s3",
    "abc.mrap",
    "abc--x-s3",
    "abc--table-s3",
    "a/b",
    "abc\n"
  ])("%j is invalid", (name) => assert.isFalse(is(BucketName)(name)))
})

describe("object keys", () => {
  it.each([
    "a",
    "a/b/c.txt",
    "/a",
    "a//b",
    "a/",
    "//",
    "…",
    "...",
    "a/.../b",
    ".a",
    "a..b/..c",
    "sp ace+plus%25&?#=;:@$,'\"<>\\^`{}|~[]*()!",
    "漢字/é/😀",
    "\x01\t\n\r\x7f",
    "x".repeat(1024),
    "漢".repeat(341)
  ])("%j is valid", (key) => assert.isTrue(is(ObjectKey)(key) && is(UrlKey)(key)))

  it.each(["", "x".repeat(1025), "漢".repeat(342), "a\0b", "\ud800"])("%j is invalid", (key) =>
    assert.isFalse(is(ObjectKey)(key))
  )

  it.each([".", "..", "./a", "../a", "a/../b", "a/./b", "a/.."])("%j is valid only outside of URLs", (key) => {
    assert.isTrue(is(ObjectKey)(key))
    assert.isFalse(is(UrlKey)(key))
  })
})

it("a token of a list of uploads is the place after an upload", () => {
  const place = { key: 'é\n"', uploadId: "0a" }
  assert.deepStrictEqual(uploadPlace(uploadToken(place)), place)
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
  for (const text of ["", "x", "é", encoded(null), encoded(["k"]), encoded(["k", 1]), encoded(["k", "u", 1])]) {
    assert.isUndefined(uploadPlace(text), text)
  }
  assert.isUndefined(uploadPlace(encoded(["a\0", "u"])))
})

describe("values of headers", () => {
  it("content types", () => {
    for (const type of ["text/plain", "image/svg+xml", "text/plain; charset=utf-8", "application/vnd.a.b-c+json"]) {
      assert.isTrue(is(ContentType)(type), type)
    }
    for (const type of ["", "text", "text/", "/plain", "text/plain\r\nX-Evil: 1", "text/é", `a/${"x".repeat(254)}`]) {
      assert.isFalse(is(ContentType)(type), type)
    }
  })

  it("content dispositions", () => {
    for (const text of ["inline", 'attachment; filename="a b.txt"', "attachment; filename*=UTF-8''%C3%A9.txt"]) {
      assert.isTrue(is(ContentDisposition)(text), text)
    }
    for (const text of ["", " inline", "inline\n", 'attachment; filename="é"', "x".repeat(1025)]) {
      assert.isFalse(is(ContentDisposition)(text), text)
    }
  })
})

it("expiry is a whole number of seconds up to seven days", () => {
  for (const good of [1, 900, 604_800]) assert.isTrue(is(ExpiresIn)(good))
  for (const bad of [0, -1, 604_801, 1.5, "900", null, Number.NaN]) assert.isFalse(is(ExpiresIn)(bad))
})
