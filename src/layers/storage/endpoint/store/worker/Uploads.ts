import { createHash } from "node:crypto"
import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import type { Checksum, CompletedPart, WriteCondition } from "../Model.ts"
import type { IndexHistory } from "./History.ts"
import type { Versions } from "./Versions.ts"
import { storedEtag, type IndexChange, changed, checkCondition, type NewBlob, type Tables } from "./Tables.ts"
import { blobsOf, encodeKey, type ObjectRow, IndexError, type Segment } from "./Rows.ts"

/** The minimum size of every part but the last, in bytes. */
const minimumPart = 5 * 1024 * 1024

/** How long a completed upload is remembered, in ms. */
const retention = 3_600_000

interface StoredPart {
  readonly part: number
  readonly segment: Segment
  readonly modified: number
  readonly checksum: Checksum | undefined
}

const partOf = (row: Record<string, SQLOutputValue>): StoredPart => ({
  part: Number(row["part"]),
  segment: [String(row["blob"]), Number(row["size"]), String(row["md5"])],
  modified: Number(row["modified"]),
  checksum: row["checksum"] === null ? undefined : JSON.parse(String(row["checksum"]))
})

/** The index's operations on multipart uploads. */
export const uploadOperations = (database: DatabaseSync, tables: Tables, versions: Versions, history: IndexHistory) => {
  const byId = database.prepare("SELECT number, bucket, key, created, meta FROM uploads WHERE id = ?")
  const add = database.prepare("INSERT INTO uploads (id, bucket, key, created, meta) VALUES (?, ?, ?, ?, ?)")
  const drop = database.prepare("DELETE FROM uploads WHERE number = ?")
  const dropParts = database.prepare("DELETE FROM parts WHERE upload = ?")
  const onePart = database.prepare("SELECT * FROM parts WHERE upload = ? AND part = ?")
  const somePart = database.prepare("SELECT * FROM parts WHERE upload = ? AND part > ? ORDER BY part LIMIT ?")
  const addPart = database.prepare("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?, ?)")
  const completedById = database.prepare("SELECT object FROM completed WHERE upload = ? AND bucket = ?")
  const addCompleted = database.prepare("INSERT INTO completed VALUES (?, ?, ?, ?)")
  const dropExpired = database.prepare("DELETE FROM completed WHERE at < ?")

  const find = (bucket: number, key: string, id: string) => {
    const row = byId.get(id)
    if (row === undefined || row["bucket"] !== bucket || !encodeKey(key).equals(bytesOf(row["key"]))) return undefined
    return { number: Number(row["number"]), created: Number(row["created"]), meta: String(row["meta"]) }
  }

  const existing = (name: string, key: string, id: string) => {
    const bucket = tables.bucketId(name)
    const upload = find(bucket, key, id)
    if (upload === undefined) throw new IndexError("NoSuchUpload", { UploadId: id })
    return { bucket, ...upload }
  }

  const allParts = (upload: number) => somePart.all(upload, -1, -1).map(partOf)

  const reads = {
    upload: (name: string, key: string, id: string) => {
      const { meta, created } = existing(name, key, id)
      return { meta, created }
    },

    parts: (name: string, key: string, id: string, after: number, limit: number) => {
      const found = somePart.all(existing(name, key, id).number, after, limit + 1).map(partOf)
      return { parts: found.slice(0, limit), more: found.length > limit && limit > 0 }
    }
  }

  const writes = {
    createUpload: (name: string, key: string, id: string, meta: string, now: number): IndexChange<undefined> => {
      add.run(id, tables.bucketId(name), encodeKey(key), now, meta)
      return changed(undefined)
    },

    putPart: (
      name: string,
      key: string,
      id: string,
      part: number,
      blob: NewBlob,
      checksum: Checksum | undefined,
      now: number
    ): IndexChange<undefined> => {
      const upload = existing(name, key, id).number
      const old = onePart.get(upload, part)
      const text = checksum === undefined ? null : JSON.stringify(checksum)
      addPart.run(upload, part, tables.keep(blob), blob.size, blob.md5, now, text)
      return changed(undefined, old === undefined ? [] : tables.release([String(old["blob"])]))
    },

    completeUpload: (
      name: string,
      key: string,
      id: string,
      parts: ReadonlyArray<CompletedPart>,
      condition: WriteCondition | undefined,
      checksum: Checksum | undefined,
      now: number
    ): IndexChange<ObjectRow> => {
      const bucket = tables.bucket(name)
      const etag = etagOf(parts)
      const upload = find(bucket.id, key, id)
      if (upload === undefined) {
        const before = completedById.get(id, bucket.id)
        const object: ObjectRow | undefined = before && JSON.parse(String(before["object"]))
        if (object?.key === key && object.etag === etag) return changed(object)
        throw new IndexError("NoSuchUpload", { UploadId: id })
      }
      const stored = allParts(upload.number)
      const segments = chosenSegments(stored, parts, checksum?.algorithm)
      const old = tables.findObject(bucket.id, key)
      checkCondition(key, old, condition)
      const assembled = {
        key,
        size: segments.reduce((sum, [, size]) => sum + size, 0),
        etag,
        modified: now,
        meta: JSON.stringify({ ...JSON.parse(upload.meta), checksum }),
        segments
      }
      const { freed, value: row } = versions.place(bucket, assembled, old, history.at(now))
      const used = new Set(blobsOf(row))
      const unused = tables.release(stored.map(({ segment }) => segment[0]).filter((blob) => !used.has(blob)))
      dropParts.run(upload.number)
      drop.run(upload.number)
      dropExpired.run(now - retention)
      addCompleted.run(id, bucket.id, now, JSON.stringify(row))
      return changed(row, [...unused, ...freed])
    },

    abortUpload: (name: string, key: string, id: string): IndexChange<undefined> => {
      const upload = existing(name, key, id).number
      const freed = tables.release(allParts(upload).map(({ segment }) => segment[0]))
      dropParts.run(upload)
      drop.run(upload)
      return changed(undefined, freed)
    }
  }

  return { reads, writes }
}

