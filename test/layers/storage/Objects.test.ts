import { assert, describe, it } from "@effect/vitest"
import { Effect, Scope, Exit } from "effect"
import { createHash } from "node:crypto"
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { type S3Error } from "../../../src/layers/storage/endpoint/Error.ts"
import { makeLocalStore } from "../../../src/layers/storage/endpoint/store/LocalStore.ts"
import {
  bytesOf,
  chunked,
  codeOf,
  collect,
  filesIn,
  meta,
  newStore,
  put,
  read,
  temporaryDirectory,
  untilFiles
} from "../../support/storage/store.ts"

const md5 = (bytes: Uint8Array) => createHash("md5").update(bytes).digest("hex")
const sizes = [0, 1, 16_384, 16_385, 262_143, 262_144, 262_145, 3_000_000]

describe("LocalStore objects", { timeout: 30_000 }, () => {
  it.live("returns stored objects, whole and in ranges", () =>
    Effect.gen(function* () {
      const { store } = yield* newStore
      for (const size of sizes) {
        const bytes = bytesOf(String(size), size)
        const done = yield* put(store, `k${size}`, bytes)
        const { info, bytes: found } = yield* read(store, `k${size}`)
        assert.isTrue(found.equals(bytes))
        assert.deepStrictEqual(info, done)
        assert.deepStrictEqual(yield* store.head("b", `k${size}`), done)
        assert.deepStrictEqual(info, {
          ...meta,
          key: `k${size}`,
          size,
          etag: md5(bytes),
          lastModified: info.lastModified,
          parts: [{ size, checksum: undefined }]
        })
        assert.isBelow(Math.abs(Date.now() - info.lastModified.getTime()), 60_000)
        if (size < 3) continue
        const part = yield* read(store, `k${size}`, [1, size - 2])
        assert.isTrue(part.bytes.equals(bytes.subarray(1, size - 1)))
        assert.strictEqual((yield* read(store, `k${size}`, [size - 1, size - 1])).bytes.length, 1)
      }
    })
  )

  it.live("distinguishes all keys", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const keys = [
        "..",
        ".",
        "/",
        "a",
        "a/b",
        "A",
        "a\0b",
        "a\0c",
        "../../etc/passwd",
        "\u0001\n\r\u007f",
        "😀",
        "é",
        "e\u0301"
      ]
      keys.push(
        "\u{10ffff}",
        "\uffff",
        "x".repeat(1024),
        "x".repeat(1023),
        "😀".repeat(256),
        "a//b",
        "//",
        "con",
        "a\\b"
      )
      yield* Effect.forEach(keys, (key) => put(store, key, bytesOf(key, 20_000)), { concurrency: 8 })
      for (const key of keys) assert.isTrue((yield* read(store, key)).bytes.equals(bytesOf(key, 20_000)))
      const { objects } = yield* store.list("b", { prefix: "", delimiter: "", after: "", limit: 1000 })
      assert.deepStrictEqual(
        objects.map(({ key }) => key),
        keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      )
      assert.lengthOf(yield* filesIn(directory), keys.length)
      assert.strictEqual(yield* codeOf(put(store, "half \ud800", bytesOf("", 1))), "InvalidURI")
    })
  )

  it.live("creates files and directories that only the owner can access", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      yield* put(store, "k", bytesOf("x", 100_000))
      const [id = ""] = yield* filesIn(directory)
      const mode = (path: string) =>
        Effect.promise(async () => ((await stat(join(directory, path))).mode & 0o777).toString(8))
      assert.strictEqual(yield* mode(`blobs/${id.slice(0, 2)}/${id}`), "600")
      assert.strictEqual(yield* mode("index.db"), "600")
      assert.strictEqual(yield* mode("index.db-wal"), "600")
      for (const path of ["blobs", "tmp", `blobs/${id.slice(0, 2)}`]) assert.strictEqual(yield* mode(path), "700")
    })
  )

  it.live.skipIf(process.getuid?.() !== 0)("creates them for the owner of the data directory", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const store = yield* makeLocalStore(directory, { uid: 4321, gid: 4321 })
      yield* store.createBucket("b")
      const source = yield* put(store, "k", bytesOf("x", 100_000))
      yield* Effect.flatMap(store.copy({ ...source, bucket: "b" }, undefined), (blob) =>
        store.put("b", "copy", blob, meta)
      )
      const paths = yield* Effect.promise(() => readdir(directory, { recursive: true }))
      assert.isAbove(paths.length, 6)
      for (const path of paths) {
        const { uid, gid } = yield* Effect.promise(() => stat(join(directory, path)))
        assert.deepStrictEqual({ path, uid, gid }, { path, uid: 4321, gid: 4321 })
      }
    })
  )

  it.live("deletes the files of replaced and removed objects, after their readers have closed", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const old = bytesOf("old", 1_000_000)
      yield* put(store, "k", old)
      const scope = yield* Scope.make()
      const { open, info } = yield* Scope.provide(store.get("b", "k"), scope)
      yield* put(store, "k", bytesOf("new", 500_000))
      yield* store.remove("b", [{ key: "k" }, { key: "never there" }])
      yield* untilFiles(directory, 1)
      const late = open(0, info.size - 1)
      yield* Scope.close(scope, Exit.void)
      yield* put(store, "other", bytesOf("other", 100_000))
      yield* store.remove("b", [{ key: "other" }])
      yield* untilFiles(directory, 1)
      assert.isTrue((yield* collect(late)).equals(old))
      yield* untilFiles(directory, 0)
      assert.strictEqual(yield* codeOf(store.head("b", "k")), "NoSuchKey")
    })
  )

  it.live("deletes the files of a reader that is abandoned", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      yield* put(store, "k", bytesOf("old", 1_000_000))
      const { open } = yield* Effect.scoped(store.get("b", "k"))
      const [unread, half] = [open(0, 999_999), open(0, 999_999)]
      yield* Effect.promise(() => half[Symbol.asyncIterator]().next())
      yield* store.remove("b", [{ key: "k" }])
      unread.destroy()
      half.destroy()
      yield* untilFiles(directory, 0)
    })
  )

  it.live("checks conditions atomically with the write", () =>
    Effect.gen(function* () {
      const { store } = yield* newStore
      const attempt = (text: string, condition: { ifMatch?: string; ifNoneMatch?: string }) =>
        Effect.scoped(
          Effect.flatMap(store.write(chunked(Buffer.from(text))), (blob) => store.put("b", "k", blob, meta, condition))
        )
      assert.strictEqual(yield* codeOf(attempt("0", { ifMatch: "*" })), "NoSuchKey")
      const made = yield* Effect.all(
        Array.from({ length: 20 }, (_, n) => Effect.result(attempt(String(n), { ifNoneMatch: "*" }))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        made.filter((result) => result._tag === "Success"),
        1
      )
      const { etag } = yield* store.head("b", "k")
      assert.strictEqual(yield* codeOf(attempt("x", { ifNoneMatch: `"${etag}"` })), "PreconditionFailed")
      assert.strictEqual(yield* codeOf(attempt("x", { ifMatch: "other" })), "PreconditionFailed")
      assert.strictEqual((yield* attempt("y", { ifMatch: `"${etag}"` })).etag, md5(Buffer.from("y")))
      assert.strictEqual(yield* codeOf(store.setMeta("b", "k", meta, { ifMatch: etag })), "PreconditionFailed")
    })
  )

  it.live("changes metadata and keeps the bytes", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      yield* put(store, "k", bytesOf("x", 50_000))
      const before = yield* filesIn(directory)
      const checksum = { algorithm: "CRC32", value: "AAAA", type: "FULL_OBJECT" } as const
      const tags = [["t", "v"]] as const
      const changed = yield* store.setMeta("b", "k", {
        contentType: "a/b",
        headers: {},
        user: { n: "1" },
        checksum,
        tags
      })
      assert.deepInclude(changed, { contentType: "a/b", headers: {}, user: { n: "1" }, checksum, tags, size: 50_000 })
      assert.deepStrictEqual(yield* filesIn(directory), before)
      assert.strictEqual(yield* codeOf(store.setMeta("b", "none", meta)), "NoSuchKey")
    })
  )

  it.live("copies whole objects and ranges, and rejects a source that has changed", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      for (const size of [10, 1_000_000]) {
        const bytes = bytesOf("src", size)
        const source = { ...(yield* put(store, "src", bytes)), bucket: "b" }
        const copy = (key: string, range: { start: number; end: number } | undefined) =>
          Effect.scoped(Effect.flatMap(store.copy(source, range), (blob) => store.put("b", key, blob, source)))
        assert.strictEqual((yield* copy("whole", undefined)).etag, source.etag)
        assert.strictEqual((yield* copy("part", { start: 2, end: 7 })).size, 6)
        yield* put(store, "src", bytesOf("other", size))
        assert.isTrue((yield* read(store, "whole")).bytes.equals(bytes))
        assert.isTrue((yield* read(store, "part")).bytes.equals(bytes.subarray(2, 8)))
        assert.strictEqual(yield* codeOf(copy("late", undefined)), "OperationAborted")
      }
      yield* store.remove("b", [{ key: "src" }, { key: "whole" }, { key: "part" }])
      yield* untilFiles(directory, 0)
    })
  )

  it.live("handles 200 concurrent puts, and concurrent puts of one key", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const numbers = Array.from({ length: 200 }, (_, n) => n)
      const size = (n: number) => (n % 2 === 0 ? 100 : 100_000)
      yield* Effect.forEach(numbers, (n) => put(store, `k${n}`, bytesOf(`k${n}`, size(n))), {
        concurrency: "unbounded"
      })
      for (const n of numbers) assert.isTrue((yield* read(store, `k${n}`)).bytes.equals(bytesOf(`k${n}`, size(n))))
      yield* store.remove(
        "b",
        numbers.map((n) => ({ key: `k${n}` }))
      )
      const work = (n: number): Effect.Effect<unknown, S3Error> => {
        if (n % 5 === 0) return store.remove("b", [{ key: "k" }])
        if (n % 2 === 0) return put(store, "k", bytesOf(String(n), 40_000 + n), { user: { n: String(n) } })
        return Effect.map(Effect.result(read(store, "k")), (result) => {
          if (result._tag === "Failure") return assert.strictEqual(result.failure.code, "NoSuchKey")
          const { info, bytes } = result.success
          const version = info.user["n"] ?? ""
          assert.isTrue(bytes.equals(bytesOf(version, 40_000 + Number(version))))
        })
      }
      yield* Effect.forEach([...numbers, ...numbers, ...numbers], work, { concurrency: 16, discard: true })
      yield* store.remove("b", [{ key: "k" }])
      yield* untilFiles(directory, 0)
    })
  )

  it.live("creates, lists and deletes buckets", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      assert.strictEqual(yield* codeOf(store.createBucket("b")), "BucketAlreadyOwnedByYou")
      assert.strictEqual(yield* codeOf(store.bucket("none")), "NoSuchBucket")
      assert.strictEqual(yield* codeOf(store.head("none", "k")), "NoSuchBucket")
      assert.strictEqual(
        yield* codeOf(store.list("none", { prefix: "", delimiter: "", after: "", limit: 1 })),
        "NoSuchBucket"
      )
      yield* store.setDocument("b", "policy", "{}")
      yield* store.setDocument("b", "cors", "<x/>")
      yield* store.setDocument("b", "policy", undefined)
      yield* store.createBucket("a")
      const [a, b] = yield* store.buckets
      assert.deepInclude(a, { name: "a", policy: undefined, cors: undefined })
      assert.deepInclude(b, { name: "b", policy: undefined, cors: "<x/>" })
      yield* put(store, "k", bytesOf("x", 20_000))
      assert.strictEqual(yield* codeOf(store.deleteBucket("b")), "BucketNotEmpty")
      yield* store.remove("b", [{ key: "k" }])
      const uploadId = yield* store.createUpload("b", "k", meta)
      const blobScope = Effect.flatMap(store.write(chunked(bytesOf("x", 20_000))), (blob) =>
        store.putPart("b", "k", uploadId, 1, blob, undefined)
      )
      yield* Effect.scoped(blobScope)
      yield* store.deleteBucket("b")
      yield* untilFiles(directory, 0)
      yield* store.createBucket("b")
      assert.strictEqual(yield* codeOf(store.upload("b", "k", uploadId)), "NoSuchUpload")
    })
  )
})
