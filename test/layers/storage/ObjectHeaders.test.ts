import { assert, it } from "vitest"
import { decodeWords } from "../../../src/domain/storage/EncodedWords.ts"
import { objectHeadersOf } from "../../../src/layers/storage/endpoint/ObjectHeaders.ts"

const header = (value: string) =>
  objectHeadersOf(
    {
      key: "k",
      size: 0,
      etag: "e",
      lastModified: new Date(0),
      parts: [{ size: 0, checksum: undefined }],
      contentType: "text/plain",
      headers: {},
      user: { value },
      checksum: undefined,
      tags: []
    },
    false
  )["x-amz-meta-value"] ?? ""

it("sends ASCII metadata unchanged, even if it looks encoded", () => {
  for (const value of ["plain", " a  b ", "tab\tbed", "=?UTF-8?B?w6k=?="]) assert.strictEqual(header(value), value)
})

it("sends other metadata in encoded words of at most 75 characters", () => {
  const value = "Zoë 漢字 😀 ".repeat(20)
  const words = header(value).split(" ")
  assert.isAbove(words.length, 1)
  for (const word of words) assert.isAtMost(word.length, 75)
  assert.strictEqual(decodeWords(words.join(" ")), value)
})
