import { Effect } from "effect"
import { createHash } from "node:crypto"
import { type RecoveryWindow } from "../../domain/recovery/Windows.ts"
import { rowsPage } from "../../domain/recovery/Objects.ts"
import { inspectCluster } from "./cluster/Inspection.ts"
import { recoverCluster, type Recovering } from "./cluster/Cluster.ts"
import { parseLines } from "./objects/Files.ts"
import { partReader, readPlaced } from "./objects/Reader.ts"
import { findObjects } from "./objects/Recover.ts"
import { type Archive } from "./store/Archive.ts"
import { ArchiveTrouble } from "./store/Store.ts"

/** A reader waits this many times as long as its last object took, at most some ms. */
const [restFactor, maxRest] = [2, 500] as const

/** The archive for a reader that leaves most of the time of this process to others. */
const paced = (archive: Archive): Archive => {
  let ended = performance.now()
  return {
    ...archive,
    get: Effect.fnUntraced(function* (name: string) {
      const content = yield* archive.get(name)
      yield* Effect.sleep(Math.min(maxRest, restFactor * (performance.now() - ended)))
      ended = performance.now()
      return content
    })
  }
}

/** Pages of rows that are read, and how many blobs and bytes of them. */
const sample = { pages: 3, blobs: 60, bytes: 256 * 1024 * 1024 }

const some = <A>(all: ReadonlyArray<A>, count: number): ReadonlyArray<A> => {
  const left = [...all]
  return Array.from({ length: Math.min(count, all.length) }, () =>
    left.splice(Math.floor(Math.random() * left.length), 1)
  ).flat()
}

/** Compares a sample of the objects in the archive with their digests; gives how many blobs were read. */
const checkObjects = Effect.fnUntraced(function* (archive: Archive, time: number) {
  const { state } = yield* findObjects(archive, time)
  if (state === undefined) return 0
  const { pages, id, store } = state.rows
  const numbers = some(
    Array.from({ length: pages }, (_, page) => page + 1),
    sample.pages
  )
  const lines = []
  for (const page of numbers) lines.push(...parseLines(yield* archive.get(rowsPage(store, id, page))))
  for (const { name } of state.pieces.slice(-1)) lines.push(...parseLines(yield* archive.get(name)))
  const blobs = lines.flatMap(({ change, places }) => {
    if (change.kind !== "object" && change.kind !== "version") return []
    return change.segments.flatMap(([blob, , md5]) => {
      const place = places.find((one) => one.blob === blob)
      return place === undefined ? [] : [{ place, md5, key: change.key }]
    })
  })
  const partOf = partReader(archive)
  let [read, bytes] = [0, 0]
  for (const { key, md5, place } of some(blobs, sample.blobs)) {
    if (bytes + place.size > sample.bytes && read > 0) continue
    bytes += place.size
    const hash = createHash("md5")
    const whole = yield* readPlaced(place, partOf, (part) => Effect.sync(() => void hash.update(part)))
    if (!whole || hash.digest("hex") !== md5) {
      return yield* new ArchiveTrouble({ reason: `Object ${key} in ${archive.place} differs from its digest` })
    }
    read++
  }
  return read
})

/** Restores a cluster as of a time, reads all of it and a sample of the objects, and removes it. */
export const runDrill = Effect.fnUntraced(function* (
  given: Archive,
  window: RecoveryWindow,
  target: number,
  id: number,
  recovering: Omit<Recovering, "kept" | "idle">
) {
  const archive = paced(given)
  const { login } = yield* recoverCluster(
    archive,
    window,
    target,
    { ...recovering, kept: false, idle: true },
    () => undefined
  )
  const found = yield* inspectCluster(login, id)
  yield* checkObjects(archive, target)
  return found
}, Effect.scoped)
