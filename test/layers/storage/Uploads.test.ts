import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { createHash } from "node:crypto"
import {
  bytesOf,
  chunked,
  codeOf,
  collect,
  filesIn,
  meta,
  newStore,
  put,
  putPart,
  read,
  untilFiles
} from "../../support/storage/store.ts"

const mebibyte = 1024 * 1024
const etagOf = (parts: ReadonlyArray<Uint8Array>) =>
  `${createHash("md5")
    .update(Buffer.concat(parts.map((part) => createHash("md5").update(part).digest())))
    .digest("hex")}-${parts.length}`

describe("LocalStore uploads", { timeout: 30_000 }, () => {
  it.live("creates an object from its parts without copying them", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      yield* put(store, "k", bytesOf("old", 100_000))
      const id = yield* store.createUpload("b", "k", meta)
      assert.match(id, /^[0-9a-f]{52}$/)
      assert.deepStrictEqual((yield* store.upload("b", "k", id)).meta, meta)
      const bytes = [bytesOf("1", 5 * mebibyte), bytesOf("2", 5 * mebibyte + 7), bytesOf("3", 3)]
      yield* putPart(store, "k", id, 2, bytesOf("replaced", 100_000))
      const parts = yield* Effect.forEach(bytes, (part, n) => putPart(store, "k", id, n + 1, part), { concurrency: 3 })
      yield* putPart(store, "k", id, 9, bytesOf("left out", 100_000))
      yield* untilFiles(directory, 4)
      const page = yield* store.parts("b", "k", id, 1, 2)
      assert.deepInclude(page.parts[0], { part: 2, size: 5 * mebibyte + 7, etag: parts[1]?.etag ?? "" })
      assert.isTrue(page.more)
      assert.isFalse((yield* store.parts("b", "k", id, 3, 2)).more)

      const checksum = { algorithm: "SHA256", value: "x-3", type: "COMPOSITE" } as const
      const done = yield* store.completeUpload("b", "k", id, parts, undefined, checksum)
      const whole = Buffer.concat(bytes)
      assert.deepInclude(done, { ...meta, checksum, etag: etagOf(bytes), size: whole.length })
      assert.deepStrictEqual(
        done.parts,
        bytes.map((part) => ({ size: part.length, checksum: undefined }))
      )
      yield* untilFiles(directory, 2)
      assert.isTrue((yield* read(store, "k")).bytes.equals(whole))
      const edge = yield* read(store, "k", [5 * mebibyte - 2, 10 * mebibyte + 8])
      assert.isTrue(edge.bytes.equals(whole.subarray(5 * mebibyte - 2, 10 * mebibyte + 9)))

      assert.deepStrictEqual(yield* store.completeUpload("b", "k", id, parts), done)
      assert.strictEqual(yield* codeOf(store.completeUpload("b", "k", id, parts.slice(1))), "NoSuchUpload")
      assert.strictEqual(yield* codeOf(store.abortUpload("b", "k", id)), "NoSuchUpload")

      const source = { ...done, bucket: "b" }
      const copies = [undefined, { start: 5 * mebibyte, end: 10 * mebibyte + 6 }, { start: 1, end: 10 * mebibyte }]
      for (const range of copies) {
        const copy = Effect.flatMap(store.copy(source, range), (blob) => store.put("b", "copy", blob, meta))
        const { etag } = yield* Effect.scoped(copy)
        const expected = range === undefined ? whole : whole.subarray(range.start, range.end + 1)
        assert.strictEqual(etag, createHash("md5").update(expected).digest("hex"))
        assert.isTrue((yield* read(store, "copy")).bytes.equals(expected))
      }
    })
  )

  it.live("rejects an invalid list of parts", () =>
    Effect.gen(function* () {
      const { store } = yield* newStore
      const id = yield* store.createUpload("b", "k", meta)
      const one = yield* putPart(store, "k", id, 1, bytesOf("1", 1000))
      const two = yield* putPart(store, "k", id, 2, bytesOf("2", 5 * mebibyte))
      const complete = (
        parts: ReadonlyArray<{ part: number; etag: string; checksum?: string }>,
        ifNoneMatch?: string
      ) => store.completeUpload("b", "k", id, parts, { ifNoneMatch })
      assert.strictEqual(yield* codeOf(complete([])), "MalformedXML")
      assert.strictEqual(yield* codeOf(complete([two, one])), "InvalidPartOrder")
      assert.strictEqual(yield* codeOf(complete([two, two])), "InvalidPartOrder")
      assert.strictEqual(yield* codeOf(complete([one, two])), "EntityTooSmall")
      assert.strictEqual(yield* codeOf(complete([{ part: 3, etag: one.etag }])), "InvalidPart")
      assert.strictEqual(yield* codeOf(complete([{ part: 2, etag: one.etag }])), "InvalidPart")
      assert.strictEqual(yield* codeOf(complete([{ ...one, checksum: "AAAA" }])), "InvalidPart")
      assert.strictEqual(yield* codeOf(store.completeUpload("b", "other", id, [one])), "NoSuchUpload")
      yield* put(store, "k", bytesOf("there", 10))
      assert.strictEqual(yield* codeOf(complete([one], "*")), "PreconditionFailed")
      assert.strictEqual((yield* complete([{ part: 2, etag: `"${two.etag}"` }])).size, 5 * mebibyte)
    })
  )

  it.live("returns the same response to concurrent completions, and deletes all files of a completed upload", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const id = yield* store.createUpload("b", "k", meta)
      const part = yield* putPart(store, "k", id, 1, bytesOf("1", 100_000))
      const complete = store.completeUpload("b", "k", id, [part])
      const [first, ...others] = yield* Effect.all([complete, complete, complete], { concurrency: "unbounded" })
      for (const other of others) assert.deepStrictEqual(other, first)

      const open = yield* store.createUpload("b", "k", meta)
      yield* putPart(store, "k", open, 1, bytesOf("1", 100_000))
      const race = Effect.all(
        [
          Effect.result(putPart(store, "k", open, 2, bytesOf("2", 100_000))),
          Effect.result(store.completeUpload("b", "k", open, [part])),
          Effect.result(store.abortUpload("b", "k", open)),
          Effect.result(putPart(store, "k", open, 3, bytesOf("3", 100_000)))
        ],
        { concurrency: "unbounded" }
      )
      yield* race
      assert.strictEqual(yield* codeOf(store.parts("b", "k", open, 0, 10)), "NoSuchUpload")
      yield* store.remove("b", [{ key: "k" }])
      yield* untilFiles(directory, 0)
    })
  )

  it.live("can be aborted while a part is being written", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const id = yield* store.createUpload("b", "k", meta)
      const gate = Promise.withResolvers<undefined>()
      async function* slow() {
        yield* chunked(bytesOf("1", 1_000_000))
        await gate.promise
      }
      const writing = yield* Effect.forkChild(
        Effect.scoped(Effect.flatMap(store.write(slow()), (blob) => store.putPart("b", "k", id, 1, blob, undefined)))
      )
      yield* untilFiles(directory, 1)
      yield* store.abortUpload("b", "k", id)
      gate.resolve(undefined)
      assert.strictEqual(yield* codeOf(Fiber.join(writing)), "NoSuchUpload")
      assert.deepStrictEqual(yield* filesIn(directory), [])
    })
  )

  it.live("reads an object of many parts to its end after it has been replaced", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const id = yield* store.createUpload("b", "k", meta)
      const bytes = [bytesOf("1", 5 * mebibyte), bytesOf("2", 5 * mebibyte), bytesOf("3", 9)]
      const parts = yield* Effect.forEach(bytes, (part, n) => putPart(store, "k", id, n + 1, part))
      yield* store.completeUpload("b", "k", id, parts)
      const scope = yield* Scope.make()
      const { open, info } = yield* Scope.provide(store.get("b", "k"), scope)
      const stream = open(0, info.size - 1)
      yield* Scope.close(scope, Exit.void)
      yield* put(store, "k", bytesOf("new", 10))
      assert.isTrue((yield* collect(stream)).equals(Buffer.concat(bytes)))
      yield* untilFiles(directory, 0)
    })
  )
})
