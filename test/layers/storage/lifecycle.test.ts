import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { setTimeout as sleep } from "node:timers/promises"
import { applyLifecycles, expireDue } from "../../../src/layers/storage/endpoint/lifecycle/Expiry.ts"
import { parseLifecycle, prefixesOf } from "../../../src/layers/storage/endpoint/lifecycle/Rules.ts"
import { bytesOf, codeOf, meta, newStore, put, putPart } from "../../support/storage/store.ts"

const lifecycle = (...rules: ReadonlyArray<string>) =>
  `<LifecycleConfiguration>${rules.map((rule) => `<Rule><Status>Enabled</Status>${rule}</Rule>`).join("")}</LifecycleConfiguration>`
const filter = (xml: string) => `<Filter>${xml}</Filter>`
const days = (count: number) => `<Expiration><Days>${count}</Days></Expiration>`

const begun = Effect.gen(function* () {
  const { store } = yield* newStore
  const keys = Effect.map(store.list("b", { prefix: "", delimiter: "", after: "", limit: 1000 }), ({ objects }) =>
    objects.map(({ key }) => key)
  )
  const uploads = Effect.map(
    store.uploads("b", { prefix: "", delimiter: "", keyMarker: "", uploadIdMarker: "", limit: 1000 }),
    (page) => page.uploads.map(({ key }) => key)
  )
  const set = (...rules: ReadonlyArray<string>) => store.setDocument("b", "lifecycle", lifecycle(...rules))
  const write = (key: string, size = 1, tags: ReadonlyArray<readonly [string, string]> = []) =>
    put(store, key, bytesOf(key, size), { tags })
  return { store, keys, uploads, set, write }
})

it.effect("objects expire at the midnight after so many days, by prefix, tags and size", () =>
  Effect.gen(function* () {
    const { keys, set, store, write } = yield* begun
    yield* TestClock.setTime(Date.parse("2026-03-10T15:00:00Z"))
    const tag = ["keep", "no"] as const
    for (const key of ["logs/a", "logs/b", "other"]) yield* write(key)
    yield* write("tagged", 1, [tag, ["x", "y"]])
    yield* write("tagged too", 1, [["keep", "yes"]])
    yield* write("large", 2000)
    yield* set(
      filter("<Prefix>logs/</Prefix>") + days(2),
      filter("<Tag><Key>keep</Key><Value>no</Value></Tag>") + days(1),
      filter("<ObjectSizeGreaterThan>1999</ObjectSizeGreaterThan>") + days(1)
    )
    yield* TestClock.setTime(Date.parse("2026-03-11T23:59:59Z"))
    yield* expireDue(store)
    assert.lengthOf(yield* keys, 6)
    yield* TestClock.setTime(Date.parse("2026-03-12T00:00:00Z"))
    yield* expireDue(store)
    assert.deepStrictEqual(yield* keys, ["logs/a", "logs/b", "other", "tagged too"])
    yield* write("logs/b")
    yield* TestClock.setTime(Date.parse("2026-03-13T00:00:00Z"))
    yield* expireDue(store)
    assert.deepStrictEqual(yield* keys, ["logs/b", "other", "tagged too"])
  })
)

it.effect("objects expire at a date, in pages, and disabled rules do nothing", () =>
  Effect.gen(function* () {
    const { keys, set, store, write } = yield* begun
    yield* Effect.forEach(
      Array.from({ length: 1203 }, (_, n) => `a/${n}`),
      (key) => write(key),
      { concurrency: 64 }
    )
    yield* write("b")
    const date = "<Expiration><Date>1970-01-05T00:00:00.000Z</Date></Expiration>"
    yield* set(filter("<Prefix>a/</Prefix>") + date)
    const disabled = lifecycle(`${filter("")}${days(1)}`).replace("Enabled", "Disabled")
    yield* store.createBucket("c")
    yield* store.setDocument("c", "lifecycle", disabled)
    yield* TestClock.adjust("3 days")
    yield* expireDue(store)
    assert.lengthOf(yield* keys, 1000)
    yield* TestClock.adjust("1 day")
    yield* expireDue(store)
    assert.deepStrictEqual(yield* keys, ["b"])
  })
)

it.effect("uploads are aborted so many days after they were begun, and their parts are deleted", () =>
  Effect.gen(function* () {
    const { set, store, uploads } = yield* begun
    const id = yield* store.createUpload("b", "old/a", meta)
    yield* putPart(store, "old/a", id, 1, bytesOf("part", 10))
    yield* store.createUpload("b", "new", meta)
    yield* set(
      `<Prefix>old/</Prefix><AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>`
    )
    yield* TestClock.adjust("23 hours")
    yield* expireDue(store)
    assert.lengthOf(yield* uploads, 2)
    yield* TestClock.adjust("1 hour")
    yield* expireDue(store)
    assert.deepStrictEqual(yield* uploads, ["new"])
    assert.strictEqual(yield* codeOf(store.upload("b", "old/a", id)), "NoSuchUpload")
  })
)

