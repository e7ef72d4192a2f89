import { assert, type Vitest } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { type ObjectRecord } from "../../../src/domain/storage/Metadata.ts"
import { ObjectStore } from "../../../src/services/ports/ObjectStore.ts"
import { bodyOf, bucketOf, every, keys, keysOf, put, refusal, text } from "../../support/storage/objects.ts"

/** Objects: keys, listings, metadata, deletion. */
export const storedObjects = (it: Vitest.MethodsNonLive<ObjectStore>) => {
  it.effect.each(keys)("keeps the key %j", (key) => keepsKey(key))

  it.effect.each(["/leading", "double//slash", "trailing/", "//"])("preserves the slashes of the key %j", (key) =>
    keepsKey(key)
  )

  it.effect("finds, changes and deletes keys with the segments . and ..", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const odd = ["..", "./a", "a/../b", "a/./b", "b/.."]
      for (const key of [...odd, "a", "b"]) yield* store.put(bucket, key, "text/plain", text(key))
      assert.deepStrictEqual(yield* keysOf(bucket), [...odd, "a", "b"].toSorted())
      for (const key of odd) {
        const record = yield* store.record(bucket, key)
        assert.strictEqual(record.size, key.length)
        yield* store.setRecord(bucket, { ...record, metadata: { was: "here" } })
        assert.deepStrictEqual((yield* store.record(bucket, key)).metadata, { was: "here" })
      }
      yield* store.remove(bucket, "..")
      assert.deepStrictEqual((yield* store.removeMany(bucket, odd)).errors, [])
      assert.deepStrictEqual(yield* keysOf(bucket), ["a", "b"])
    })
  )

  it.effect("lists in pages, by prefix, and by delimiter", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const all = ["a", "b/1", "b/2", "b/c/3", "B", "é", "z"]
      yield* Effect.forEach(all, (key) => store.put(bucket, key, "text/plain", text(key)), { concurrency: 4 })
      const sorted = ["B", "a", "b/1", "b/2", "b/c/3", "z", "é"]
      const seen: Array<string> = []
      let token: string | undefined
      do {
        const page = yield* store.list(bucket, { ...every, limit: 2, token })
        assert.strictEqual(page.is_truncated, page.next_continuation_token !== null)
        assert.isAtMost(page.objects.length, 2)
        seen.push(...page.objects.map(({ key }) => key))
        token = page.next_continuation_token ?? undefined
      } while (token !== undefined)
      assert.deepStrictEqual(seen, sorted)
      assert.deepStrictEqual(yield* keysOf(bucket, "b/"), ["b/1", "b/2", "b/c/3"])
      assert.deepStrictEqual(yield* keysOf(bucket, "nothing"), [])
      const page = yield* store.list(bucket, { ...every, prefix: "b/", delimiter: "/", limit: 10 })
      assert.deepStrictEqual(
        page.objects.map(({ key }) => key),
        ["b/1", "b/2"]
      )
      assert.deepStrictEqual(page.common_prefixes, ["b/c/"])
      const [first] = page.objects
      assert.strictEqual(first?.size, 3)
      assert.match(first?.etag ?? "", /^"[0-9a-f]{32}"$/)
      assert.closeTo(Date.parse(first?.last_modified ?? ""), Date.now(), 60_000)
    })
  )

  it.effect("stores empty objects", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      yield* store.put(bucket, "empty", "text/plain", new Uint8Array(0))
      assert.strictEqual((yield* store.record(bucket, "empty")).size, 0)
      const { url } = yield* store.presignDownload(bucket, "empty", 60)
      assert.strictEqual((yield* bodyOf(url)).length, 0)
    })
  )

  it.effect("keeps bytes and other metadata when metadata changes", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      yield* store.put(bucket, "a b/é", "text/plain", text("content"))
      const before = yield* store.record(bucket, "a b/é")
      const wanted: ObjectRecord = {
        ...before,
        content_type: "text/markdown; charset=utf-8",
        content_disposition: 'attachment; filename="x.md"',
        cache_control: "max-age=60",
        content_encoding: "identity",
        content_language: "de",
        expires: "Thu, 01 Jan 2037 00:00:00 GMT",
        metadata: { plain: "value", empty: "", unicode: "Zoë 漢字 😀", encoded: "=?UTF-8?B?w6k=?=", spaces: " a  b " }
      }
      const { etag, last_modified: _, size, ...stays } = wanted
      yield* store.setRecord(bucket, wanted)
      assert.deepInclude(yield* store.record(bucket, "a b/é"), { ...stays, etag, size })
      const { url } = yield* store.presignDownload(bucket, "a b/é", 60)
      assert.strictEqual(new TextDecoder().decode(yield* bodyOf(url)), "content")
    })
  )

  it.effect("deletes metadata", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      yield* store.put(bucket, "k", "text/plain", text("x"))
      const none = yield* store.record(bucket, "k")
      const some = { content_disposition: "inline", content_language: "de", cache_control: "no-cache" }
      yield* store.setRecord(bucket, { ...none, ...some, metadata: { a: "1", b: "2" } })
      assert.deepInclude(yield* store.record(bucket, "k"), { ...some, metadata: { a: "1", b: "2" } })
      yield* store.setRecord(bucket, { ...none, content_language: "de", metadata: { b: "2" } })
      const { last_modified: _, ...left } = { ...none, content_language: "de", metadata: { b: "2" } }
      assert.deepInclude(yield* store.record(bucket, "k"), left)
    })
  )

  it.effect("does not change the metadata of an object that was replaced since it was read", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      yield* store.put(bucket, "k", "text/plain", text("first"))
      const old = yield* store.record(bucket, "k")
      yield* store.put(bucket, "k", "text/html", text("second"))
      assert.strictEqual(yield* refusal(store.setRecord(bucket, { ...old, content_type: "a/b" })), "409 OBJECT_CHANGED")
      assert.deepInclude(yield* store.record(bucket, "k"), { content_type: "text/html", size: 6 })
    })
  )

  it.effect("deletes many objects, with any characters in their keys", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const all = [...keys, ...Array.from({ length: 100 }, (_, n) => `many/${n}`)]
      yield* Effect.forEach(all, (key) => store.put(bucket, key, "text/plain", text("x")), { concurrency: 8 })
      assert.strictEqual((yield* keysOf(bucket)).length, all.length)
      assert.deepStrictEqual(yield* store.removeMany(bucket, all), { deleted: all, errors: [] })
      assert.deepStrictEqual(yield* keysOf(bucket), [])
    })
  )
}

const keepsKey = Effect.fnUntraced(function* (key: string) {
  const store = yield* ObjectStore
  const bucket = yield* bucketOf
  const { url } = yield* store.presignUpload(bucket, key, "text/plain", 60)
  const answer = yield* put(url, key, { "content-type": "text/plain" })
  assert.strictEqual(answer.status, 200)
  assert.deepStrictEqual(yield* keysOf(bucket), [key])
  assert.strictEqual((yield* store.record(bucket, key)).size, Buffer.byteLength(key))
  const download = yield* store.presignDownload(bucket, key, 60)
  assert.strictEqual(new TextDecoder().decode(yield* bodyOf(download.url)), key)
  yield* store.setRecord(bucket, { ...(yield* store.record(bucket, key)), content_type: "a/b" })
  assert.strictEqual((yield* store.record(bucket, key)).content_type, "a/b")
  yield* store.remove(bucket, key)
  assert.strictEqual(Exit.isFailure(yield* Effect.exit(store.record(bucket, key))), true)
})
