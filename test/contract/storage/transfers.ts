import { assert, type Vitest } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { randomBytes } from "node:crypto"
import { ObjectStore } from "../../../src/services/ports/ObjectStore.ts"
import { until } from "../../support/service.ts"
import { bodyOf, bucketOf, mebibyte, put, refusal } from "../../support/storage/objects.ts"

/** Transfers: presigned URLs, multipart uploads and copies. `whole`: the limit for undivided copies, in bytes. */
export const storedTransfers = (it: Vitest.MethodsNonLive<ObjectStore>, whole: number) => {
  it.effect("changes metadata of large objects in parts", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const bytes = new Uint8Array(randomBytes(whole + 100))
      yield* store.put(bucket, "large", "text/plain", bytes)
      const before = yield* store.record(bucket, "large")
      yield* store.setRecord(bucket, { ...before, metadata: { a: "é" }, cache_control: "no-cache" })
      const after = yield* store.record(bucket, "large")
      assert.deepInclude(after, { size: bytes.length, metadata: { a: "é" }, cache_control: "no-cache" })
      assert.deepInclude(after, { content_type: "text/plain" })
      assert.match(after.etag, /-\d+"$/, "not copied in parts")
      const { url } = yield* store.presignDownload(bucket, "large", 60)
      assert.isTrue(Buffer.from(bytes).equals(yield* bodyOf(url)))
    })
  )

  it.effect("creates an object from parts, and none from an aborted upload", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const begin = (key: string) =>
        Effect.map(store.createUpload(bucket, key, "video/mp4"), (uploadId) => ({ bucket, key, uploadId }))
      const upload = yield* begin("v/é+1.mp4")
      const pieces = [new Uint8Array(randomBytes(5 * mebibyte)), new Uint8Array(randomBytes(10))]
      const etags = yield* Effect.forEach(pieces, (piece, index) =>
        Effect.gen(function* () {
          const { url } = yield* store.presignPart(upload, index + 1, 60)
          const answer = yield* put(url, piece)
          assert.strictEqual(answer.status, 200, `part ${index + 1}`)
          return answer.headers.get("etag") ?? ""
        })
      )
      const parts = etags.map((etag, index) => ({ partNumber: index + 1, etag: etag.replaceAll('"', "") }))
      assert.deepStrictEqual(
        (yield* store.parts(upload, 100)).map(({ etag, partNumber, size }) => [partNumber, etag, size]),
        etags.map((etag, index) => [index + 1, etag, pieces[index]?.length])
      )
      assert.strictEqual((yield* store.parts(upload, 1)).length, 1)
      const [one, two] = parts as [(typeof parts)[0], (typeof parts)[0]]
      const complete = (given: typeof parts) => refusal(store.completeUpload(upload, given))
      assert.strictEqual(yield* complete([one, { ...two, etag: one.etag }]), "400 INVALID_PART")
      assert.strictEqual(yield* complete([one, { ...two, partNumber: 3 }]), "400 INVALID_PART")
      // The store decides which of the two errors it reports.
      assert.match(yield* complete([two, one]), /^400 (INVALID_PART_ORDER|PART_TOO_SMALL)$/)
      assert.match((yield* store.completeUpload(upload, parts)).etag, /^"[0-9a-f]{32}-2"$/)
      assert.deepInclude(yield* store.record(bucket, upload.key), {
        size: 5 * mebibyte + 10,
        content_type: "video/mp4"
      })
      const { url } = yield* store.presignDownload(bucket, upload.key, 60)
      assert.isTrue(Buffer.concat(pieces).equals(yield* bodyOf(url)))

      const small = yield* begin("small")
      const again = yield* Effect.forEach([1, 2], (partNumber) =>
        Effect.gen(function* () {
          const { url } = yield* store.presignPart(small, partNumber, 60)
          return { partNumber, etag: (yield* put(url, "tiny")).headers.get("etag") ?? "" }
        })
      )
      assert.strictEqual(yield* refusal(store.completeUpload(small, again)), "400 PART_TOO_SMALL")
      yield* store.abortUpload(small)
      assert.strictEqual(yield* refusal(store.parts(small, 1)), "404 UPLOAD_NOT_FOUND")
      assert.strictEqual(yield* refusal(store.record(bucket, "small")), "404 OBJECT_NOT_FOUND")
    })
  )

  it.effect("lists open uploads by key, in pages and by prefix", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const names = ["a/1", "a/1", "a/é +&", "b\n", "b/../c"]
      const made = new Map<string, string>()
      for (const key of names) made.set(yield* store.createUpload(bucket, key, "a/b"), key)
      const seen = new Map<string, string>()
      let token: string | undefined
      do {
        const page = yield* store.uploads(bucket, { prefix: "", limit: 2, token })
        assert.isAtMost(page.uploads.length, 2)
        for (const { initiated, key, uploadId } of page.uploads) {
          seen.set(uploadId, key)
          assert.closeTo(Date.parse(initiated), Date.now(), 60_000)
        }
        assert.strictEqual(page.is_truncated, page.next_continuation_token !== null)
        token = page.next_continuation_token ?? undefined
      } while (token !== undefined)
      assert.deepStrictEqual(new Map([...seen].toSorted()), new Map([...made].toSorted()))
      const some = yield* store.uploads(bucket, { prefix: "a/", limit: 10, token: undefined })
      assert.lengthOf(some.uploads, 3)
      for (const [uploadId, key] of made) yield* store.abortUpload({ bucket, key, uploadId })
      assert.deepStrictEqual(yield* store.uploads(bucket, { prefix: "", limit: 10, token: undefined }), {
        uploads: [],
        is_truncated: false,
        next_continuation_token: null
      })
      const none = store.uploads("contract-no-such-bucket", { prefix: "", limit: 1, token: undefined })
      assert.strictEqual(yield* refusal(none), "404 BUCKET_NOT_FOUND")
    })
  )

  it.effect.each([0, 10, 8 * mebibyte, 20 * mebibyte + 7])("writes and reads %d bytes as a stream", (size) =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const bytes = randomBytes(size)
      // Chunks that don't divide the part size.
      const cuts = Array.from({ length: Math.ceil(size / 99_991) }, (_, n) =>
        bytes.subarray(n * 99_991, (n + 1) * 99_991)
      )
      yield* store.putStream(bucket, "s/é", "application/zstd", Stream.fromIterable(cuts), size)
      assert.deepInclude(yield* store.record(bucket, "s/é"), { size, content_type: "application/zstd" })
      const read = (range?: { first: number; last: number }) =>
        Effect.map(Stream.runCollect(store.read(bucket, "s/é", range)), (all) => Buffer.concat(all))
      assert.isTrue(bytes.equals(yield* read()))
      if (size === 0) return
      assert.isTrue(bytes.subarray(3, 8).equals(yield* read({ first: 3, last: 7 })))
      assert.isTrue(bytes.subarray(-1).equals(yield* read({ first: size - 1, last: size - 1 })))
    })
  )

  it.effect("leaves nothing behind when a stream fails", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const some = Stream.make(new Uint8Array(9 * mebibyte))
      const breaks = Stream.concat(some, Stream.fail({ status: 0, code: "BROKEN" } as never))
      const size = 30 * mebibyte
      assert.strictEqual(yield* refusal(store.putStream(bucket, "k", "a/b", breaks, size)), "0 BROKEN")
      // Neither an object nor an open upload, which would prevent the deletion.
      yield* store.deleteBucket(bucket)
      yield* store.createBucket(bucket)
      const none = "contract-no-such-bucket"
      assert.strictEqual(yield* refusal(store.putStream(none, "k", "a/b", some, size)), "404 BUCKET_NOT_FOUND")
      assert.strictEqual(yield* refusal(Stream.runDrain(store.read(none, "k"))), "404 BUCKET_NOT_FOUND")
      assert.strictEqual(yield* refusal(Stream.runDrain(store.read(bucket, "k"))), "404 OBJECT_NOT_FOUND")
    })
  )

  it.effect("signs URLs for one object, content type and lifetime", () =>
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* bucketOf
      const status = (url: string, type: string) =>
        Effect.map(put(url, "x", { "content-type": type }), ({ status }) => status)
      const { expiresAt, url } = yield* store.presignUpload(bucket, "one", "image/png", 60)
      assert.closeTo(expiresAt.getTime(), Date.now() + 60_000, 2000)
      assert.strictEqual(yield* status(url, "text/html"), 403)
      assert.strictEqual(yield* status(url.replace("/one?", "/two?"), "image/png"), 403)
      assert.strictEqual(yield* status(url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"), "image/png"), 403)
      assert.strictEqual(yield* status(url, "image/png"), 200)
      assert.strictEqual((yield* store.record(bucket, "one")).content_type, "image/png")
      const get = (url: string, method = "GET") => Effect.promise(() => fetch(url, { method }))
      assert.strictEqual((yield* get(url)).status, 403, "an upload's URL reads")
      const download = yield* store.presignDownload(bucket, "one", 1)
      assert.strictEqual((yield* get(download.url, "DELETE")).status, 403, "a download's URL deletes")
      const late = yield* Effect.promise(() =>
        until(
          () => fetch(download.url),
          ({ status }) => status !== 200
        )
      )
      assert.strictEqual(late.status, 403, "an expired URL")
    })
  )
}
