import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { makeLocalStore } from "../../../src/layers/storage/endpoint/store/LocalStore.ts"
import { type LocalStore } from "../../../src/layers/storage/endpoint/store/Model.ts"
import { bytesOf, codeOf, collect, filesIn, put, temporaryDirectory, untilFiles } from "../../support/storage/store.ts"

const keep = 60 * 60_000
const options = { prefix: "", delimiter: "", after: "", limit: 1000 }

/** A store with a history, and a bucket `b`, at the time 1000. */
const begun = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  yield* TestClock.setTime(1000)
  const store = yield* makeLocalStore(directory, undefined, { enabled: true, keep })
  yield* store.createBucket("b")
  return { directory, store }
})

/** Waits until the history has no bytes. The index works in a thread of its own, in real time. */
const forgotten = Effect.fnUntraced(function* (store: LocalStore) {
  while ((yield* store.history.state).bytes > 0) yield* TestClock.adjust("1 minute")
})

const keysAt = (store: LocalStore, at: number) =>
  Effect.map(store.history.list("b", options, at), ({ objects }) => objects.map(({ etag, key }) => `${key} ${etag}`))

const textAt = (store: LocalStore, key: string, at: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { info, open } = yield* store.history.get("b", key, at)
      return { info, bytes: yield* collect(open(0, info.size - 1)) }
    })
  )

