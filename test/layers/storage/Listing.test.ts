import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type LocalStore } from "../../../src/layers/storage/endpoint/store/Model.ts"
import { makeLocalStore } from "../../../src/layers/storage/endpoint/store/LocalStore.ts"
import { bytesOf, meta, newStore, put, temporaryDirectory } from "../../support/storage/store.ts"

const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The expected listing, computed from a sorted list of all keys. */
const model = (keys: ReadonlyArray<string>, prefix: string, delimiter: string) => {
  const rows: Array<string> = []
  for (const key of new Set(keys.filter((key) => key.startsWith(prefix)).toSorted(compare))) {
    const at = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length)
    const row = at < 0 ? `key ${key}` : `prefix ${key.slice(0, at + delimiter.length)}`
    if (!rows.includes(row)) rows.push(row)
  }
  return rows
}

interface Rows {
  readonly keys: ReadonlyArray<string>
  readonly prefixes: ReadonlyArray<string>
}

const inOrder = ({ keys, prefixes }: Rows) =>
  [...keys.map((key) => ["key", key] as const), ...prefixes.map((prefix) => ["prefix", prefix] as const)]
    .toSorted(([, a], [, b]) => compare(a, b))
    .map(([kind, text]) => `${kind} ${text}`)

/** All pages of a listing, concatenated. */
const listAll = Effect.fnUntraced(function* (
  store: LocalStore,
  bucket: string,
  prefix: string,
  delimiter: string,
  limit: number
) {
  const rows: Array<string> = []
  for (let after: string | undefined = ""; after !== undefined;) {
    const page: Effect.Success<ReturnType<LocalStore["list"]>> = yield* store.list(bucket, {
      prefix,
      delimiter,
      after,
      limit
    })
    const keys = page.objects.map(({ key }) => key)
    assert.isAtMost(keys.length + page.prefixes.length, limit)
    if (page.next !== undefined) assert.strictEqual(keys.length + page.prefixes.length, limit)
    rows.push(...inOrder({ keys, prefixes: page.prefixes }))
    after = page.next
  }
  return rows
})

const uploadsAll = Effect.fnUntraced(function* (
  store: LocalStore,
  bucket: string,
  prefix: string,
  delimiter: string,
  limit: number
) {
  const rows: Array<string> = []
  const ids: Array<string> = []
  let marker: { keyMarker: string; uploadIdMarker: string } | undefined = { keyMarker: "", uploadIdMarker: "" }
  while (marker !== undefined) {
    const page: Effect.Success<ReturnType<LocalStore["uploads"]>> = yield* store.uploads(bucket, {
      prefix,
      delimiter,
      ...marker,
      limit
    })
    rows.push(...inOrder({ keys: page.uploads.map(({ key }) => key), prefixes: page.prefixes }))
    ids.push(...page.uploads.map(({ uploadId }) => uploadId))
    assert.strictEqual(page.more, page.next !== undefined)
    marker = page.next
  }
  assert.lengthOf(new Set(ids), ids.length)
  return rows
})

const letters = fc.constantFrom("a", "b", "/", "-", "\0", "\u007f", "é", "ÿ", "\uffff", "😀", "\u{10ffff}")
const word = (maxLength: number) => fc.array(letters, { maxLength }).map((all) => all.join(""))
const cases = fc.record({
  keys: fc.array(
    word(6).filter((key) => key !== ""),
    { maxLength: 25 }
  ),
  prefix: word(3),
  delimiter: fc.oneof(fc.constantFrom("", "/", "/", "-"), word(2)),
  limit: fc.integer({ min: 1, max: 8 })
})

