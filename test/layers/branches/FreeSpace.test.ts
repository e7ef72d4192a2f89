import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { isLocal } from "../../../src/layers/branches/FreeSpace.ts"

describe("a server in a directory", () => {
  it.effect.each([
    {
      it: "is local when it became ready in the second after its process began",
      server: { port: "5432", started: 1001.2 }
    },
    { it: "is local in the same second", server: { port: "5432", started: 1000.9 } },
    { it: "is another one with another port", server: { port: "5433", started: 1000.9 }, local: false },
    { it: "is another one that started before", server: { port: "5432", started: 999.9 }, local: false },
    { it: "is another one that started long after", server: { port: "5432", started: 2000 }, local: false }
  ])("$it", ({ local = true, server }) =>
    Effect.gen(function* () {
      const directory = yield* Effect.promise(() => mkdtemp(join(tmpdir(), "svc-local-")))
      const lines = ["4711", directory, "1000", "5432", "", "127.0.0.1", "", "ready"]
      yield* Effect.promise(() => writeFile(join(directory, "postmaster.pid"), lines.join("\n")))
      assert.strictEqual(yield* isLocal(directory, server), local)
      assert.isFalse(yield* isLocal(join(directory, "missing"), server))
    })
  )
})
