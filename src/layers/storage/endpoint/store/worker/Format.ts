import { historyTables } from "./History.ts"
import { placeTables } from "./Places.ts"

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
export const indexSteps: ReadonlyArray<string> = [
  first,
  `ALTER TABLE buckets ADD COLUMN publicAccess TEXT;
   ALTER TABLE buckets ADD COLUMN lifecycle TEXT;
   ALTER TABLE buckets ADD COLUMN tagging TEXT;`,
  `ALTER TABLE buckets ADD COLUMN versioning TEXT;
   ALTER TABLE objects ADD COLUMN version TEXT;
   ALTER TABLE objects ADD COLUMN since INTEGER;
   CREATE TABLE versions (
     bucket INTEGER NOT NULL, key BLOB NOT NULL, seq INTEGER NOT NULL, version TEXT, size INTEGER NOT NULL,
     etag TEXT NOT NULL, modified INTEGER NOT NULL, meta TEXT NOT NULL, marker INTEGER NOT NULL, superseded INTEGER,
     segments TEXT NOT NULL, PRIMARY KEY (bucket, key, seq DESC)
   ) WITHOUT ROWID;
   CREATE INDEX null_versions ON versions (bucket, key) WHERE version IS NULL;
   ${historyTables}`,
  placeTables
]
/** The format of the index that this version writes. It is the same in all releases of a minor version. */
export const indexFormat = indexSteps.length
