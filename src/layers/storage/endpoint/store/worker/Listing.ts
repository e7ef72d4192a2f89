import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import type { ListOptions, UploadsOptions, VersionsOptions } from "../Model.ts"
import type { Past } from "./Past.ts"
import { type Tables } from "./Tables.ts"
import { afterKey, afterPrefix, decodeKey, encodeKey, type ObjectRow } from "./Rows.ts"
import { checkVersionId, seqOf, type Versions } from "./Versions.ts"

type Row = Record<string, SQLOutputValue>

interface Page {
  readonly rows: ReadonlyArray<Row>
  readonly prefixes: ReadonlyArray<string>
  /** The last row or prefix, decoded, if there are more. */
  readonly last: string | undefined
}

/**
 * One page of rows sorted by key, with those below a common prefix grouped into it. `seek` returns the rows from one key
 * (inclusive) to another (exclusive); it is called again after each common prefix, so that rows below it are not read.
 */
const page = (
  seek: (from: Buffer, to: Buffer) => Iterable<Row>,
  options: { readonly prefix: string; readonly delimiter: string; readonly limit: number },
  start: Buffer
): Page => {
  const prefix = encodeKey(options.prefix)
  const delimiter = encodeKey(options.delimiter)
  const to = afterPrefix(prefix)
  const rows: Array<Row> = []
  const prefixes: Array<string> = []
  let last = ""
  let from: Buffer | undefined = Buffer.compare(start, prefix) < 0 ? prefix : start
  while (from !== undefined && options.limit > 0) {
    const found: Iterable<Row> = seek(from, to)
    from = undefined
    for (const row of found) {
      if (rows.length + prefixes.length === options.limit) return { rows, prefixes, last }
      const key = keyOf(row)
      const common = commonPrefix(key, prefix, delimiter)
      last = decodeKey(common ?? key)
      if (common !== undefined) {
        prefixes.push(last)
        from = afterPrefix(common)
        break
      }
      rows.push(row)
    }
  }
  return { rows, prefixes, last: undefined }
}

const keyOf = (row: Row): Buffer => {
  const key = row["key"]
  if (!(key instanceof Uint8Array)) throw new Error("The index has a key that is not bytes")
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength)
}

const commonPrefix = (key: Buffer, prefix: Buffer, delimiter: Buffer): Buffer | undefined => {
  if (delimiter.length === 0) return undefined
  const at = key.indexOf(delimiter, prefix.length)
  return at < 0 ? undefined : key.subarray(0, at + delimiter.length)
}

/** The start of the page after a key; a common prefix covers all keys below it. */
const startAfter = (after: string, options: { readonly prefix: string; readonly delimiter: string }): Buffer => {
  const key = encodeKey(after)
  if (key.length === 0) return key
  const prefix = encodeKey(options.prefix)
  const within = key.subarray(0, prefix.length).equals(prefix)
  const common = within ? commonPrefix(key, prefix, encodeKey(options.delimiter)) : undefined
  return common?.length === key.length ? afterPrefix(key) : afterKey(key)
}

/** Rows that a listing of an earlier time reads at once, so that it does not hold up other requests. */
const maximumRead = 20_000

/** The rows of two queries, both sorted by key; those of the first come before those of the second with the same key. */
function* merged(one: Iterable<Row>, other: Iterable<Row>): Generator<Row> {
  const [first, second] = [one[Symbol.iterator](), other[Symbol.iterator]()]
  try {
    let [left, right] = [first.next(), second.next()]
    while (left.done !== true || right.done !== true) {
      const isLeft =
        right.done === true || (left.done !== true && Buffer.compare(keyOf(left.value), keyOf(right.value)) <= 0)
      if (isLeft) {
        yield left.value as Row
        left = first.next()
      } else {
        yield right.value as Row
        right = second.next()
      }
    }
  } finally {
    first.return?.()
    second.return?.()
  }
}

const infoOf = (row: Row): Omit<ObjectRow, "segments"> => ({
  key: decodeKey(keyOf(row)),
  size: Number(row["size"]),
  etag: String(row["etag"]),
  modified: Number(row["modified"]),
  meta: String(row["meta"])
})

