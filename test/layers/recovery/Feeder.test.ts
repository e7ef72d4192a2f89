import { Effect, Fiber } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, it } from "vitest"
import { readEncryptionKey } from "../../../src/domain/connections/SealedText.ts"
import { pieceName, parsePiece } from "../../../src/domain/recovery/Log.ts"
import { type RecoveryWindow } from "../../../src/domain/recovery/Windows.ts"
import { feedLog } from "../../../src/layers/recovery/cluster/Feeder.ts"
import { openOrCreateArchive } from "../../../src/layers/recovery/store/Archive.ts"
import { directoryStore } from "../../../src/layers/recovery/store/Directory.ts"

let parent: string
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "svc-feeder-"))
})
afterAll(() => rm(parent, { recursive: true, force: true }))

const cluster = { system_identifier: "7", segment_size: 1_048_576, major: 18, database: "app", user: "owner" }

it("gives a server the log that there is, refuses what there is not, and lets go of one whose directory is gone", async () => {
  const installation = readEncryptionKey("ab".repeat(32))!
  const archive = await Effect.runPromise(
    openOrCreateArchive(directoryStore(join(parent, "archive")), installation, [], cluster, undefined, "2026-01-01")
  )
  const name = pieceName({ timeline: 1, start: 0n, end: 3n, until: 9 })
  await Effect.runPromise(archive.put(name, Buffer.from("log")))
  const log = [parsePiece(name)!]
  const window = { log, timeline: 1, from: 0, to: 9 } as unknown as RecoveryWindow
  const directory = join(parent, "feed")
  const { command, serve } = await Effect.runPromise(feedLog(archive, window, directory, undefined, () => undefined))
  const serving = Effect.runFork(serve)
  const asked = async (segment: string) => {
    const [code] = (await once(spawn(command, [segment, join(parent, segment)]), "exit")) as [number]
    return code
  }
  const [first, second] = ["000000010000000000000000", "000000010000000000000001"]
  assert.strictEqual(await asked(first), 0)
  assert.strictEqual((await readFile(join(parent, first), "latin1")).slice(0, 4), "log\0")
  assert.strictEqual(await asked(second), 1)
  await Effect.runPromise(Fiber.interrupt(serving))
  // As after the service was killed: no one answers.
  const waiting = asked("000000010000000000000002")
  await rm(directory, { recursive: true })
  assert.strictEqual(await waiting, 255)
})
