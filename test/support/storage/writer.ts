import { Effect } from "effect"
import { makeLocalStore } from "../../../src/layers/storage/endpoint/store/LocalStore.ts"
import { bytesOf, meta, putPart, put } from "./store.ts"

// Puts versions of a few keys until it is killed, and prints those that were confirmed: `<key> <version>`.

// With the argument `versioned`, the bucket keeps all of them, and the store a history.

const [, , directory = "", first = "1", mode] = process.argv
const enabled = mode === "versioned"

/** The size of a version: some keys are stored in the index, some in files, some in parts. */
const sizeOf = (key: string, version: number) => (key.startsWith("small") ? 200 : 20_000) + version

const writer = Effect.gen(function* () {
  const store = yield* makeLocalStore(directory, undefined, { enabled, keep: 3_600_000 })
  yield* Effect.ignore(store.createBucket("b"))
  if (enabled) yield* store.setDocument("b", "versioning", "Enabled")
  const run = Effect.fnUntraced(function* (key: string) {
    for (let version = Number(first); ; version++) {
      const bytes = bytesOf(`${key} ${version}`, sizeOf(key, version))
      const user = { version: String(version) }
      if (key.startsWith("parts")) {
        const id = yield* store.createUpload("b", key, { ...meta, user })
        yield* store.completeUpload("b", key, id, [yield* putPart(store, key, id, 1, bytes)])
      } else yield* put(store, key, bytes, { user })
      process.stdout.write(`${key} ${version}\n`)
    }
  })
  yield* Effect.forEach(["small 1", "small 2", "file 1", "file 2", "parts 1"], run, { concurrency: "unbounded" })
})

Effect.runFork(Effect.scoped(writer))
