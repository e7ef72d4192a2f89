import { Effect, Exit } from "effect"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { archiveFile } from "../../../src/domain/recovery/Archive.ts"
import { directoryStore, sameDisk } from "../../../src/layers/recovery/store/Directory.ts"

let parent: string
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "svc-archive-"))
})
afterAll(() => rm(parent, { recursive: true, force: true }))

const bytes = (text: string) => Buffer.from(text)
const reasonOf = async (effect: Effect.Effect<unknown, { readonly reason: string }>) => {
  const error = await Effect.runPromise(Effect.flip(effect))
  return error.reason
}

describe("a directory of an archive", () => {
  it("has the objects that were put, and lists them by prefix", async () => {
    const store = directoryStore(join(parent, "one", "archive"))
    const run = Effect.runPromise
    assert.deepStrictEqual(await run(store.list("")), [])
    assert.isUndefined(await run(store.get("log/a")))
    await run(store.put(archiveFile, bytes("{}")))
    for (const name of ["log/2/b", "log/1/a", "base/x/y"]) await run(store.put(name, bytes(name)))
    await run(store.put("log/1/a", bytes("again")))
    assert.strictEqual(String(await run(store.get("log/1/a"))), "again")
    assert.deepStrictEqual(await run(store.list("")), [archiveFile, "base/x/y", "log/1/a", "log/2/b"])
    assert.deepStrictEqual(await run(store.list("log/")), ["log/1/a", "log/2/b"])
    assert.deepStrictEqual(await run(store.list("log/1/a")), ["log/1/a"])
    await writeFile(join(store.place, "log/1/c.partial"), "half")
    assert.deepStrictEqual(await run(store.list("log/1/")), ["log/1/a"])
    await run(store.remove(["base/x/y", "base/x/z"]))
    assert.isFalse(existsSync(join(store.place, "base/x")))
    await run(store.put("base/x/y", bytes("new")))
    assert.strictEqual((await stat(join(store.place, "base/x/y"))).mode & 0o777, 0o600)
    assert.strictEqual((await stat(store.place)).mode & 0o777, 0o700)
  })

  it("is not written to while its disk is not mounted", async () => {
    const place = join(parent, "two")
    const store = directoryStore(place)
    await Effect.runPromise(store.put(archiveFile, bytes("{}")))
    await Effect.runPromise(store.put("log/1/a", bytes("a")))
    await rename(place, `${place}.away`)
    for (const name of ["log/1/b", "log/2/a"]) {
      assert.include(await reasonOf(store.put(name, bytes("b"))), "Failed to write")
      assert.include(await reasonOf(store.put(name, bytes("b"))), "is its disk mounted?")
    }
    assert.isFalse(existsSync(place))
    await mkdir(place)
    assert.include(await reasonOf(store.put("log/1/b", bytes("b"))), "is its disk mounted?")
    assert.deepStrictEqual(await readdir(place), [])
    await rm(place, { recursive: true })
    await rename(`${place}.away`, place)
    assert.isTrue(Exit.isSuccess(await Effect.runPromiseExit(store.put("log/1/b", bytes("b")))))
    assert.deepStrictEqual(await Effect.runPromise(store.list("log/")), ["log/1/a", "log/1/b"])
  })

  it("says whether it is on the disk of the data, also before it is created", () => {
    assert.strictEqual(sameDisk(parent, join(parent, "not", "yet")), true)
    // A file system of its own on every Linux.
    assert.strictEqual(sameDisk(parent, "/proc/self"), false)
  })
})