describe("history of a store", () => {
  it.effect("shows the objects of a moment with their bytes, metadata and tags, versioned or not", () =>
    Effect.gen(function* () {
      for (const versioning of [undefined, "Enabled", "Suspended"] as const) {
        const { store } = yield* begun
        if (versioning !== undefined) yield* store.setDocument("b", "versioning", versioning)
        const [small, large] = [bytesOf("small", 100), bytesOf("large", 100_000)]
        yield* TestClock.setTime(2000)
        const first = yield* put(store, "k", small, { tags: [["a", "1"]] })
        yield* TestClock.setTime(3000)
        yield* store.setTags("b", "k", [["a", "2"]])
        yield* TestClock.setTime(4000)
        const second = yield* put(store, "k", large)
        yield* put(store, "other", small)
        yield* TestClock.setTime(5000)
        yield* store.remove("b", [{ key: "k" }])
        yield* TestClock.setTime(6000)
        assert.deepStrictEqual(yield* keysAt(store, 1999), [])
        assert.deepStrictEqual(yield* keysAt(store, 2000), [`k ${first.etag}`])
        assert.deepStrictEqual(yield* keysAt(store, 4500), [`k ${second.etag}`, `other ${first.etag}`])
        assert.deepStrictEqual(yield* keysAt(store, 5000), [`other ${first.etag}`])
        assert.deepStrictEqual((yield* textAt(store, "k", 2999)).info.tags, [["a", "1"]])
        assert.deepStrictEqual((yield* textAt(store, "k", 3999)).info.tags, [["a", "2"]])
        assert.isTrue((yield* textAt(store, "k", 3999)).bytes.equals(small))
        assert.isTrue((yield* textAt(store, "k", 4999)).bytes.equals(large))
        assert.strictEqual(yield* codeOf(textAt(store, "k", 5000)), "NoSuchKey")
        assert.strictEqual(yield* codeOf(textAt(store, "k", 999)), "ObjectsNotKept")
      }
    })
  )

  it.effect("follows the object that a removed version or delete marker uncovers", () =>
    Effect.gen(function* () {
      const { store } = yield* begun
      yield* store.setDocument("b", "versioning", "Enabled")
      const first = yield* put(store, "k", bytesOf("1", 10))
      yield* TestClock.setTime(2000)
      const second = yield* put(store, "k", bytesOf("2", 10))
      yield* TestClock.setTime(3000)
      const [{ version = "" } = {}] = yield* store.remove("b", [{ key: "k" }])
      yield* TestClock.setTime(4000)
      yield* store.remove("b", [{ key: "k", version }])
      yield* TestClock.setTime(5000)
      yield* store.remove("b", [{ key: "k", version: second.versionId }])
      const etags = yield* Effect.forEach([1500, 2500, 3500, 4500, 5500], (at) => keysAt(store, at))
      assert.deepStrictEqual(etags, [
        [`k ${first.etag}`],
        [`k ${second.etag}`],
        [],
        [`k ${second.etag}`],
        [`k ${first.etag}`]
      ])
    })
  )

  it.effect("lists a moment in short pages if most objects are newer", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* TestClock.setTime(1000)
      const start = makeLocalStore(directory, undefined, { enabled: true, keep })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* start
          yield* store.createBucket("b")
          for (const key of ["a/old", "z"]) yield* put(store, key, bytesOf(key, 10))
        })
      )
      const database = new DatabaseSync(join(directory, "index.db"))
      database.exec(`
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20499)
        INSERT INTO objects (bucket, key, size, etag, modified, meta, segments)
        SELECT 1, CAST('a/' || i AS BLOB), 1, 'e', 2000, '{"contentType":"a/b","headers":{},"user":{}}', '[]' FROM n`)
      database.close()
      const store = yield* start
      const first = yield* store.history.list("b", options, 1500)
      assert.deepStrictEqual(first.objects, [])
      assert.match(first.next ?? "", /^a\/\d+$/)
      const second = yield* store.history.list("b", { ...options, after: first.next ?? "" }, 1500)
      assert.deepStrictEqual(
        second.objects.map(({ key }) => key),
        ["a/old", "z"]
      )
      const grouped = yield* store.history.list("b", { ...options, delimiter: "/", after: first.next ?? "" }, 1500)
      assert.deepStrictEqual([grouped.prefixes, grouped.next], [["a/"], undefined])
    })
  )

  it.effect("keeps deleted buckets and bytes for its time, then drops and no longer counts them", () =>
    Effect.gen(function* () {
      const { directory, store } = yield* begun
      yield* put(store, "file", bytesOf("f", 100_000))
      yield* put(store, "small", bytesOf("s", 50))
      assert.strictEqual((yield* store.history.state).bytes, 0)
      yield* TestClock.setTime(2000)
      yield* store.remove("b", [{ key: "file" }, { key: "small" }])
      yield* store.deleteBucket("b")
      yield* store.createBucket("b")
      assert.strictEqual((yield* store.history.state).bytes, 100_050)
      assert.lengthOf(yield* filesIn(directory), 1)
      assert.lengthOf(yield* keysAt(store, 1500), 2)
      assert.deepStrictEqual(yield* keysAt(store, 2500), [])
      assert.deepStrictEqual((yield* store.list("b", options)).objects, [])
      yield* TestClock.setTime(2000 + keep)
      yield* forgotten(store)
      yield* TestClock.withLive(untilFiles(directory, 0))
      const state = yield* store.history.state
      assert.strictEqual(state.bytes, 0)
      assert.isAbove(state.earliest ?? 0, 2000)
      assert.strictEqual(yield* codeOf(keysAt(store, 1500)), "ObjectsNotKept")
    })
  )

  it.effect("keeps what it is asked to keep for longer, also over a restart", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* TestClock.setTime(1000)
      const start = makeLocalStore(directory, undefined, { enabled: true, keep })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* start
          yield* store.createBucket("b")
          yield* put(store, "early", bytesOf("e", 100_000))
          yield* put(store, "late", bytesOf("l", 50))
          yield* TestClock.setTime(2000)
          yield* store.remove("b", [{ key: "early" }])
          yield* TestClock.setTime(3000)
          yield* store.remove("b", [{ key: "late" }])
          yield* store.history.keepFrom(2500)
          yield* TestClock.adjust(2 * keep)
          while ((yield* store.history.state).bytes > 50) yield* TestClock.adjust("1 minute")
        })
      )
      const store = yield* start
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* store.history.state).earliest, 2500)
      assert.lengthOf(yield* keysAt(store, 2500), 1)
      assert.isTrue((yield* textAt(store, "late", 2999)).bytes.equals(bytesOf("l", 50)))
      assert.strictEqual(yield* codeOf(keysAt(store, 2499)), "ObjectsNotKept")
      yield* store.history.keepFrom(undefined)
      yield* forgotten(store)
      assert.strictEqual(yield* codeOf(keysAt(store, 2500)), "ObjectsNotKept")
    })
  )

  it.effect("keeps nothing unless it is enabled", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const store = yield* makeLocalStore(directory, undefined)
      yield* store.createBucket("b")
      yield* put(store, "k", bytesOf("k", 100_000))
      yield* store.remove("b", [{ key: "k" }])
      yield* TestClock.withLive(untilFiles(directory, 0))
      assert.deepStrictEqual(yield* store.history.state, { earliest: undefined, bytes: 0 })
      assert.deepStrictEqual((yield* store.journal.changes(0, 10)).changes, [])
      assert.strictEqual(yield* codeOf(keysAt(store, 1)), "ObjectsNotKept")
    })
  )
})

