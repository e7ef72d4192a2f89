import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import type { ListOptions, UploadsOptions } from "../Model.ts"
import { afterKey, afterPrefix, decodeKey, encodeKey, type ObjectRow, type Tables } from "./Tables.ts"

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

/** The index's listings of objects and of uploads. */
export const listingOperations = (database: DatabaseSync, tables: Tables) => {
  const objects = database.prepare(
    "SELECT key, size, etag, modified, meta FROM objects WHERE bucket = ? AND key >= ? AND key < ? ORDER BY key"
  )
  // The bounds on the key select the range of the index; the comparison of ids only matters within one key.
  const uploads = database.prepare(
    "SELECT key, id, created FROM uploads WHERE bucket = ? AND key >= ? AND key < ? AND (key > ? OR id > ?) ORDER BY key, id"
  )

  const reads = {
    list: (name: string, options: ListOptions) => {
      const bucket = tables.bucketId(name)
      const found = page((from, to) => objects.iterate(bucket, from, to), options, startAfter(options.after, options))
      return {
        objects: found.rows.map((row): Omit<ObjectRow, "segments"> => ({
          key: decodeKey(keyOf(row)),
          size: Number(row["size"]),
          etag: String(row["etag"]),
          modified: Number(row["modified"]),
          meta: String(row["meta"])
        })),
        prefixes: found.prefixes,
        next: found.last
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
