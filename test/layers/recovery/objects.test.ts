import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { randomBytes } from "node:crypto"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { readEncryptionKey } from "../../../src/domain/connections/SealedText.ts"
import { runObjectArchiver } from "../../../src/layers/recovery/objects/Archiver.ts"
import { findObjects, recoverObjects } from "../../../src/layers/recovery/objects/Recover.ts"
import { type Archive, openOrCreateArchive } from "../../../src/layers/recovery/store/Archive.ts"
import { directoryStore } from "../../../src/layers/recovery/store/Directory.ts"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { makeLocalStore } from "../../../src/layers/storage/endpoint/store/LocalStore.ts"
import { type LocalStore } from "../../../src/layers/storage/endpoint/store/Model.ts"
import { bytesOf, collect, put, temporaryDirectory } from "../../support/storage/store.ts"

const keep = 60 * 60_000
const cluster = { system_identifier: "7", segment_size: 16_777_216, major: 18, database: "app", user: "owner" }
const options = { prefix: "", delimiter: "", after: "", limit: 1000 }
const key = readEncryptionKey(randomBytes(32).toString("hex"))!

const archiveIn = (directory: string) =>
  openOrCreateArchive(directoryStore(directory), key, [], cluster, undefined, new Date().toISOString())
const storeIn = (directory: string) => makeLocalStore(join(directory, "objects"), undefined, { enabled: true, keep })

/** Archives a store until it has everything up to now, and ends. */
const archived = Effect.fnUntraced(function* (archive: Archive, store: LocalStore) {
  const scope = yield* Scope.make()
  const progress = yield* Scope.provide(
    runObjectArchiver({ archive: Effect.succeed(archive), journal: store.journal, keep }),
    scope
  )
  const now = Date.now()
  while ((progress.until ?? 0) < now) {
    assert.isUndefined(progress.problem)
    yield* Effect.sleep("50 millis")
  }
  yield* Scope.close(scope, Exit.void)
  yield* Effect.sleep("5 millis")
  const time = Date.now()
  yield* Effect.sleep("5 millis")
  return time
})

/** All objects of a bucket with their bytes. */
const contents = Effect.fnUntraced(function* (store: LocalStore, bucket: string) {
  const { objects } = yield* store.list(bucket, options)
  const found: Array<readonly [string, string, string]> = []
  for (const { key } of objects) {
    const bytes = yield* Effect.scoped(
      Effect.flatMap(store.get(bucket, key), ({ info, open }) => collect(open(0, info.size - 1)))
    )
    const { etag, tags } = yield* store.head(bucket, key)
    found.push([`${key} ${etag} ${JSON.stringify(tags)}`, String(bytes.length), bytes.toString("base64")])
  }
  return found
})

const recovered = Effect.fnUntraced(function* (archive: Archive, time: number) {
  const directory = yield* temporaryDirectory
  const { sequence, state } = yield* findObjects(archive, time)
  assert.isDefined(state)
  const dir = yield* Effect.provide(DataDir, DataDir.at(directory))
  const full = yield* recoverObjects(archive, state!, time, sequence, dir, 2 ** 60, () => undefined).pipe(
    Effect.asVoid,
    Effect.flip
  )
  assert.match(
    full.message,
    /^The recovery needs \d+ MiB of free space in .* are free: make \d+ MiB of space\. Nothing was/
  )
  yield* yield* recoverObjects(archive, state!, time, sequence, dir, 0, () => undefined)
  assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), ["objects"])
  return { directory, store: yield* storeIn(directory) }
})

