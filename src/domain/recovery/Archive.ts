import { Schema } from "effect"

/** The version of the archive's layout; an archive of a newer one is refused. */
export const archiveFormat = 1

export const archiveFile = "archive.json"
/** The installation's secrets, which it needs to read its own tables: names of files, and their texts. */
export const installationFile = "installation.json"

/** Positions as PostgreSQL writes them, such as `0/3000060`. */
const Lsn = Schema.String

/** `archive.json`, the only object that is not encrypted: it has no secrets but sealed ones. */
export const ArchiveInfo = Schema.Struct({
  format: Schema.Int,
  id: Schema.String,
  created_at: Schema.String,
  /** PostgreSQL's identifier of the cluster. */
  system_identifier: Schema.String,
  /** Bytes of a segment of the log. */
  segment_size: Schema.Int,
  /** The major version of PostgreSQL, whose programs a restore needs. */
  major: Schema.Int,
  /** The database of the service in the cluster, and its login. */
  database: Schema.String,
  user: Schema.String,
  /** The archive's key, sealed with the installation's encryption key, and with the recovery key (SealedText). */
  keys: Schema.Struct({ installation: Schema.String, recovery: Schema.NullOr(Schema.String) }),
  /** When a person proved that the recovery key was kept; null: not yet. */
  recovery_key_kept_at: Schema.NullOr(Schema.String)
})
export type ArchiveInfo = typeof ArchiveInfo.Type

/** An archive of files in a base backup: of the cluster (`base`), or of a tablespace (its oid). */
const BaseVolume = Schema.Struct({
  name: Schema.String,
  /** Where the tablespace was. */
  location: Schema.NullOr(Schema.String),
  /** Numbers of objects, each at most `partBytes` of the tar archive. */
  parts: Schema.Int,
  bytes: Schema.Int
})

/** `base/<id>/base.json`, written last: a base backup without it is not complete. */
export const BaseBackup = Schema.Struct({
  id: Schema.String,
  timeline: Schema.Int,
  /** The log from the one position to the other is needed to use it. */
  start: Lsn,
  end: Lsn,
  started_at: Schema.String,
  /** The server's clock after its end: the earliest time that it can be restored to. */
  ended_at: Schema.String,
  volumes: Schema.Array(BaseVolume),
  /** Bytes of the cluster's files, and of the objects. */
  bytes: Schema.Int,
  stored_bytes: Schema.Int,
  /** Settings that a server needs to recover it, at least as high as they were (PostgreSQL documentation, 26.4.3). */
  settings: Schema.Record(Schema.String, Schema.String),
  server_version: Schema.String
})
export type BaseBackup = typeof BaseBackup.Type

const folder = (id: string) => `base/${id}/`
export const baseFolder = "base/"
export const baseFile = (id: string) => `${folder(id)}base.json`
export const manifestFile = (id: string) => `${folder(id)}manifest`
export const partFile = (id: string, volume: string, part: number) =>
  `${folder(id)}${volume}.${String(part).padStart(6, "0")}`

/** The id in the name of an object of a base backup. */
export const baseIdOf = (name: string): string | undefined => /^base\/([^/]+)\//.exec(name)?.[1]

/** Bytes of a tar archive in one object. */
export const partBytes = 8 * 1024 * 1024

/** When a base backup of this id began, in ms since 1970; NaN for another text. */
export const beganAt = (id: string): number => {
  const [, date, time] = /^(\d{8})T(\d{6})Z-/.exec(id) ?? []
  const pairs = (text = "") => text.match(/\d\d/g) ?? []
  const [century = "", year = "", ...days] = pairs(date)
  return Date.parse(`${century}${year}-${days.join("-")}T${pairs(time).join(":")}Z`)
}