it.effect("rules are applied every hour, in the background", () =>
  Effect.gen(function* () {
    const { keys, set, store, write } = yield* begun
    yield* write("k")
    yield* set(filter("") + days(1))
    yield* applyLifecycles(store)
    let hours = 0
    while ((yield* keys).length > 0 && hours < 200) {
      yield* TestClock.adjust("1 hour")
      // The index works in a thread of its own, in real time.
      yield* Effect.promise(() => sleep(5))
      hours++
    }
    assert.deepStrictEqual(yield* keys, [])
    assert.isAtLeast(hours, 24)
  })
)

it.effect("an object that was replaced after it was listed stays", () =>
  Effect.gen(function* () {
    const { keys, store, write } = yield* begun
    yield* write("k")
    const { objects } = yield* store.list("b", { prefix: "", delimiter: "", after: "", limit: 10 })
    yield* TestClock.adjust("1 second")
    yield* write("k")
    assert.strictEqual(yield* store.expire("b", objects), 0)
    assert.deepStrictEqual(yield* keys, ["k"])
  })
)

it("overlapping prefixes are listed once", () => {
  const prefixes = (...given: ReadonlyArray<string>) =>
    prefixesOf(
      parseLifecycle(lifecycle(...given.map((prefix) => `<Prefix>${prefix}</Prefix>${days(1)}`))).rules,
      "expiration"
    )
  assert.deepStrictEqual(prefixes("b/c", "a", "b/", "a/b", "b/d"), ["a", "b/"])
  assert.deepStrictEqual(prefixes("x", ""), [""])
})

it.effect("older versions expire after so many days but for the newest ones, and markers that are left alone", () =>
  Effect.gen(function* () {
    const { keys, set, store, write } = yield* begun
    yield* store.setDocument("b", "versioning", "Enabled")
    const all = Effect.map(
      store.versions("b", { prefix: "", delimiter: "", keyMarker: "", versionIdMarker: "", limit: 1000 }),
      ({ versions }) => versions.map(({ isMarker, key, size }) => `${key} ${isMarker ? "-" : size}`)
    )
    const noncurrent = (inner: string) =>
      `<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays>${inner}</NoncurrentVersionExpiration>`
    for (const size of [1, 2, 3, 4]) {
      yield* write("a", size)
      yield* write("z", size)
    }
    yield* store.remove("b", [{ key: "z" }])
    yield* set(
      filter("<Prefix>a</Prefix>") + noncurrent("<NewerNoncurrentVersions>2</NewerNoncurrentVersions>"),
      `${filter("<Prefix>z</Prefix>")}<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>`
    )
    yield* expireDue(store)
    assert.lengthOf(yield* all, 9)
    yield* TestClock.adjust("1 day")
    yield* expireDue(store)
    assert.deepStrictEqual(yield* all, ["a 4", "a 3", "a 2", "z -", "z 4", "z 3", "z 2", "z 1"])
    yield* set(
      `${filter("<Prefix>z</Prefix>")}<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>${noncurrent("")}`
    )
    yield* expireDue(store)
    assert.deepStrictEqual(yield* all, ["a 4", "a 3", "a 2"])
    // Expiration of the current object adds a delete marker.
    yield* set(filter("") + days(1))
    yield* expireDue(store)
    assert.deepStrictEqual(yield* all, ["a -", "a 4", "a 3", "a 2"])
    assert.deepStrictEqual(yield* keys, [])
  })
)

it.effect("the newest versions stay also when a page of the listing ends within their key", () =>
  Effect.gen(function* () {
    const { set, store, write } = yield* begun
    // The null version of k is the thousandth version of the bucket.
    const others = Array.from({ length: 995 }, (_, n) => `a/${n}`)
    yield* Effect.forEach([...others, "k", "z"], (key) => write(key), { concurrency: 64 })
    yield* store.setDocument("b", "versioning", "Enabled")
    for (const size of [2, 3, 4, 5]) yield* write("k", size)
    yield* set(
      `${filter("")}<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays><NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration>`
    )
    yield* TestClock.adjust("2 days")
    yield* expireDue(store)
    const options = { prefix: "k", delimiter: "", keyMarker: "", versionIdMarker: "", limit: 10 }
    assert.deepStrictEqual(
      (yield* store.versions("b", options)).versions.map(({ size }) => size),
      [5, 4, 3]
    )
  })
)

it.effect("delete markers match no rule with tags or sizes", () =>
  Effect.gen(function* () {
    const { set, store } = yield* begun
    yield* store.setDocument("b", "versioning", "Enabled")
    yield* store.remove("b", [{ key: "k" }])
    const left = Effect.map(
      store.versions("b", { prefix: "", delimiter: "", keyMarker: "", versionIdMarker: "", limit: 10 }),
      ({ versions }) => versions.length
    )
    yield* TestClock.adjust("2 days")
    yield* set(filter("<Tag><Key>a</Key><Value>b</Value></Tag>") + days(1))
    yield* expireDue(store)
    assert.strictEqual(yield* left, 1)
    yield* set(filter("") + days(1))
    yield* expireDue(store)
    assert.strictEqual(yield* left, 0)
  })
)