describe("journal of a store", () => {
  /** The rows of an index after all changes. */
  const applied = (changes: ReadonlyArray<{ readonly bucket: string; readonly change: object }>) => {
    const rows = new Map<string, object>()
    for (const { bucket, change } of changes) {
      const { key = "", kind, seq = "" } = change as { kind: string; key?: string; seq?: number }
      const id = [kind.replace(" removed", ""), bucket, key, seq].join(" ")
      if (kind.endsWith("removed")) rows.delete(id)
      else rows.set(id, JSON.parse(JSON.stringify(change)) as object)
    }
    return new Map([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  const everything = Effect.fnUntraced(function* (store: LocalStore, limit: number) {
    const found: Array<{ readonly bucket: string; readonly change: object }> = []
    let cursor: string | undefined
    do {
      const page: { rows: typeof found; next: string | undefined } = yield* Effect.map(
        store.journal.rows(cursor, limit),
        ({ next, rows }) => ({ rows: [...rows], next })
      )
      found.push(...page.rows)
      cursor = page.next
    } while (cursor !== undefined)
    return found
  })

  it.effect("leads from any earlier state of the index to the present one", () =>
    Effect.gen(function* () {
      const { store } = yield* begun
      yield* put(store, "early", bytesOf("e", 20))
      const base = yield* everything(store, 1)
      const position = yield* store.journal.position
      yield* store.setDocument("b", "versioning", "Enabled")
      yield* store.setDocument("b", "cors", "<cors/>")
      for (const n of [1, 2, 3]) yield* put(store, n === 3 ? "k2" : "k", bytesOf(String(n), n * 20_000))
      yield* store.remove("b", [{ key: "early" }, { key: "k2" }])
      yield* store.remove("b", [{ key: "early", version: "null" }])
      yield* store.setTags("b", "k", [["t", "1"]])
      yield* store.createBucket("gone")
      yield* store.deleteBucket("gone")
      const { changes, lost } = yield* store.journal.changes(position, 1000)
      assert.isFalse(lost)
      assert.deepStrictEqual(
        changes.map(({ at }) => at),
        changes.map(({ at }) => at).toSorted((a, b) => a - b)
      )
      assert.deepStrictEqual(applied([...base, ...changes]), applied(yield* everything(store, 2)))
      const object = changes.map(({ change }) => change).find((change) => change.kind === "object")
      const [blob, size] = object?.kind === "object" ? (object.segments[0] ?? ["", 0]) : ["", 0]
      const bytes = yield* Effect.scoped(Effect.flatMap(store.journal.blob(blob, size), collect))
      assert.isTrue(bytes.equals(bytesOf("1", 20_000)))
    })
  )

  it.effect("keeps the blobs of unconfirmed changes, and reports changes that it has dropped", () =>
    Effect.gen(function* () {
      const { store } = yield* begun
      yield* put(store, "k", bytesOf("k", 30))
      yield* store.remove("b", [{ key: "k" }])
      const { changes } = yield* store.journal.changes(0, 2)
      const last = changes.at(-1)
      assert.strictEqual(last?.change.kind, "object")
      const [blob, size] = last?.change.kind === "object" ? (last.change.segments[0] ?? ["", 0]) : ["", 0]
      const read = Effect.scoped(Effect.flatMap(store.journal.blob(blob, size), collect))
      assert.isTrue((yield* read).equals(bytesOf("k", 30)))
      yield* store.journal.confirm(last?.sequence ?? 0)
      assert.isTrue((yield* store.journal.changes(0, 10)).lost)
      const rest = yield* store.journal.changes(last?.sequence ?? 0, 10)
      assert.deepStrictEqual([rest.lost, rest.changes.map(({ change }) => change.kind)], [false, ["object removed"]])
      yield* TestClock.adjust(keep)
      yield* forgotten(store)
      assert.isTrue((yield* store.journal.changes(last?.sequence ?? 0, 10)).lost)
    })
  )

  it.effect("is not whole across a start without a history", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const start = (enabled: boolean) => makeLocalStore(directory, undefined, { enabled, keep })
      const position = yield* Effect.scoped(
        Effect.flatMap(start(true), (store) => Effect.andThen(store.createBucket("b"), store.journal.position))
      )
      assert.isFalse(
        (yield* Effect.scoped(Effect.flatMap(start(true), (store) => store.journal.changes(position, 9)))).lost
      )
      yield* Effect.scoped(Effect.flatMap(start(false), (store) => put(store, "k", bytesOf("k", 10))))
      const store = yield* start(true)
      assert.isTrue((yield* store.journal.changes(position, 9)).lost)
      assert.isFalse((yield* store.journal.changes(yield* store.journal.position, 9)).lost)
    })
  )
})
