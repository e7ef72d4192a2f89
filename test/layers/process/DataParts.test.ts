import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { makeLocalStore } from "../../../src/layers/storage/endpoint/store/LocalStore.ts"
import { temporaryDirectory } from "../../support/storage/store.ts"

const withDir = <A, E>(path: string, use: (dir: DataDir["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(DataDir, use).pipe(Effect.provide(DataDir.at(path)))

const openStore = (path: string) =>
  withDir(path, (dir) => Effect.scoped(dir.part("objects", makeLocalStore(join(path, "objects"), undefined))))

describe("DataParts", () => {
  it.live("does not make a new index of objects in place of one that is missing", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      yield* openStore(path)
      yield* openStore(path)
      yield* Effect.promise(() => rm(join(path, "objects"), { recursive: true }))
      const missing = yield* Effect.flip(openStore(path))
      assert.include(missing.message, "index.db is missing, but")
      yield* Effect.promise(() => rm(join(path, "installation.json")))
      yield* openStore(path)
    })
  )

  it.live("never deletes the bytes of objects because their index is missing", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      yield* Effect.promise(() => mkdir(join(path, "objects", "blobs", "00"), { recursive: true }))
      const missing = yield* Effect.flip(openStore(path))
      assert.match(missing.message, /To start with an empty store, move .*objects and .*installation\.json away/)
    })
  )

  it.live("records parts that are created at the same time, under one id", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      yield* withDir(path, (dir) =>
        Effect.all(
          [
            dir.part("postgres", Effect.void),
            dir.secret("jwt_secret", () => "generated"),
            dir.part("objects", Effect.void)
          ],
          { concurrency: "unbounded" }
        )
      )
      const read = (name: string) =>
        Effect.map(
          Effect.promise(() => readFile(join(path, name), "utf8")),
          (text) => JSON.parse(text) as Record<string, unknown>
        )
      const record = yield* read("installation.json")
      assert.sameMembers([...(record["parts"] as ReadonlyArray<string>)], ["postgres", "objects"])
      assert.strictEqual((yield* read("secrets.json"))["installation"], record["id"])
    })
  )

  it.live("generates no secrets for data whose file of secrets is missing", () =>
    Effect.gen(function* () {
      const path = yield* temporaryDirectory
      yield* openStore(path)
      const secret = withDir(path, (dir) => dir.secret("s3_secret_key", () => "generated"))
      assert.include((yield* Effect.flip(secret)).message, "secrets.json is missing, but")
      yield* Effect.promise(() => writeFile(join(path, "secrets.json"), "{}"))
      yield* secret
    })
  )
})
