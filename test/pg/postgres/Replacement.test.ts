import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { finishReplacement, replaceCluster } from "../../../src/layers/postgres/embedded/Replacement.ts"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"

/** A data directory with the old cluster and the one that takes its place. */
const prepared = Effect.gen(function* () {
  const path = yield* Effect.acquireRelease(Effect.promise(makeDataDir), (path) =>
    Effect.promise(() => removeDataDir(path))
  )
  const replacement = {
    cluster: join(path, "postgres"),
    kept: join(path, "postgres.17"),
    made: join(path, "made"),
    archive: { place: join(path, "archive"), kept: join(path, "archive.17") }
  }
  yield* Effect.promise(async () => {
    for (const name of ["postgres", "made", "archive"]) {
      await mkdir(join(path, name))
      await writeFile(join(path, name, "which"), name)
    }
  })
  const dir = yield* Effect.provide(Effect.service(DataDir), DataDir.at(path))
  return { dir, path, replacement }
})

const content = (path: string) =>
  Effect.promise(async () => {
    const names = (await readdir(path)).toSorted()
    return Promise.all(names.map(async (name) => [name, await readFile(join(path, name, "which"), "utf8")]))
  })

const replaced = [
  ["archive.17", "archive"],
  ["postgres", "made"],
  ["postgres.17", "postgres"]
]

describe("a cluster that takes the place of another", () => {
  it.live("replaces it, and keeps the old one with its archive", () =>
    Effect.gen(function* () {
      const { dir, path, replacement } = yield* prepared
      yield* replaceCluster(dir, replacement)
      assert.deepStrictEqual(yield* content(path), replaced)
    })
  )

  it.live("is finished after a crash at any moment", () =>
    Effect.gen(function* () {
      const moves = [
        ["postgres", "postgres.17"],
        ["made", "postgres"],
        ["archive", "archive.17"]
      ] as const
      for (let done = 0; done <= moves.length; done++) {
        const { dir, path, replacement } = yield* prepared
        yield* Effect.promise(async () => {
          await writeFile(join(path, "upgrade.json"), JSON.stringify(replacement))
          for (const [from, to] of moves.slice(0, done)) await rename(join(path, from), join(path, to))
        })
        yield* finishReplacement(dir)
        assert.deepStrictEqual(yield* content(path), replaced, `after ${done} renames`)
        yield* finishReplacement(dir)
        assert.deepStrictEqual(yield* content(path), replaced)
      }
    })
  )

  it.live("changes nothing if the old one can't be moved", () =>
    Effect.gen(function* () {
      const { dir, path, replacement } = yield* prepared
      const before = yield* content(path)
      const error = yield* Effect.flip(replaceCluster(dir, { ...replacement, kept: join(path, "none/postgres.17") }))
      assert.match(error.message, /^Failed to put .*made in the place of .*postgres: /)
      assert.deepStrictEqual(yield* content(path), before)
    })
  )
})
