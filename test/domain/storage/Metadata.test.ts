import { Exit, Schema } from "effect"
import { assert, describe, it } from "vitest"
import {
  changedRecord,
  metadataBytes,
  MetadataChange,
  type ObjectRecord
} from "../../../src/domain/storage/Metadata.ts"

const record: ObjectRecord = {
  key: "k",
  size: 1,
  etag: '"e"',
  last_modified: "2026-01-01T00:00:00.000Z",
  content_type: "text/plain",
  content_disposition: "inline",
  cache_control: "no-cache",
  content_encoding: null,
  content_language: null,
  expires: null,
  metadata: { author: "Ann", note: "old" }
}

const decode = Schema.decodeUnknownExit(MetadataChange)
const changed = (change: object) => {
  const exit = decode({ key: "k", ...change })
  if (Exit.isFailure(exit)) throw new Error(JSON.stringify(change))
  return changedRecord(record, exit.value)
}

describe("changes to metadata", () => {
  it("set given values, delete nulls, keep the rest", () => {
    assert.deepStrictEqual(changed({ metadata: { note: null, tag: "x", AUTHOR: "Zoë" } }), {
      ...record,
      metadata: { author: "Zoë", tag: "x" }
    })
    assert.deepStrictEqual(changed({ metadata: {} }), record)
    assert.deepStrictEqual(changed({ metadata: { missing: null } }), record)
  })

  it("accept names with and without the prefix", () => {
    assert.deepStrictEqual(changed({ metadata: { "x-amz-meta-note": "1", "X-Amz-Meta-B": "2" } }).metadata, {
      author: "Ann",
      note: "1",
      b: "2"
    })
  })

  it("accept content type and disposition outside the metadata and within", () => {
    const both = { ...record, content_type: "a/b", content_disposition: "attachment" }
    assert.deepStrictEqual(changed({ contentType: "a/b", contentDisposition: "attachment" }), both)
    assert.deepStrictEqual(changed({ metadata: { "Content-Type": "a/b", contentDisposition: "attachment" } }), both)
    assert.deepStrictEqual(
      changed({ contentType: "a/b", metadata: { "content-type": "c/d", "content-disposition": "attachment" } }),
      both
    )
    assert.strictEqual(changed({ contentDisposition: null }).content_disposition, null)
    assert.strictEqual(changed({ metadata: { "content-disposition": null } }).content_disposition, null)
    assert.deepStrictEqual(changed({ metadata: { "x-amz-meta-content-type": "mine" } }).metadata, {
      ...record.metadata,
      "content-type": "mine"
    })
  })

  it.each([
    [{}],
    [{ metadata: null }],
    [{ metadata: [] }],
    [{ metadata: { a: 1 } }],
    [{ metadata: { "a b": "x" } }],
    [{ metadata: { "": "x" } }],
    [{ metadata: { "x-amz-meta-": "x" } }],
    [{ metadata: { é: "x" } }],
    [{ metadata: { "a:b": "x" } }],
    [{ metadata: { a: "x", A: "y" } }],
    [{ metadata: { a: "x", "x-amz-meta-a": "y" } }],
    [{ metadata: { "content-type": "x", contentType: "y/z" } }],
    [{ metadata: { a: "line\nbreak" } }],
    [{ metadata: { a: "\0" } }],
    [{ metadata: { a: "\ud800" } }],
    [{ metadata: { "content-type": "none" } }],
    [{ metadata: { "content-type": null } }],
    [{ contentType: null }],
    [{ contentDisposition: "é" }]
  ])("reject %j", (change) => assert.isTrue(Exit.isFailure(decode({ key: "k", ...change }))))

  it("count bytes, not characters", () => assert.strictEqual(metadataBytes({ ab: "é", c: "漢" }), 2 + 2 + 1 + 3))
})