describe("the archive of objects", () => {
  it.live(
    "has the objects of each time, of every size, and a recovered store is archived from there",
    () =>
      Effect.gen(function* () {
        const archive = yield* archiveIn(join(yield* temporaryDirectory, "archive"))
        const store = yield* storeIn(yield* temporaryDirectory)
        yield* store.createBucket("b")
        yield* put(store, "empty", bytesOf("", 0))
        yield* put(store, "small", bytesOf("small", 1000), { tags: [["a", "1"]] })
        yield* put(store, "file", bytesOf("file", 100_000))
        yield* put(store, "large", bytesOf("large", 20_000_000))
        const one = yield* archived(archive, store)
        const first = yield* contents(store, "b")
        yield* store.setTags("b", "small", [["a", "2"]])
        yield* store.remove("b", [{ key: "file" }])
        yield* put(store, "large", bytesOf("other", 1_500_000))
        for (let n = 0; n < 700; n++) yield* put(store, `many/${n}`, bytesOf(`many ${n}`, 50))
        const two = yield* archived(archive, store)
        const second = yield* contents(store, "b")
        yield* store.setDocument("b", "versioning", "Enabled")
        yield* put(store, "small", bytesOf("newer", 2000))
        yield* store.remove("b", [{ key: "many/1" }])
        const three = yield* archived(archive, store)
        const versions = yield* store.versions("b", { ...options, keyMarker: "", versionIdMarker: "" })

        assert.deepStrictEqual(yield* contents((yield* recovered(archive, one)).store, "b"), first)
        assert.deepStrictEqual(yield* contents((yield* recovered(archive, two)).store, "b"), second)
        const last = yield* recovered(archive, three)
        assert.deepStrictEqual(
          yield* last.store.versions("b", { ...options, keyMarker: "", versionIdMarker: "" }),
          versions
        )

        // It goes on from there without another copy of the bytes, but for the small object, as most of its pack is deleted.
        const data = yield* archive.list("objects/data/")
        yield* put(last.store, "after", bytesOf("after", 10))
        const four = yield* archived(archive, last.store)
        const more = (yield* archive.list("objects/data/")).filter((name) => !data.includes(name))
        const sizes = more.map((name) => Number.parseInt(name.split(".")[3] ?? "", 16))
        assert.sameMembers(sizes, [10, 1000])
        const again = yield* recovered(archive, four)
        assert.deepStrictEqual(yield* contents(again.store, "b"), yield* contents(last.store, "b"))
        assert.deepStrictEqual(yield* contents((yield* recovered(archive, two)).store, "b"), second)
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "goes on after an interruption with what was written, and begins again after changes were lost",
    () =>
      Effect.gen(function* () {
        const archive = yield* archiveIn(join(yield* temporaryDirectory, "archive"))
        const directory = yield* temporaryDirectory
        const store = yield* storeIn(directory)
        yield* store.createBucket("b")
        yield* put(store, "large", bytesOf("large", 30_000_000))
        let puts = 0
        const failing: Archive = {
          ...archive,
          put: (name, content) =>
            name.startsWith("objects/data/") && ++puts === 3
              ? Effect.die("the process ends")
              : archive.put(name, content)
        }
        const scope = yield* Scope.make()
        const progress = yield* Scope.provide(
          runObjectArchiver({ archive: Effect.succeed(failing), journal: store.journal, keep }),
          scope
        )
        while (progress.problem === undefined) yield* Effect.sleep("20 millis")
        yield* Scope.close(scope, Exit.void)
        const parts = yield* archive.list("objects/data/")
        assert.strictEqual(parts.length, 2)
        const one = yield* archived(archive, store)
        assert.strictEqual((yield* archive.list("objects/data/")).length, 4)
        assert.includeMembers([...(yield* archive.list("objects/data/"))], [...parts])
        const first = yield* contents(store, "b")
        assert.deepStrictEqual(yield* contents((yield* recovered(archive, one)).store, "b"), first)

        yield* put(store, "lost", bytesOf("lost", 10))
        yield* store.journal.confirm(yield* store.journal.position)
        const scope2 = yield* Scope.make()
        yield* Scope.provide(
          runObjectArchiver({ archive: Effect.succeed(archive), journal: store.journal, keep }),
          scope2
        )
        while ((yield* archive.list("objects/rows/")).filter((name) => name.endsWith("rows.json")).length < 2) {
          yield* Effect.sleep("100 millis")
        }
        yield* Scope.close(scope2, Exit.void)
        const second = yield* contents(store, "b")
        assert.deepStrictEqual(yield* contents((yield* recovered(archive, Date.now() + 1)).store, "b"), second)
        yield* Effect.promise(() => rm(directory, { recursive: true, force: true }))
      }).pipe(Effect.scoped),
    120_000
  )
})
