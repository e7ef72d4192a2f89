import { Effect } from "effect"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Readable } from "node:stream"
import { type S3Error } from "../../../src/layers/storage/endpoint/Error.ts"
import { type ObjectMeta, type LocalStore } from "../../../src/layers/storage/endpoint/store/Model.ts"
import { makeLocalStore } from "../../../src/layers/storage/endpoint/store/LocalStore.ts"

export const meta: ObjectMeta = {
  contentType: "text/plain",
  headers: { "cache-control": "no-store" },
  user: { who: "Ä, 日本" },
  checksum: undefined,
  tags: []
}

export const temporaryDirectory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "store-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** A new store with a bucket `b`. */
export const newStore = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const store = yield* makeLocalStore(directory, undefined)
  yield* store.createBucket("b")
  return { directory, store }
})

/** Bytes that identify their seed. */
export const bytesOf = (seed: string, size: number) => Buffer.alloc(size, `${seed}|`)

/** Bytes in chunks of a size that does not divide any other. */
export async function* chunked(bytes: Uint8Array, size = 60_001): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export const put = (store: LocalStore, key: string, bytes: Uint8Array, given: Partial<ObjectMeta> = {}) =>
  Effect.scoped(Effect.flatMap(store.write(chunked(bytes)), (blob) => store.put("b", key, blob, { ...meta, ...given })))

export const putPart = (store: LocalStore, key: string, uploadId: string, part: number, bytes: Uint8Array) =>
  Effect.scoped(
    Effect.flatMap(store.write(chunked(bytes)), (blob) =>
      Effect.as(store.putPart("b", key, uploadId, part, blob, undefined), { part, etag: blob.md5 })
    )
  )

export const collect = (stream: Readable) => Effect.promise(async () => Buffer.concat(await stream.toArray()))

/** The bytes of an object, or of a range, with its info. */
export const read = (store: LocalStore, key: string, range?: readonly [start: number, end: number]) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { info, open } = yield* store.get("b", key)
      const [start, end] = range ?? [0, info.size - 1]
      return { info, bytes: yield* collect(open(start, end)) }
    })
  )

/** The names of all blob files and temporary files. */
export const filesIn = (directory: string) =>
  Effect.promise(async () => {
    const found = await Promise.all(
      ["blobs", "tmp"].map((name) => readdir(join(directory, name), { recursive: true, withFileTypes: true }))
    )
    return found.flatMap((entries) => entries.filter((entry) => entry.isFile()).map(({ name }) => name))
  })

/** Waits until `count` files are left, because they are deleted in the background. */
export const untilFiles = Effect.fnUntraced(function* (directory: string, count: number) {
  for (let tries = 0; tries < 1000; tries++) {
    if ((yield* filesIn(directory)).length === count) return
    yield* Effect.sleep("5 millis")
  }
  return yield* Effect.die(new Error(`Expected ${count} files: ${(yield* filesIn(directory)).join(" ")}`))
})

/** The code of the S3Error that an effect fails with. */
export const codeOf = <A, R>(effect: Effect.Effect<A, S3Error, R>) =>
  Effect.map(Effect.flip(effect), ({ code }) => code)
