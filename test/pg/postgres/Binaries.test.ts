import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmod, cp, readFile, readlink, rm } from "node:fs/promises"
import { join } from "node:path"
import { postgresBinaries, postgresPackage } from "../../../src/layers/postgres/embedded/Binaries.ts"
import { postgresUser } from "../../../src/layers/postgres/embedded/User.ts"
import { makeDataDir } from "../../support/dataDir.ts"

const isRoot = process.geteuid?.() === 0
const directory = Effect.acquireRelease(Effect.promise(makeDataDir), (path) =>
  Effect.promise(() => rm(path, { recursive: true, force: true }))
)

describe("PostgreSQL's programs", () => {
  const copied = Effect.gen(function* () {
    const root = yield* postgresPackage
    const path = yield* directory
    const library = join(path, "package", "native", "lib")
    yield* Effect.promise(() => cp(root, join(path, "package"), { recursive: true, verbatimSymlinks: true }))
    yield* Effect.addFinalizer(() => Effect.promise(() => chmod(library, 0o755))) // so that it can be removed
    const links: ReadonlyArray<{ readonly target: string }> = JSON.parse(
      yield* Effect.promise(() => readFile(join(root, "native", "pg-symlinks.json"), "utf8"))
    )
    for (const { target } of links) yield* Effect.promise(() => rm(join(path, "package", target), { force: true }))
    return { path, root: join(path, "package"), library, links, user: yield* postgresUser(path, undefined) }
  })

  it.live("get the links that the package's install script would have created", () =>
    Effect.gen(function* () {
      const { links, path, root, user } = yield* copied
      assert.isAbove(links.length, 0)
      const binaries = yield* postgresBinaries(root, join(path, "copies"), user)
      assert.strictEqual(binaries.postgres, join(root, "native", "bin", "postgres"))
      for (const { target } of links) {
        assert.notInclude(yield* Effect.promise(() => readlink(join(root, target))), "/", "relative")
      }
    })
  )

  it.live("run from a copy if they cannot run in place", () =>
    Effect.gen(function* () {
      const { library, path, root, user } = yield* copied
      // As root, PostgreSQL's user cannot enter the directory; as another user, it is not writable.
      yield* Effect.promise(() => chmod(isRoot ? root : library, isRoot ? 0o700 : 0o500))
      const binaries = yield* postgresBinaries(root, join(path, "copies"), user)
      assert.match(binaries.postgres, /\/copies\/postgresql-18[^/]*\/native\/bin\/postgres$/)
    })
  )
})
