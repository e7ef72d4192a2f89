import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { readEncryptionKey } from "../../../src/domain/connections/SealedText.ts"
import { openOrCreateArchive } from "../../../src/layers/recovery/store/Archive.ts"
import { directoryStore } from "../../../src/layers/recovery/store/Directory.ts"
import { holdWriter } from "../../../src/layers/recovery/store/Writer.ts"
import { temporaryDirectory } from "../../support/storage/store.ts"

const cluster = { system_identifier: "7", segment_size: 16_777_216, major: 18, database: "app", user: "owner" }
const key = readEncryptionKey(randomBytes(32).toString("hex"))!
const file = "log/writer"

const newArchive = Effect.gen(function* () {
  const store = directoryStore(join(yield* temporaryDirectory, "archive"))
  return yield* openOrCreateArchive(store, key, [], cluster, undefined, "2026-11-27T12:00:00.000Z")
})

/** Lets the file system answer while the clock is moved on in small steps. */
const pass = Effect.fnUntraced(function* (millis: number) {
  for (let at = 0; at < millis; at += 100) {
    yield* TestClock.adjust(100)
    yield* Effect.promise(() => new Promise((done) => setTimeout(done, 5)))
  }
})

describe("the writer of an archive", () => {
  it.effect("refuses the second one while the first one lives, which goes on", () =>
    Effect.gen(function* () {
      const archive = yield* newArchive
      const first = yield* holdWriter(archive, file)
      const losing = yield* Effect.forkChild(Effect.flip(first.lost))
      const second = yield* Effect.forkChild(Effect.scoped(Effect.flip(holdWriter(archive, file))))
      yield* pass(2 * archive.lookEvery + 2000)
      assert.include((yield* Fiber.join(second)).reason, "Another service writes to the archive")
      yield* pass(3 * archive.lookEvery)
      assert.isUndefined(losing.pollUnsafe())
    }).pipe(Effect.scoped)
  )

  it.effect("takes over from one that was killed, which notices it when it was only suspended", () =>
    Effect.gen(function* () {
      const archive = yield* newArchive
      // It does not look.
      const suspended = yield* holdWriter(archive, file)
      const second = yield* Effect.forkChild(holdWriter(archive, file))
      yield* pass(2 * archive.lookEvery + 2000)
      yield* Fiber.join(second)
      const noticed = yield* Effect.forkChild(Effect.flip(suspended.lost))
      yield* pass(2 * archive.lookEvery)
      assert.include((yield* Fiber.join(noticed)).reason, "Another service writes to the archive")
    }).pipe(Effect.scoped)
  )

  it.effect("does not wait after one that ended in good order", () =>
    Effect.gen(function* () {
      const archive = yield* newArchive
      const scope = yield* Scope.make()
      yield* Scope.provide(holdWriter(archive, file), scope)
      yield* Scope.close(scope, Exit.void)
      yield* holdWriter(archive, file)
    }).pipe(Effect.scoped)
  )
})
