import { Effect, Option, Pull, Schema, Stream } from "effect"
import { Readable } from "node:stream"
import { promisify } from "node:util"
import { createGunzip, gzip } from "node:zlib"
import { inventoryFile, type LostObject, type LostObjects } from "../../domain/backups/Backup.ts"
import { NotFound, Unprocessable } from "../../domain/errors.ts"
import { BackupFiles, type FileTrouble } from "../ports/BackupFiles.ts"
import { ObjectStore, type StoreError } from "../ports/ObjectStore.ts"
import { RecoverySettings } from "../recovery/Settings.ts"
import { copiesPrefix } from "./Copies.ts"
import { type BackupPlace } from "./Records.ts"
import { BackupSettings } from "./Settings.ts"

/** An object in the store, one line of an inventory. */
const Seen = Schema.Struct({
  bucket: Schema.String,
  key: Schema.String,
  size: Schema.Int,
  etag: Schema.String,
  version: Schema.optional(Schema.String)
})
type Seen = typeof Seen.Type

const seenOf = Schema.decodeUnknownEffect(Schema.fromJsonString(Seen))

/** Lines that are compressed at a time. */
const batch = 2000

/** Lost objects that are shown. */
const shownObjects = 1000

const pack = promisify(gzip)

const noInventory = ({ id }: BackupPlace) =>
  new NotFound({
    error: `Backup ${id} has no inventory of objects here`,
    code: "BACKUP_INVENTORY_MISSING",
    details: "It was made without one, or its file is in SVC_BACKUP_DIR of another replica, without a copy in a bucket"
  })

const damaged = ({ id }: BackupPlace) =>
  new Unprocessable({ error: `The inventory of objects of backup ${id} is damaged`, code: "BACKUP_ALTERED" })

/** The order of inventories: by bucket, then by the UTF-8 bytes of the key. */
const order = (a: Seen, b: Seen) =>
  a.bucket === b.bucket ? Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)) : a.bucket < b.bucket ? -1 : 1

/** Walks a stream; `current` is undefined after its end. */
const walk = Effect.fnUntraced(function* <A, E>(stream: Stream.Stream<A, E>) {
  const pull = yield* Stream.toPull(stream)
  let [chunk, at]: [ReadonlyArray<A>, number] = [[], 0]
  const fetch = Effect.map(
    Pull.catchDone(pull, () => Effect.succeed<ReadonlyArray<A>>([])),
    (next) => {
      ;[chunk, at] = [next, 0]
    }
  )
  yield* fetch
  return {
    current: () => chunk[at],
    next: Effect.suspend(() => (++at < chunk.length ? Effect.void : fetch))
  }
})

/** What the store had when a backup was made, and what of it is lost. Backups and archives of the log are not listed. */
export const makeBackupInventories = Effect.gen(function* () {
  const files = yield* BackupFiles
  const store = yield* ObjectStore
  const { bucket: copies } = yield* BackupSettings
  const archive = Option.getOrUndefined(yield* Effect.serviceOption(RecoverySettings))?.bucket

  const present: Stream.Stream<Seen, StoreError> = Stream.unwrap(
    Effect.map(store.buckets, (buckets) => Stream.fromIterable(buckets.filter(({ name }) => name !== archive)))
  ).pipe(
    Stream.flatMap(({ name }) =>
      store.listed(name).pipe(
        Stream.filter(({ key }) => name !== copies || !key.startsWith(copiesPrefix)),
        Stream.map((object): Seen => ({ bucket: name, ...object })),
        // It was deleted meanwhile.
        Stream.catchTag("NotFound", () => Stream.empty)
      )
    )
  )

  /** Writes the inventory of a file, unless there are no objects. Returns their number and bytes. */
  const take = (file: string) =>
    Effect.gen(function* () {
      let [count, bytes] = [0, 0]
      const packed = yield* present.pipe(
        Stream.grouped(batch),
        Stream.mapEffect((objects) => {
          count += objects.length
          for (const { size } of objects) bytes += size
          return Effect.promise(() => pack(objects.map((object) => `${JSON.stringify(object)}\n`).join("")))
        }),
        Stream.runCollect
      )
      // Interrupted, it could write its file after the clean-up.
      if (count > 0) yield* Effect.uninterruptible(files.write(inventoryFile(file), Buffer.concat(packed)))
      return { count, bytes }
    })

  const bytesOf = Effect.fnUntraced(function* (
    place: BackupPlace
  ): Effect.fn.Return<Stream.Stream<Uint8Array, FileTrouble | StoreError>, NotFound> {
    const { bucket, file, key, objects } = place
    if (objects === null || file === null) return yield* noInventory(place)
    if (objects === 0) return Stream.empty
    if ((yield* files.size(inventoryFile(file))) !== undefined) return files.bytes(inventoryFile(file))
    if (bucket === null || key === null) return yield* noInventory(place)
    return store.read(bucket, inventoryFile(key))
  })

  /** The lines of an inventory. */
  const lines = Effect.fnUntraced(function* (place: BackupPlace) {
    const packed = yield* bytesOf(place)
    const whole = yield* Stream.runCollect(packed).pipe(
      Effect.catchTags({
        NotFound: () => Effect.fail(noInventory(place)),
        FileTrouble: () => Effect.fail(noInventory(place))
      })
    )
    if (whole.length === 0) return Stream.empty
    const plain = Readable.from([Buffer.concat(whole)]).pipe(createGunzip())
    return Stream.fromAsyncIterable<Uint8Array, Unprocessable>(plain, () => damaged(place)).pipe(
      Stream.decodeText,
      Stream.splitLines
    )
  })

  /** The objects of an inventory that the store no longer has as they were. */
  const lost = Effect.fnUntraced(function* (place: BackupPlace) {
    const seen = yield* lines(place)
    const decoded = Stream.mapEffect(seen, (line) => Effect.mapError(seenOf(line), () => damaged(place)))
    const [then, now] = [yield* walk(decoded), yield* walk(present)]
    let [gone, changed] = [0, 0]
    const objects: Array<LostObject> = []
    for (let object = then.current(); object !== undefined; object = then.current()) {
      const other = now.current()
      const compared = other === undefined ? -1 : order(object, other)
      if (compared > 0) {
        yield* now.next
        continue
      }
      const isGone = compared < 0
      if (isGone) gone += 1
      else if (other?.etag !== object.etag || other.size !== object.size) changed += 1
      if (gone + changed > objects.length && objects.length < shownObjects) {
        const { bucket, etag, key, size, version = null } = object
        objects.push({ bucket, key, size, etag, version, state: isGone ? "gone" : "changed" })
      }
      yield* then.next
    }
    return { gone, changed, objects, is_truncated: gone + changed > objects.length } satisfies LostObjects
  }, Effect.scoped)

  return { take, lines, lost }
})

export type BackupInventories = Effect.Success<typeof makeBackupInventories>