describe("LocalStore listings", { timeout: 30_000 }, () => {
  it.live(
    "match those computed from a sorted list of all keys",
    () =>
      Effect.gen(function* () {
        const { store } = yield* newStore
        let count = 0
        const run = Effect.runPromiseWith(yield* Effect.context())
        const check = Effect.fnUntraced(function* ({
          keys,
          prefix,
          delimiter,
          limit
        }: typeof cases extends fc.Arbitrary<infer A> ? A : never) {
          const bucket = `bucket${count++}`
          yield* store.createBucket(bucket)
          const add = (key: string) =>
            Effect.scoped(
              Effect.gen(function* () {
                const blob = yield* store.write(one())
                yield* store.put(bucket, key, blob, meta)
                yield* store.createUpload(bucket, key, meta)
              })
            )
          yield* Effect.forEach(keys, add, { concurrency: "unbounded", discard: true })
          assert.deepStrictEqual(
            yield* listAll(store, bucket, prefix, delimiter, limit),
            model(keys, prefix, delimiter)
          )
          const uploads = yield* uploadsAll(store, bucket, prefix, delimiter, limit)
          assert.deepStrictEqual([...new Set(uploads)], model(keys, prefix, delimiter))
          const direct = keys.filter((key) => uploads.includes(`key ${key}`))
          assert.lengthOf(
            uploads.filter((row) => row.startsWith("key ")),
            direct.length
          )
          for (const key of keys) {
            const { objects } = yield* store.list(bucket, { prefix: "", delimiter: "", after: key, limit: 100 })
            const later = [...new Set(keys)].filter((other) => compare(other, key) > 0).toSorted(compare)
            assert.deepStrictEqual(
              objects.map((object) => object.key),
              later
            )
          }
        })
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(cases, (given) => run(check(given))),
            { numRuns: 150 }
          )
        )
      }),
    30_000
  )

  it.live("start after a key inside a common prefix, and are empty with limit 0", () =>
    Effect.gen(function* () {
      const { store } = yield* newStore
      for (const key of ["a/1", "a/2", "b", "c/1"]) yield* put(store, key, bytesOf(key, 10))
      const list = (after: string, limit = 10) => store.list("b", { prefix: "", delimiter: "/", after, limit })
      assert.deepStrictEqual((yield* list("a/1")).prefixes, ["a/", "c/"])
      assert.deepStrictEqual((yield* list("a/2")).prefixes, ["c/"])
      assert.deepStrictEqual((yield* list("a/")).prefixes, ["c/"])
      assert.deepStrictEqual(yield* list("", 0), { objects: [], prefixes: [], next: undefined })
      assert.strictEqual((yield* list("", 3)).next, undefined)
      assert.strictEqual((yield* list("", 2)).next, "b")
      assert.deepStrictEqual((yield* list("", 10)).objects[0]?.user, meta.user)
    })
  )

  it.live("are equally fast in a large bucket", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(
        Effect.flatMap(makeLocalStore(directory, undefined), (store) =>
          Effect.andThen(store.createBucket("b"), store.createBucket("small"))
        )
      )
      const database = new DatabaseSync(join(directory, "index.db"))
      const fill = (bucket: number, objects: number) =>
        database.exec(`
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${objects - 1})
        INSERT INTO objects (bucket, key, size, etag, modified, meta, segments) SELECT ${bucket}, CAST(printf('%03d/%05d', i / 1000, i) AS BLOB), 1, 'e', 0,
          '{"contentType":"text/plain","headers":{},"user":{"a":"b"}}', '[["#0",1,"e"]]' FROM n`)
      fill(1, 100_000)
      fill(2, 1_000)
      database.close()
      const store = yield* makeLocalStore(directory, undefined)
      const fastest = Effect.fnUntraced(function* (bucket: string, prefix: string, delimiter: string, after: string) {
        let best = Infinity
        for (let n = 0; n < 5; n++) {
          const begin = performance.now()
          const page = yield* store.list(bucket, { prefix, delimiter, after, limit: 1000 })
          best = Math.min(best, performance.now() - begin)
          assert.strictEqual(page.objects.length + page.prefixes.length, delimiter === "" ? 1000 : 100)
        }
        return best
      })
      // A listing that reads the whole bucket takes a hundred times as long.
      const small = yield* fastest("small", "", "", "")
      assert.isBelow(yield* fastest("b", "", "", ""), small * 10)
      assert.isBelow(yield* fastest("b", "", "", "098/98999"), small * 10)
      assert.isBelow(yield* fastest("b", "050/", "", ""), small * 10)
      assert.isBelow(yield* fastest("b", "", "/", ""), small * 10)
    })
  )
})

async function* one() {
  yield new Uint8Array([1])
}
