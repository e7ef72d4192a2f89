import type { DatabaseSync } from "node:sqlite"
import { bucketOperations } from "./Buckets.ts"
import { listingOperations } from "./Listing.ts"
import { objectOperations } from "./Objects.ts"
import { makeTables } from "./Tables.ts"
import { uploadOperations } from "./Uploads.ts"

/** All that can be asked of the index: each takes and gives plain data, and throws a Refusal. */
export const makeOperations = (database: DatabaseSync) => {
  const tables = makeTables(database)
  const buckets = bucketOperations(database, tables)
  const objects = objectOperations(database, tables)
  const uploads = uploadOperations(database, tables)
  const listing = listingOperations(database, tables)
  return {
    reads: { ...buckets.reads, ...objects.reads, ...uploads.reads, ...listing.reads },
    writes: { ...buckets.writes, ...objects.writes, ...uploads.writes }
  }
}

export type Reads = ReturnType<typeof makeOperations>["reads"]
export type Writes = ReturnType<typeof makeOperations>["writes"]

/** What a caller sends: its number comes back with the answer. */
export type Command = readonly [number: number, kind: "read" | "write", name: string, given: ReadonlyArray<unknown>]

/** `refused` is an S3Error of that code; `broken` is a defect. */
export type Outcome =
  | { readonly value: unknown }
  | { readonly refused: string; readonly extra: Readonly<Record<string, string>> | undefined }
  | { readonly broken: string }

export type Answer = readonly [number: number, outcome: Outcome]
