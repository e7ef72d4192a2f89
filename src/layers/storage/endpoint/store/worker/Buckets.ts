import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import type { BucketDocument, BucketVersioning } from "../Model.ts"
import type { IndexHistory } from "./History.ts"
import { type IndexChange, changed, type Tables } from "./Tables.ts"
import { IndexError } from "./Rows.ts"

/** A bucket as sent between the threads; `created` in ms. */
export interface BucketRow {
  readonly name: string
  readonly created: number
  readonly policy: string | undefined
  readonly cors: string | undefined
  readonly publicAccess: string | undefined
  readonly versioning: BucketVersioning | undefined
}

const bucketOf = (row: Record<string, SQLOutputValue>): BucketRow => ({
  name: String(row["name"]),
  created: Number(row["created"]),
  policy: textOf(row["policy"]),
  cors: textOf(row["cors"]),
  publicAccess: textOf(row["publicAccess"]),
  versioning: textOf(row["versioning"]) as BucketVersioning | undefined
})

const textOf = (value: SQLOutputValue | undefined) =>
  value === null || value === undefined ? undefined : String(value)

const columns = "name, created, policy, cors, publicAccess, versioning"

/** The index's operations on buckets. */
export const bucketOperations = (database: DatabaseSync, tables: Tables, history: IndexHistory) => {
  const all = database.prepare(`SELECT ${columns} FROM buckets ORDER BY name`)
  const byName = database.prepare(`SELECT ${columns} FROM buckets WHERE name = ?`)
  const add = database.prepare("INSERT INTO buckets (name, created) VALUES (?, ?) ON CONFLICT DO NOTHING")
  const drop = database.prepare("DELETE FROM buckets WHERE id = ?")
  const anyObject = database.prepare("SELECT 1 FROM objects WHERE bucket = ? LIMIT 1")
  const anyVersion = database.prepare("SELECT 1 FROM versions WHERE bucket = ? LIMIT 1")
  const blobsOfUploads = database.prepare(
    "SELECT parts.blob FROM uploads JOIN parts ON parts.upload = uploads.number WHERE uploads.bucket = ?"
  )
  const dropParts = database.prepare("DELETE FROM parts WHERE upload IN (SELECT number FROM uploads WHERE bucket = ?)")
  const dropUploads = database.prepare("DELETE FROM uploads WHERE bucket = ?")
  const dropCompleted = database.prepare("DELETE FROM completed WHERE bucket = ?")
  const setting = (name: BucketDocument) => database.prepare(`UPDATE buckets SET ${name} = ? WHERE id = ?`)
  const documents: Readonly<Record<BucketDocument, ReturnType<typeof setting>>> = {
    policy: setting("policy"),
    cors: setting("cors"),
    publicAccess: setting("publicAccess"),
    lifecycle: setting("lifecycle"),
    tagging: setting("tagging"),
    versioning: setting("versioning")
  }
  const whole = database.prepare("SELECT * FROM buckets WHERE name = ?")
  const documentsOf = database.prepare("SELECT lifecycle, tagging FROM buckets WHERE id = ?")
  const allLifecycles = database.prepare(
    "SELECT name, lifecycle FROM buckets WHERE lifecycle IS NOT NULL ORDER BY name"
  )

  const reads = {
    buckets: (): ReadonlyArray<BucketRow> => all.all().map(bucketOf),

    bucket: (name: string): BucketRow => {
      const row = byName.get(name)
      if (row === undefined) throw new IndexError("NoSuchBucket", { BucketName: name })
      return bucketOf(row)
    },

    document: (name: string, which: "lifecycle" | "tagging"): string | undefined =>
      textOf(documentsOf.get(tables.bucketId(name))?.[which]),

    lifecycles: (): ReadonlyArray<{ readonly bucket: string; readonly text: string }> =>
      allLifecycles.all().map((row) => ({ bucket: String(row["name"]), text: String(row["lifecycle"]) }))
  }

  /** Records the bucket as it is now. */
  const record = (name: string, now: number) => {
    if (history.keeps(name)) history.record(name, changeOf(whole.get(name) ?? {}), history.at(now))
  }

  const writes = {
    createBucket: (name: string, now: number): IndexChange<undefined> => {
      if (add.run(name, now).changes === 0) throw new IndexError("BucketAlreadyOwnedByYou", { BucketName: name })
      record(name, now)
      return changed(undefined)
    },

    deleteBucket: (name: string, now: number): IndexChange<undefined> => {
      const bucket = tables.bucketId(name)
      if (anyObject.get(bucket) !== undefined || anyVersion.get(bucket) !== undefined)
        throw new IndexError("BucketNotEmpty", { BucketName: name })
      const freed = tables.release(blobsOfUploads.all(bucket).map((row) => String(row["blob"])))
      dropParts.run(bucket)
      dropUploads.run(bucket)
      dropCompleted.run(bucket)
      if (history.keeps(name)) {
        const at = history.at(now)
        history.pastBucket(bucket, at)
        history.record(name, { kind: "bucket removed" }, at)
      }
      drop.run(bucket)
      return changed(undefined, freed)
    },

    setDocument: (
      name: string,
      which: BucketDocument,
      text: string | undefined,
      now: number
    ): IndexChange<undefined> => {
      documents[which].run(text ?? null, tables.bucketId(name))
      record(name, now)
      return changed(undefined)
    }
  }

  return { reads, writes }
}

/** A row of the table as a change of the journal. */
export const changeOf = (row: Readonly<Record<string, SQLOutputValue>>) => {
  const documents: Record<string, string> = {}
  for (const which of ["policy", "cors", "publicAccess", "lifecycle", "tagging", "versioning"] as const) {
    const text = textOf(row[which])
    if (text !== undefined) documents[which] = text
  }
  return { kind: "bucket" as const, created: Number(row["created"]), documents }
}
