import { DatabaseSync } from "node:sqlite"

// Runs in the index thread, like everything it imports: these modules must not load Effect.

/** Keys are blobs, so that they compare as UTF-8 bytes. `segments` comes last, because listings don't read it. */
const first = `
  CREATE TABLE starts (number INTEGER NOT NULL);
  INSERT INTO starts VALUES (0);
  CREATE TABLE buckets (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, policy TEXT, cors TEXT
  );
  CREATE TABLE objects (
    bucket INTEGER NOT NULL, key BLOB NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL, modified INTEGER NOT NULL,
    meta TEXT NOT NULL, segments TEXT NOT NULL, PRIMARY KEY (bucket, key)
  ) WITHOUT ROWID;
  CREATE TABLE files (id TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE small (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE uploads (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, bucket INTEGER NOT NULL, key BLOB NOT NULL,
    created INTEGER NOT NULL, meta TEXT NOT NULL
  );
  CREATE INDEX uploads_by_key ON uploads (bucket, key, id);
  CREATE TABLE parts (
    upload INTEGER NOT NULL, part INTEGER NOT NULL, blob TEXT NOT NULL, size INTEGER NOT NULL, md5 TEXT NOT NULL,
    modified INTEGER NOT NULL, checksum TEXT, PRIMARY KEY (upload, part)
  ) WITHOUT ROWID;
  CREATE TABLE completed (
    upload TEXT PRIMARY KEY, bucket INTEGER NOT NULL, at INTEGER NOT NULL, object TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX completed_by_age ON completed (at);
`

/** The statements that lead from each format to the next. Databases of a newer format are not opened. */
const steps = [
  first,
  `ALTER TABLE buckets ADD COLUMN publicAccess TEXT;
   ALTER TABLE buckets ADD COLUMN lifecycle TEXT;
   ALTER TABLE buckets ADD COLUMN tagging TEXT;`
]
const version = steps.length

/**
 * Opens the index, creates its tables if it is new, and counts this start. Throws an Error with a one-line message for
 * the operator. The lock lasts until the database is closed or the process ends.
 */
export const openDatabase = (file: string): { readonly database: DatabaseSync; readonly start: number } => {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    database.exec("PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864")
    database.exec("BEGIN EXCLUSIVE")
    const found = Number(Object.values(database.prepare("PRAGMA user_version").get() ?? {})[0])
    if (found > version)
      throw new Error(`it was written by a newer version (format ${found}; this version supports up to ${version})`)
    if (found < version) database.exec(`${steps.slice(found).join("")} PRAGMA user_version = ${version}`)
    const counted = database.prepare("UPDATE starts SET number = number + 1 RETURNING number").get()
    database.exec("COMMIT")
    return { database, start: Number(counted?.["number"]) }
  } catch (cause) {
    database.close()
    throw String(cause).includes("is locked") ? new Error("it is in use by another process", { cause }) : cause
  }
}