/** The index's listings of objects, of versions and of uploads. */
export const listingOperations = (database: DatabaseSync, tables: Tables, versions: Versions, past: Past) => {
  const objects = database.prepare(
    "SELECT key, size, etag, modified, meta FROM objects WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key"
  )
  const currents = database.prepare(
    `SELECT key, size, etag, modified, meta, version, NULL AS seq, 0 AS marker, NULL AS superseded
     FROM objects WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key`
  )
  const others = database.prepare(
    `SELECT key, size, etag, modified, meta, version, seq, marker, superseded
     FROM versions WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key, seq DESC`
  )
  const older = database.prepare(
    `SELECT key, size, etag, modified, meta, version, seq, marker, superseded
     FROM versions WHERE bucket = ? AND key = ? AND seq < ? ORDER BY seq DESC`
  )
  const shown = database.prepare(
    `SELECT key, size, etag, modified, meta, coalesce(since, modified) AS since, NULL AS until
     FROM objects WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key`
  )
  const formerly = database.prepare(
    `SELECT key, size, etag, modified, meta, since, until
     FROM history WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key`
  )
  // The bounds on the key select the range of the index; the comparison of ids only matters within one key.
  const uploads = database.prepare(
    "SELECT key, id, created FROM uploads WHERE bucket = ? AND key >= ? AND key < ? AND (key > ? OR id > ?) ORDER BY key, id"
  )

  /**
   * Where a page of versions starts within a key: below this number, and with the current object or without. If the version
   * of the marker was deleted meanwhile, the place of null versions relative to it is unknown: it is better to repeat some
   * versions than to omit others.
   */
  const placeWithin = (bucket: number, key: string, version: string) => {
    const current = tables.findObject(bucket, key)
    const marked = versions.stored({ id: bucket }, key, version)
    if (version === "null") {
      if (current !== undefined && current.version === undefined) return { below: Infinity, current: false }
      return marked === undefined ? { below: Infinity, current: true } : { below: marked.seq, current: false }
    }
    const seq = seqOf(version)
    if (current === undefined) return { below: seq, current: false }
    return { below: seq, current: current.version === undefined ? marked === undefined : seqOf(current.version) < seq }
  }

  const reads = {
    list: (name: string, options: ListOptions) => {
      const bucket = tables.bucketId(name)
      const found = page((from, to) => objects.iterate(bucket, from, to), options, startAfter(options.after, options))
      return {
        objects: found.rows.map(infoOf),
        prefixes: found.prefixes,
        next: found.last
      }
    },

    /** The objects as they were at a time, in ms. A page ends early where most objects are of other times. */
    listAt: (name: string, options: ListOptions, at: number) => {
      const bucket = past.bucketAt(name, at)
      let count = 0
      let stopped: Buffer | undefined
      const seek = function* (from: Buffer, to: Buffer) {
        let last: Buffer | undefined
        for (const row of merged(shown.iterate(bucket, from, to), formerly.iterate(bucket, from, to))) {
          const key = keyOf(row)
          if (++count > maximumRead && last?.equals(key) === false) {
            stopped = last
            return
          }
          last = key
          const until = row["until"]
          if (Number(row["since"]) <= at && (until === null || Number(until) > at)) yield row
        }
      }
      const { last, prefixes, rows } = page(seek, options, startAfter(options.after, options))
      return { objects: rows.map(infoOf), prefixes, next: last ?? (stopped && decodeKey(stopped)) }
    },

    versions: (name: string, options: VersionsOptions) => {
      const bucket = tables.bucket(name)
      const { keyMarker, versionIdMarker } = options
      const within = keyMarker !== "" && versionIdMarker !== ""
      if (within) checkVersionId(versionIdMarker, "version-id-marker")
      const marker = encodeKey(keyMarker)
      const place = within ? placeWithin(bucket.id, keyMarker, versionIdMarker) : undefined
      const all = (from: Buffer, to: Buffer) =>
        merged(currents.iterate(bucket.id, from, to), others.iterate(bucket.id, from, to))
      const seek = function* (from: Buffer, to: Buffer) {
        // A marker beyond the prefix leaves nothing to list.
        if (place === undefined || !from.equals(marker) || Buffer.compare(marker, to) >= 0) return yield* all(from, to)
        const next = afterKey(marker)
        if (place.current) yield* currents.iterate(bucket.id, marker, next)
        yield* older.iterate(bucket.id, marker, place.below)
        yield* all(next, to)
      }
      const found = page(seek, options, within ? marker : startAfter(keyMarker, options))
      const list = found.rows.map((row) => ({
        ...infoOf(row),
        version: row["version"] === null ? undefined : String(row["version"]),
        marker: row["marker"] === 1,
        isLatest: row["superseded"] === null,
        superseded: row["superseded"] === null ? undefined : Number(row["superseded"])
      }))
      const last = list.at(-1)
      return {
        versions: list,
        prefixes: found.prefixes,
        next:
          found.last === undefined
            ? undefined
            : { keyMarker: found.last, versionIdMarker: last?.key === found.last ? (last.version ?? "null") : "" }
      }
    },

    uploads: (name: string, options: UploadsOptions) => {
      const bucket = tables.bucketId(name)
      const marker = encodeKey(options.keyMarker)
      const within = options.keyMarker !== "" && options.uploadIdMarker !== ""
      const found = page(
        (from, to) => uploads.iterate(bucket, from, to, marker, within ? options.uploadIdMarker : ""),
        options,
        within ? marker : startAfter(options.keyMarker, options)
      )
      const list = found.rows.map((row) => ({
        key: decodeKey(keyOf(row)),
        uploadId: String(row["id"]),
        created: Number(row["created"])
      }))
      const last = list.at(-1)
      return {
        uploads: list,
        prefixes: found.prefixes,
        next:
          found.last === undefined
            ? undefined
            : { keyMarker: found.last, uploadIdMarker: last?.key === found.last ? last.uploadId : "" }
      }
    }
  }

  return { reads }
}
