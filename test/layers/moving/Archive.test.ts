import { createHash } from "node:crypto"
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, it, vi } from "vitest"
import { type MovedObject, type MovingPosition } from "../../../src/domain/moving/Archive.ts"
import { type ArchiveKey, ArchiveRefused, newArchiveKey } from "../../../src/layers/moving/Key.ts"
import { partsOf } from "../../../src/layers/moving/Parts.ts"
import { archivePlace } from "../../../src/layers/moving/Place.ts"
import {
  PartChanged,
  type ArchiveSegment,
  segmentsOf,
  startPosition,
  type WrittenPart
} from "../../../src/layers/moving/Segments.ts"

vi.setConfig({ testTimeout: 240_000 })

const passphrase = "a passphrase for moving"
/** The lowest cost that an archive may have. */
const cheap = 2 ** 14
let key: ArchiveKey
let place: string
beforeAll(async () => {
  key = await newArchiveKey(passphrase, cheap)
  place = await mkdtemp(join(tmpdir(), "svc-archive-"))
})
afterAll(() => rm(place, { recursive: true, force: true }))

const about = {
  content_type: null,
  content_disposition: null,
  cache_control: null,
  content_encoding: null,
  content_language: null,
  expires: null,
  metadata: {},
  tags: {}
}
const object = (name: string, body: string): WrittenPart => {
  const bytes = Buffer.from(body)
  return { head: { part: "object", bucket: "photos", key: name, size: bytes.length, ...about }, body: bytes }
}

const names = ["../../etc/passwd", "a//b", "ключ 钥匙 🔑", ".", "..", "%2e%2e/x", "new\nline", "nul\u0001", "e\u0301"]
const parts: ReadonlyArray<WrittenPart> = [
  {
    head: {
      part: "installation",
      id: "1",
      created_at: "2026-01-01T00:00:00.000Z",
      version: "0.1.0",
      migration: 1,
      server_version: "18.0",
      owner: "postgres"
    }
  },
  { head: { part: "roles", size: 5 }, body: Buffer.from("roles") },
  { head: { part: "bucket", name: "photos", policy: null, cors: null, lifecycle: null } },
  ...names.map((name) => object(name, `the object ${name}`)),
  object("empty", ""),
  object("large", "0123456789".repeat(300)),
  { head: { part: "database", size: 1000 }, body: Buffer.alloc(1000, "dump ") }
]

async function* given<A>(all: Iterable<A>) {
  yield* all
}

const small = () => 700

const segments = async (of: ReadonlyArray<WrittenPart>, by = key, from = { index: 0, position: startPosition }) => {
  const made: Array<ArchiveSegment> = []
  for await (const segment of segmentsOf(by, given(of), from, small)) made.push(segment)
  return made
}

const joined = (all: ReadonlyArray<ArchiveSegment>) => Buffer.concat(all.flatMap(({ bytes }) => bytes))

const read = async (archive: Buffer, by = passphrase) => {
  const found: Array<readonly [string, string]> = []
  const reading = partsOf(by, given([archive]))
  for (;;) {
    const next = await reading.next()
    if (next.done === true) return { found, manifest: next.value }
    const { body, head } = next.value
    const bytes: Array<Uint8Array> = []
    for await (const piece of body) bytes.push(piece)
    found.push([JSON.stringify(head), Buffer.concat(bytes).toString()])
  }
}

const wanted = parts.map(({ body, head }) => [JSON.stringify(head), body === undefined ? "" : String(body)] as const)

const refusal = (archive: Buffer, by?: string) =>
  read(archive, by).then(
    () => "accepted",
    (cause: unknown) => {
      assert.instanceOf(cause, ArchiveRefused)
      return (cause as Error).message
    }
  )

const afterOf = (position: MovingPosition) => {
  const last = JSON.stringify(position.after)
  return parts.slice(parts.findIndex(({ head }) => JSON.stringify(head) === last) + 1)
}

it("has every part as it was written, whatever objects are named", async () => {
  const { found, manifest } = await read(joined(await segments(parts)))
  assert.deepStrictEqual(found, wanted)
  assert.strictEqual(manifest.objects, names.length + 2)
})

it("continues after every segment, and is the same archive", async () => {
  const all = await segments(parts)
  assert.isAbove(all.length, 8)
  for (const [index, { position }] of all.entries()) {
    const rest = await segments(afterOf(position), key, { index: index + 1, position })
    const { found } = await read(joined([...all.slice(0, index + 1), ...rest]))
    assert.deepStrictEqual(found, wanted, `after segment ${index}`)
    // Nothing is encrypted twice under one key and nonce: each segment has a salt of its own.
    if (rest[0] !== undefined) assert.isFalse(joined(rest.slice(0, 1)).equals(joined(all.slice(index + 1, index + 2))))
  }
})

it("notices that the part in which it was interrupted is another one", async () => {
  const all = await segments(parts)
  const inLarge = (position: MovingPosition) =>
    position.open?.head.part === "object" && position.open.head.key === "large"
  const index = all.findLastIndex(({ position }) => inLarge(position))
  const { position } = all[index] as ArchiveSegment
  const size = 3000
  const other = afterOf(position).map((part) =>
    part.head === parts.at(-2)?.head ? object("large", "x".repeat(size)) : part
  )
  const shorter = afterOf(position).map((part) => (part.head === parts.at(-2)?.head ? object("large", "x") : part))
  for (const changed of [other, shorter, afterOf(position).slice(1), []]) {
    const failed = await segments(changed, key, { index: index + 1, position }).catch((cause: unknown) => cause)
    assert.instanceOf(failed, PartChanged)
  }
})

