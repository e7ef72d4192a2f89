import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { lstatSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { type FileOwner } from "./FileLock.ts"
import { readStored, writeStored } from "./StoredFile.ts"
import { attempt, StartError } from "./StartError.ts"

/** What a data directory holds besides secrets: the embedded PostgreSQL, and the objects of the embedded store. */
export type DataPart = "postgres" | "objects"

/** `installation.json`: which installation a data directory belongs to, and what has been created in it. */
interface DataRecord {
  readonly id: string
  readonly parts: ReadonlyArray<DataPart>
}

/** The file that is there as long as the part is. */
const signs = { postgres: "postgres", objects: join("objects", "index.db") } as const
const titles = { postgres: "database", objects: "store" } as const

/** A link to a directory that no longer exists is there: opening the cluster says what to do about it. */
const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

const recordFile = (path: string) => join(path, "installation.json")

/** Whether the directory has data that belong to secrets. */
export const hasData = (path: string): boolean => Object.values(signs).some((sign) => isThere(join(path, sign)))

/**
 * Fails if a part has to be created although the directory had it: its disk may not be mounted, or a restore is incomplete. An
 * empty one in its place would look as if everything had been deleted.
 */
export const checkNotLost = Effect.fnUntraced(function* (path: string, part: DataPart) {
  const sign = join(path, signs[part])
  if (isThere(sign)) return
  const parts = (yield* readStored<DataRecord>(recordFile(path)))?.parts ?? []
  const blobs =
    part === "objects"
      ? yield* attempt(`Failed to read ${path}`, () => readdir(join(path, "objects", "blobs")).catch(() => []))
      : []
  if (!parts.includes(part) && blobs.length === 0) return
  return yield* new StartError({
    message: `${sign} is missing, but ${path} (SVC_DATA_DIR) has held its ${titles[part]}: restore it, or check that its disk is mounted. To start with an empty ${titles[part]}, move ${blobs.length > 0 ? `${join(path, "objects")} and ` : ""}${recordFile(path)} away`
  })
})

/** Records that a directory, whose id is recorded, has a part. */
export const recordPart = Effect.fnUntraced(function* (path: string, part: DataPart, owner: FileOwner | undefined) {
  const record = yield* readStored<DataRecord>(recordFile(path))
  if (record === undefined || record.parts.includes(part)) return
  yield* writeStored(recordFile(path), { ...record, parts: [...record.parts, part] }, owner)
})

const lost = (path: string, file: string) =>
  `${file} is missing, but ${path} (SVC_DATA_DIR) has data. It holds the password of the database, the key that decrypts saved connections and second factors (encryption_key), the secret that verifies the tokens of users (jwt_secret), and the credentials of S3 clients (s3_access_key, s3_secret_key), unless settings give them. Restore the file from a copy. To go on without it, which loses what these protect, create it with the content {}: new secrets are then generated`

const foreign = (path: string, file: string) =>
  `${file} belongs to another installation than ${path} (SVC_DATA_DIR): its keys neither decrypt what is stored there nor verify its users' tokens. Restore the file of this installation. To use it nevertheless, move ${recordFile(path)} away`

/** Fails if secrets would have to be generated, or would be used, that are not those of the directory's data. */
export const checkSecrets = Effect.fnUntraced(function* (
  path: string,
  file: string,
  secrets: Readonly<Record<string, string>> | undefined
) {
  if (secrets === undefined) return hasData(path) ? yield* new StartError({ message: lost(path, file) }) : undefined
  const record = yield* readStored<DataRecord>(recordFile(path))
  const id = secrets["installation"]
  if (record === undefined || id === undefined || id === record.id) return
  return yield* new StartError({ message: foreign(path, file) })
})

/** The id that connects a directory with its secrets; it is recorded at the first use. */
export const installationId = Effect.fnUntraced(function* (
  path: string,
  secrets: Readonly<Record<string, string>>,
  owner: FileOwner | undefined
) {
  const stored = yield* readStored<DataRecord>(recordFile(path))
  if (stored !== undefined) return stored.id
  const id = secrets["installation"] ?? randomUUID()
  yield* writeStored(recordFile(path), { id, parts: [] } satisfies DataRecord, owner)
  return id
})
