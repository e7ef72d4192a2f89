import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { readEncryptionKey } from "../../../src/domain/connections/SealedText.ts"
import { newRecoveryKey } from "../../../src/domain/recovery/RecoveryKey.ts"
import { openArchive, openOrCreateArchive, recoveryEncryptionKey } from "../../../src/layers/recovery/store/Archive.ts"
import { directoryStore } from "../../../src/layers/recovery/store/Directory.ts"

let parent: string
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "svc-archive-"))
})
afterAll(() => rm(parent, { recursive: true, force: true }))

const run = Effect.runPromise
const key = () => readEncryptionKey(randomBytes(32).toString("hex"))!
const cluster = { system_identifier: "7", segment_size: 16_777_216, major: 18, database: "app", user: "owner" }
const now = "2026-11-27T12:00:00.000Z"
const reasonOf = async (effect: Effect.Effect<unknown, { readonly reason: string }>) =>
  (await run(Effect.flip(effect))).reason

describe("an archive", () => {
  it("has one recovery key for all replicas, the last one made", async () => {
    const [store, installation] = [directoryStore(join(parent, "replicas")), key()]
    const open = () => run(openOrCreateArchive(store, installation, [], cluster, undefined, now))
    const [one, other] = [await open(), await open()]
    const [first, second] = [newRecoveryKey(), newRecoveryKey()]
    await run(other.setRecoveryKey(first))
    await run(one.setRecoveryKey(second))
    assert.isFalse(await run(other.confirmRecoveryKey(first, now)))
    assert.isTrue(await run(other.confirmRecoveryKey(second, now)))
    assert.strictEqual((await run(one.current)).recovery_key_kept_at, now)
    await run(one.put("log/x", Buffer.from("log")))
    const recovered = await run(openArchive(store, { kind: "recovery", key: recoveryEncryptionKey(second) }))
    assert.strictEqual(String(await run(recovered!.get("log/x"))), "log")
    const wrong = openArchive(store, { kind: "recovery", key: recoveryEncryptionKey(first) })
    assert.include(await reasonOf(wrong), "does not open with this recovery key")
  })

  it("is sealed for the current encryption key when that has changed", async () => {
    const [store, before, after] = [directoryStore(join(parent, "rotated")), key(), key()]
    const open = (current: typeof before, old: ReadonlyArray<typeof before>) =>
      openOrCreateArchive(store, current, old, cluster, undefined, now)
    await run(open(before, []))
    assert.include(await reasonOf(open(after, [])), "belongs to another installation")
    await run(open(after, [before]))
    await run(open(after, []))
    assert.include(await reasonOf(open(before, [])), "belongs to another installation")
  })

  it("is refused for another cluster, and begun again only without a slot", async () => {
    const [store, installation] = [directoryStore(join(parent, "clusters")), key()]
    const open = (given: typeof cluster, slot?: string) =>
      openOrCreateArchive(store, installation, [], given, slot, now)
    assert.include(await reasonOf(open(cluster, "svc_archive_5")), "pg_drop_replication_slot('svc_archive_5')")
    await run(open(cluster))
    await run(open(cluster, "svc_archive_5"))
    assert.include(await reasonOf(open({ ...cluster, system_identifier: "8" })), "is that of another cluster")
  })
})
