import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { makeLocalStore } from "../../../src/layers/storage/endpoint/store/LocalStore.ts"
import { type S3Error } from "../../../src/layers/storage/endpoint/Error.ts"
import { type LocalStore } from "../../../src/layers/storage/endpoint/store/Model.ts"
import {
  bytesOf,
  chunked,
  collect,
  filesIn,
  meta,
  newStore,
  put,
  putPart,
  read,
  temporaryDirectory,
  untilFiles
} from "../../support/storage/store.ts"

const writer = fileURLToPath(new URL("../../support/storage/writer.ts", import.meta.url))

/** Kills the writer once it has confirmed `puts` puts; returns the last confirmed version of each key. */
const killAfter = async (directory: string, first: number, puts: number, ...mode: ReadonlyArray<"versioned">) => {
  const options = { stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"] }
  const child = spawn(process.execPath, [writer, directory, String(first), ...mode], options)
  const ended = once(child, "exit")
  let errors = ""
  child.stderr.on("data", (chunk) => (errors += String(chunk)))
  const last = new Map<string, number>()
  let count = 0
  for await (const line of createInterface(child.stdout)) {
    const [, key = "", version = ""] = /^(.*) (\d+)$/.exec(line) ?? []
    last.set(key, Number(version))
    if (++count === puts) child.kill("SIGKILL")
  }
  await ended
  assert.strictEqual(errors, "")
  return last
}

describe("LocalStore restarts", { timeout: 30_000 }, () => {
  it.live(
    "finds every object whole after kill -9, each the last one answered or the one after",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const versions = new Map<string, number>()
        let first = 1
        for (const answers of [1, 7, 40, 260, 101]) {
          const last = yield* Effect.promise(() => killAfter(directory, first, answers))
          yield* Effect.scoped(
            Effect.gen(function* () {
              const store = yield* makeLocalStore(directory, undefined)
              const { objects } = yield* store.list("b", { prefix: "", delimiter: "", after: "", limit: 100 })
              for (const { key } of objects) {
                const { info, bytes } = yield* read(store, key)
                const version = Number(info.user["version"])
                const size = (key.startsWith("small") ? 200 : 20_000) + version
                assert.isTrue(bytes.equals(bytesOf(`${key} ${version}`, size)), `${key} is not whole`)
                const answered = last.get(key)
                const possible = answered === undefined ? [versions.get(key), first] : [answered, answered + 1]
                assert.include(possible, version, `${key} was answered at ${answered}`)
                versions.set(key, version)
              }
              for (const key of last.keys()) assert.isTrue(objects.some((object) => object.key === key))
              first = Math.max(...versions.values()) + 1
              const open = yield* store.uploads("b", {
                prefix: "",
                delimiter: "",
                keyMarker: "",
                uploadIdMarker: "",
                limit: 9
              })
              for (const { key, uploadId } of open.uploads) yield* store.abortUpload("b", key, uploadId)
              yield* untilFiles(directory, objects.filter(({ key }) => !key.startsWith("small")).length)
            })
          )
        }
      }),
    60_000
  )

  it.live(
    "finds every version whole after kill -9, and the moments that the history has",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const restarted = (use: (store: LocalStore) => Effect.Effect<void, S3Error, Scope.Scope>) =>
          Effect.scoped(Effect.flatMap(makeLocalStore(directory, undefined, { enabled: true, keep: 3_600_000 }), use))
        let first = 1
        for (const answers of [3, 61, 150]) {
          const last = yield* Effect.promise(() => killAfter(directory, first, answers, "versioned"))
          yield* restarted((store) =>
            Effect.gen(function* () {
              const options = { prefix: "", delimiter: "", keyMarker: "", versionIdMarker: "", limit: 1000 }
              const { versions } = yield* store.versions("b", options)
              const found = new Map<string, ReadonlyArray<number>>()
              for (const { isLatest, key, lastModified, user, versionId = "null" } of versions) {
                const version = Number(user["version"])
                const before = found.get(key) ?? []
                assert.strictEqual(isLatest, before.length === 0)
                found.set(key, [version, ...before])
                const size = (key.startsWith("small") ? 200 : 20_000) + version
                const { open } = yield* store.get("b", key, versionId)
                const bytes = yield* collect(open(0, size - 1))
                assert.isTrue(bytes.equals(bytesOf(`${key} ${version}`, size)), `${key} ${version} is not whole`)
                const then = yield* store.history.get("b", key, lastModified.getTime())
                assert.isAtLeast(Number(then.info.user["version"]), version)
              }
              for (const [key, answered] of last) {
                const all = found.get(key) ?? []
                assert.deepStrictEqual(
                  all,
                  all.toSorted((a, b) => a - b)
                )
                assert.includeMembers([answered, answered + 1], all.slice(-1), key)
                for (let version = first; version <= answered; version++) assert.include(all, version, key)
              }
              first = Math.max(...[...found.values()].flat()) + 1
            })
          )
        }
      }),
    60_000
  )

  // There the runtime uses the same message channel as the store's threads.
  it.live("works under node --watch", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const child = spawn(process.execPath, ["--watch", writer, directory], { stdio: ["ignore", "pipe", "inherit"] })
      const ended = once(child, "exit")
      const seen = new Set<string>()
      yield* Effect.promise(async () => {
        for await (const line of createInterface(child.stdout)) {
          seen.add(line.replace(/ \d+$/, ""))
          if (seen.size === 5) child.kill()
        }
        await ended
      })
      assert.lengthOf(seen, 5)
    })
  )

  it.live("deletes only the leftovers of earlier starts", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const start = Effect.flatMap(makeLocalStore(directory, undefined), (store) =>
        Effect.as(Effect.ignore(store.createBucket("b")), store)
      )
      yield* Effect.scoped(Effect.flatMap(start, (store) => put(store, "k", bytesOf("x", 100_000))))
      const orphan = `ab00000001${"0".repeat(24)}`
      const young = `ab0000ffff${"1".repeat(24)}`
      yield* Effect.promise(async () => {
        await mkdir(join(directory, "blobs", "ab"), { recursive: true })
        for (const path of [
          `blobs/ab/${orphan}`,
          `blobs/ab/${young}`,
          "blobs/ab/notes.txt",
          `tmp/${orphan}`,
          `tmp/${young}`
        ])
          await writeFile(join(directory, path), "left")
      })
      const store = yield* start
      yield* untilFiles(directory, 4)
      assert.sameMembers(
        (yield* filesIn(directory)).filter((name) => name === young || name === "notes.txt"),
        [young, young, "notes.txt"]
      )
      assert.isTrue((yield* read(store, "k")).bytes.equals(bytesOf("x", 100_000)))
    })
  )

  it.live("keeps everything over a regular shutdown", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const id = yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* makeLocalStore(directory, undefined)
          yield* store.createBucket("b")
          yield* put(store, "small", bytesOf("s", 100))
          yield* put(store, "large", bytesOf("l", 100_000))
          const id = yield* store.createUpload("b", "k", meta)
          const blob = yield* store.write(chunked(bytesOf("p", 50)))
          yield* store.putPart("b", "k", id, 1, blob, { algorithm: "CRC32", value: "AAAA", type: "FULL_OBJECT" })
          return id
        })
      )
      assert.deepStrictEqual(readdirSync(directory).toSorted(), ["blobs", "index.db", "tmp"])
      const store = yield* makeLocalStore(directory, undefined)
      assert.isTrue((yield* read(store, "small")).bytes.equals(bytesOf("s", 100)))
      assert.isTrue((yield* read(store, "large")).bytes.equals(bytesOf("l", 100_000)))
      const { parts } = yield* store.parts("b", "k", id, 0, 10)
      assert.deepInclude(parts[0], {
        part: 1,
        size: 50,
        checksum: { algorithm: "CRC32", value: "AAAA", type: "FULL_OBJECT" }
      })
    })
  )

  it.live("removes everything unused from the index", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* makeLocalStore(directory, undefined)
          yield* store.createBucket("b")
          for (const size of [100, 20_000, 200]) yield* put(store, "k", bytesOf("k", size))
          yield* store.setMeta("b", "k", meta)
          const [left, done] = [yield* store.createUpload("b", "k", meta), yield* store.createUpload("b", "k", meta)]
          for (const id of [left, done]) {
            yield* putPart(store, "k", id, 1, bytesOf("1", 30))
            yield* putPart(store, "k", id, 1, bytesOf("1", 30_000))
            yield* putPart(store, "k", id, 2, bytesOf("2", 40))
          }
          // Fails after the bytes have been written, which must be removed.
          assert.strictEqual(
            (yield* Effect.exit(putPart(store, "k", left, Number.NaN, bytesOf("3", 50))))._tag,
            "Failure"
          )
          const { parts } = yield* store.parts("b", "k", done, 1, 10)
          yield* store.completeUpload("b", "k", done, [{ part: 2, etag: parts[0]?.etag ?? "" }])
          yield* store.remove("b", [{ key: "k" }])
          yield* store.deleteBucket("b")
        })
      )
      const database = new DatabaseSync(join(directory, "index.db"))
      for (const table of [
        "buckets",
        "objects",
        "files",
        "small",
        "uploads",
        "parts",
        "completed",
        "versions",
        "history",
        "held"
      ])
        assert.deepStrictEqual(database.prepare(`SELECT * FROM ${table}`).all(), [], table)
      database.close()
      assert.deepStrictEqual(yield* filesIn(directory), [])
    })
  )

  it.live("opens the format of the first version, whose objects have no tags", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* makeLocalStore(directory, undefined)
          yield* store.createBucket("b")
          yield* store.setDocument("b", "cors", "<cors/>")
          yield* put(store, "k", bytesOf("x", 10))
        })
      )
      const database = new DatabaseSync(join(directory, "index.db"))
      for (const name of ["publicAccess", "lifecycle", "tagging", "versioning"])
        database.exec(`ALTER TABLE buckets DROP COLUMN ${name}`)
      for (const name of ["version", "since"]) database.exec(`ALTER TABLE objects DROP COLUMN ${name}`)
      for (const name of ["versions", "history", "held", "journal", "old_buckets", "counters", "archived", "archive"])
        database.exec(`DROP TABLE ${name}`)
      database.exec("PRAGMA user_version = 1")
      database.close()
      const store = yield* makeLocalStore(directory, undefined)
      assert.deepInclude(yield* store.bucket("b"), { cors: "<cors/>", policy: undefined, publicAccess: undefined })
      assert.deepStrictEqual((yield* store.head("b", "k")).tags, [])
      yield* store.setTags("b", "k", [["a", "1"]])
      yield* store.setDocument("b", "lifecycle", "<l/>")
      assert.deepStrictEqual(yield* store.lifecycles, [{ bucket: "b", text: "<l/>" }])
    })
  )

  it.live("rejects a directory that is in use, and one of a newer version", () =>
    Effect.gen(function* () {
      const { directory } = yield* newStore
      const second = yield* Effect.flip(Effect.scoped(makeLocalStore(directory, undefined)))
      assert.strictEqual(
        second.message,
        `The index of the stored objects ${directory}/index.db can't be opened: it is in use by another process`
      )
      const other = yield* temporaryDirectory
      yield* Effect.scoped(makeLocalStore(other, undefined))
      const database = new DatabaseSync(join(other, "index.db"))
      database.exec("PRAGMA user_version = 99")
      database.close()
      const newer = yield* Effect.flip(Effect.scoped(makeLocalStore(other, undefined)))
      assert.include(newer.message, "it was written by a newer version (format 99; this version supports up to 4)")
      const file = yield* temporaryDirectory
      yield* Effect.promise(() =>
        writeFile(join(file, "index.db"), "not a database, whatever it is called".repeat(100))
      )
      const broken = yield* Effect.flip(Effect.scoped(makeLocalStore(file, undefined)))
      assert.include(broken.message, "file is not a database")
    })
  )
})