const bytesOf = (value: SQLOutputValue | undefined): Uint8Array =>
  value instanceof Uint8Array ? value : new Uint8Array()

/** S3's ETag of multipart objects: the MD5 of the parts' MD5s, and their number. */
const etagOf = (parts: ReadonlyArray<CompletedPart>): string => {
  const hash = createHash("md5")
  for (const { etag } of parts) hash.update(Buffer.from(storedEtag(etag), "hex"))
  return `${hash.digest("hex")}-${parts.length}`
}

/** The segments of the requested parts. Throws a IndexError if the list is invalid. */
const chosenSegments = (
  stored: ReadonlyArray<StoredPart>,
  parts: ReadonlyArray<CompletedPart>,
  algorithm: Checksum["algorithm"] | undefined
) => {
  if (parts.length === 0) throw new IndexError("MalformedXML")
  const byNumber = new Map(stored.map((part) => [part.part, part]))
  let previous = 0
  for (const { part } of parts) {
    if (part <= previous) throw new IndexError("InvalidPartOrder")
    previous = part
  }
  return parts.map(({ part, etag, checksum }, index) => {
    const found = byNumber.get(part)
    if (found === undefined || storedEtag(etag) !== found.segment[2]) throw invalidPart(part, etag)
    if (checksum !== undefined && checksum !== found.checksum?.value) throw invalidPart(part, etag)
    const [, size] = found.segment
    if (index < parts.length - 1 && size < minimumPart)
      throw new IndexError("EntityTooSmall", {
        ProposedSize: String(size),
        MinSizeAllowed: String(minimumPart),
        PartNumber: String(part),
        ETag: found.segment[2]
      })
    const [blob, , md5] = found.segment
    const kept: Segment =
      algorithm === undefined || found.checksum?.algorithm !== algorithm
        ? found.segment
        : [blob, size, md5, found.checksum.value]
    return kept
  })
}

const invalidPart = (part: number, etag: string) =>
  new IndexError("InvalidPart", { PartNumber: String(part), ETag: storedEtag(etag) })