it("refuses what is cut, reordered, repeated, mixed, appended or changed at any place", async () => {
  const all = await segments(parts)
  const archive = joined(all)
  for (let end = 0; end < archive.length; end += 397) {
    assert.match(await refusal(archive.subarray(0, end)), /no archive|incomplete/, `cut at ${end}`)
  }
  for (let index = 1; index < all.length; index++) {
    assert.match(await refusal(joined(all.slice(0, index))), /incomplete/, `cut before segment ${index}`)
  }
  const [first, second, third] = all as [ArchiveSegment, ArchiveSegment, ArchiveSegment]
  const rest = all.slice(3)
  assert.match(await refusal(joined([first, third, second, ...rest])), /damaged/)
  assert.match(await refusal(joined([first, second, second, third, ...rest])), /damaged/)
  assert.match(await refusal(joined([first, third, ...rest])), /damaged/)
  // A segment of another archive of the same passphrase.
  const foreign = await segments(parts, await newArchiveKey(passphrase, cheap))
  assert.match(await refusal(joined([first, foreign[1] as ArchiveSegment, third, ...rest])), /damaged/)
  // A segment of the same archive, and the same place in it, that was replaced when the export continued.
  const changed = parts.map((part) => (part.head === parts[6]?.head ? object(names[3] ?? "", "the object ;") : part))
  const replaced = await segments(changed)
  let refusals = 0
  for (const [index, segment] of replaced.entries()) {
    const spliced = joined([...all.slice(0, index), segment, ...all.slice(index + 1)])
    if ((await refusal(spliced)) === "accepted") assert.deepStrictEqual((await read(spliced)).found, wanted)
    else refusals++
  }
  // The one with the object, and the one with the manifest.
  assert.isAtLeast(refusals, 2)
  assert.match(await refusal(Buffer.concat([archive, Buffer.from("more")])), /damaged|incomplete/)
  const more = await segments([{ head: { part: "roles", size: 0 } }], key, {
    index: all.length,
    position: startPosition
  })
  assert.match(await refusal(Buffer.concat([archive, joined(more)])), /continues after its manifest/)
  for (let at = 0; at < archive.length; at += 211) {
    const damaged = Buffer.from(archive)
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8))
    assert.notStrictEqual(await refusal(damaged), "accepted", `bit of byte ${at}`)
  }
  assert.match(await refusal(archive, "another passphrase"), /passphrase is wrong/)
})

it("refuses parts that this release does not know, and sizes that are not those of the bodies", async () => {
  const head = { part: "object", bucket: "../x", key: "k", size: 0, ...about } as const
  for (const strange of [{ part: "program" }, head, { ...head, bucket: "photos", size: -1 }]) {
    const made = await segments([{ head: strange as unknown as MovedObject }]).then(joined, () => Buffer.alloc(0))
    assert.notStrictEqual(await refusal(made), "accepted")
  }
})

it("a file has its name only when it is complete, and replaces nothing", async () => {
  const file = join(place, "svc.archive")
  const at = archivePlace(file)
  const all = await segments(parts)
  await at.check()
  await at.begin()
  // Another export to the same place can't take over what this one writes.
  const second = await archivePlace(file)
    .begin()
    .catch((cause: unknown) => cause)
  assert.instanceOf(second, ArchiveRefused)
  const stored: Array<{ readonly size: number; readonly etag: string | null }> = []
  for (const { bytes } of all) stored.push(await at.append({ upload: null, segments: stored }, bytes))
  // A segment that was stored, but not recorded.
  await at.append({ upload: null, segments: stored }, [Buffer.alloc(10_000)])
  assert.isTrue(await at.isThere({ upload: null, segments: stored }))
  assert.isFalse(await at.isThere({ upload: null, segments: [...stored, { size: 10_001, etag: null }] }))
  assert.deepStrictEqual(await readdir(place), ["svc.archive.partial"])
  await at.complete({ upload: null, segments: stored })
  assert.deepStrictEqual(await readdir(place), ["svc.archive"])
  const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")
  assert.strictEqual(digest(await readFile(file)), digest(joined(all)))
  assert.match(String(await at.check().catch((cause: unknown) => cause)), /exists/)
  // Neither a link that leads nowhere is followed, nor the file that another one leads to written.
  const link = join(place, "link")
  await symlink(join(place, "nowhere"), link)
  assert.match(
    String(
      await archivePlace(link)
        .check()
        .catch((cause: unknown) => cause)
    ),
    /exists/
  )
  await writeFile(join(place, "precious"), "mine")
  await symlink(join(place, "precious"), join(place, "other.partial"))
  assert.instanceOf(
    await archivePlace(join(place, "other"))
      .begin()
      .catch((cause: unknown) => cause),
    ArchiveRefused
  )
  assert.strictEqual(await readFile(join(place, "precious"), "utf8"), "mine")
})
