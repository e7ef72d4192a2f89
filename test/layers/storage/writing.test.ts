import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmdirSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { S3Error, s3Error } from "../../../src/layers/storage/endpoint/Error.ts"
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
  untilFiles
} from "../../support/storage/store.ts"

const run = (command: string, ...given: ReadonlyArray<string>) => execFileSync(command, given, { stdio: "ignore" })

/** A file system of 70 MiB, of which the store leaves 64 MiB free, which only root can mount. */
const tinyDisk = () => {
  const path = mkdtempSync(join(tmpdir(), "disk-"))
  try {
    run("mount", "-t", "tmpfs", "-o", "size=70m", "tmpfs", path)
    return path
  } catch {
    rmdirSync(path)
    return undefined
  }
}

const unmount = (path: string) => {
  run("umount", path)
  rmdirSync(path)
}

const probe = tinyDisk()
if (probe !== undefined) unmount(probe)

describe("LocalStore writing", { timeout: 30_000 }, () => {
  it.live("leaves no files of a body that fails at any byte", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const refusal = s3Error("BadDigest")
      async function* failing(size: number, cause: unknown) {
        yield* chunked(bytesOf("x", size))
        throw cause
      }
      for (const size of [0, 1, 16_385, 262_143, 262_144, 300_000, 2_000_000]) {
        const first = yield* Effect.flip(Effect.scoped(store.write(failing(size, refusal))))
        assert.strictEqual(first, refusal)
        const second = yield* Effect.flip(Effect.scoped(store.write(failing(size, new Error("socket hang up")))))
        assert.strictEqual(second.code, "IncompleteBody")
        assert.deepStrictEqual(yield* filesIn(directory), [])
      }
    })
  )

  it.live("deletes blobs that are never put, and accepts each only once", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const blob = yield* Effect.scoped(
        Effect.gen(function* () {
          const blob = yield* store.write(chunked(bytesOf("x", 100_000)))
          assert.lengthOf(yield* filesIn(directory), 1)
          assert.strictEqual(yield* codeOf(store.put("none", "k", blob, meta)), "NoSuchBucket")
          return blob
        })
      )
      assert.deepStrictEqual(yield* filesIn(directory), [])
      const exit = yield* Effect.exit(store.put("b", "k", blob, meta))
      assert.isTrue(exit._tag === "Failure" && exit.cause.reasons.every(({ _tag }) => _tag === "Die"))
    })
  )

  it.live("leaves no files when interrupted, even while the body stalls", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      for (const size of [10, 300_000, 1_000_000]) {
        const reached = Promise.withResolvers<undefined>()
        const body = new Readable({ read() {} })
        const all = bytesOf("x", size)
        async function* hanging() {
          yield all
          reached.resolve(undefined)
          yield* body
        }
        const writing = yield* Effect.forkChild(Effect.scoped(store.write(hanging())))
        yield* Effect.promise(() => reached.promise)
        yield* Fiber.interrupt(writing)
        assert.deepStrictEqual(yield* filesIn(directory), [])
        body.destroy()
      }
      // During many writes.
      const fibers = yield* Effect.forEach(Array.from({ length: 20 }), (_, n) =>
        Effect.forkChild(put(store, `k${n}`, bytesOf(String(n), 500_000)))
      )
      yield* untilOne(directory)
      yield* Fiber.interruptAll(fibers)
      const { objects } = yield* store.list("b", { prefix: "", delimiter: "", after: "", limit: 100 })
      yield* untilFiles(directory, objects.length)
      for (const { key } of objects)
        assert.isTrue((yield* read(store, key)).bytes.equals(bytesOf(key.slice(1), 500_000)))
    })
  )

  it.live("enforces the limit, and passes every chunk to the sink", () =>
    Effect.gen(function* () {
      const { store, directory } = yield* newStore
      const write = (size: number, limit: number) => {
        let seen = 0
        const sink = (chunk: Uint8Array) => void (seen += chunk.length)
        return Effect.scoped(Effect.map(store.write(chunked(bytesOf("x", size)), { limit, sink }), () => seen))
      }
      assert.strictEqual(yield* write(500_000, 500_000), 500_000)
      assert.strictEqual(yield* codeOf(write(500_001, 500_000)), "EntityTooLarge")
      assert.strictEqual(yield* codeOf(write(11, 10)), "EntityTooLarge")
      const sink = () => {
        throw s3Error("InvalidDigest")
      }
      const refused = yield* Effect.flip(Effect.scoped(store.write(chunked(bytesOf("x", 500_000)), { sink })))
      assert.instanceOf(refused, S3Error)
      assert.deepStrictEqual(yield* filesIn(directory), [])
    })
  )

  it.live("needs no more memory for a large body", () =>
    Effect.gen(function* () {
      const { store } = yield* newStore
      const mebibyte = 1024 * 1024
      async function* large() {
        for (let n = 0; n < 3200; n++) yield Buffer.alloc(65_536, n)
      }
      const before = process.memoryUsage().rss
      let peak = 0
      const sink = () => void (peak = Math.max(peak, process.memoryUsage.rss()))
      const blob = yield* store.write(large(), { sink })
      assert.strictEqual(blob.size, 200 * mebibyte)
      assert.isBelow(peak - before, 120 * mebibyte)
    })
  )

  // Needs root and mount(8).
  it.live.skipIf(probe === undefined)("reports a full disk, and leaves no partial files", () =>
    Effect.gen(function* () {
      const path = yield* Effect.acquireRelease(
        Effect.sync(() => tinyDisk() ?? ""),
        (path) => Effect.sync(() => unmount(path))
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* makeLocalStore(path, undefined)
          yield* store.createBucket("b")
          yield* put(store, "first", bytesOf("1", 1_000_000))
          for (let n = 0; n < 3; n++)
            assert.strictEqual(yield* codeOf(put(store, "first", bytesOf("2", 8_000_000))), "InsufficientStorage")
          assert.lengthOf(yield* filesIn(path), 1)
          assert.isTrue((yield* read(store, "first")).bytes.equals(bytesOf("1", 1_000_000)))

          // Small objects fill the index.
          const results = yield* Effect.forEach(
            Array.from({ length: 1000 }, (_, n) => n),
            (n) => Effect.result(put(store, `s${n}`, bytesOf(String(n), 16_000))),
            { concurrency: 8 }
          )
          const failed = results.flatMap((result) => (result._tag === "Failure" ? [result.failure.code] : []))
          assert.isAbove(failed.length, 100)
          const { bavail, bsize } = statfsSync(path)
          assert.isAbove(bavail * bsize, 48 * 1024 * 1024, "the database goes on")
          assert.deepStrictEqual([...new Set(failed)], ["InsufficientStorage"])
          const { objects } = yield* store.list("b", { prefix: "s", delimiter: "", after: "", limit: 1000 })
          assert.lengthOf(objects, results.length - failed.length)
          for (const { key } of objects)
            assert.isTrue((yield* read(store, key)).bytes.equals(bytesOf(key.slice(1), 16_000)))
          const { open } = yield* store.get("b", "first")
          assert.lengthOf(yield* collect(open(0, 9)), 10)
        })
      )
    })
  )
})

const untilOne = (directory: string): Effect.Effect<void> =>
  Effect.flatMap(filesIn(directory), (files) => (files.length > 0 ? Effect.void : untilOne(directory)))
