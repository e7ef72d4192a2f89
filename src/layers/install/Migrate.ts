import { Effect } from "effect"
import { type SqlClient, type SqlError } from "effect/sql"
import { InstallError } from "./Errors.ts"

/** A migration runs within the transaction of the installation. */
type OwnMigration = Effect.Effect<unknown, SqlError.SqlError, SqlClient.SqlClient>

/** The version and migrations of a release. */
export interface OwnSchema {
  /** `major.minor.patch`. */
  readonly version: string
  /** Migrations by number and name: `0001_keys`. */
  readonly migrations: Readonly<Record<string, OwnMigration>>
}

/** The setting in the database: the newest version that has migrated it. */
const versionSetting = "schema_version"

const parts = (version: string) => version.split(/[.-]/, 3).map(Number)

/** Migrations within a minor version only add, so that its versions can run at the same time on one database. */
const isSameMinor = (one: string, other: string) => {
  const [a, b] = [parts(one), parts(other)]
  return a[0] === b[0] && a[1] === b[1]
}

const isNewer = (one: string, other: string) => {
  const [a, b] = [parts(one), parts(other)]
  const differing = a.findIndex((part, n) => part !== b[n])
  return differing >= 0 && (a[differing] ?? 0) > (b[differing] ?? 0)
}

/**
 * Runs the migrations that the database lacks, in the order of their numbers. Those that it has beyond them come from a
 * newer version: of the same minor version they are no obstacle, because they only add; of any other, the start fails.
 */
export const migrate = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { migrations, version }: OwnSchema) {
  // A database may have event triggers that reject any DDL, also that of IF NOT EXISTS.
  const [found] = yield* sql.unsafe<{ readonly exists: boolean }>(
    "select pg_catalog.to_regclass('svc.migrations') is not null as exists"
  )
  if (found?.exists !== true) {
    yield* sql.unsafe(`create table svc.migrations (
      migration_id integer primary key, created_at timestamptz not null default now(), name text not null)`)
  }
  const rows = yield* sql.unsafe<{ readonly id: number; readonly name: string }>(
    "select migration_id::int4 as id, name from svc.migrations order by 1"
  )
  const applied = new Set(rows.map(({ id }) => id))
  const own = Object.entries(migrations)
    .map(([key, run]) => ({ id: Number.parseInt(key, 10), name: key.replace(/^\d+_/, ""), run }))
    .toSorted((one, other) => one.id - other.id)
  const known = new Set(own.map(({ id }) => id))
  const [newer] = rows.filter(({ id }) => !known.has(id)).slice(-1)
  // The table of settings exists from the first migration on.
  const [by] =
    rows.length === 0
      ? []
      : yield* sql.unsafe<{ readonly value: string }>("select value from svc.settings where name = $1", [
          versionSetting
        ])
  if (newer !== undefined && (by === undefined || !isSameMinor(by.value, version))) {
    const last = own.at(-1)?.id ?? 0
    return yield* new InstallError({
      message: `The database was migrated by ${by === undefined ? "a newer version" : `version ${by.value}`} (migration ${newer.id}_${newer.name}); this is version ${version}, which knows migrations up to ${last} and can only share a database with versions of the same minor version. Start the newer version, or restore a backup from before the upgrade`
    })
  }
  if (newer !== undefined) {
    yield* Effect.logInfo(
      `The database has been migrated by version ${by?.value}, which only adds to what version ${version} uses`
    )
  }
  // A missing number may be below the highest applied one: it may come with a later release.
  const missing = own.filter(({ id }) => !applied.has(id))
  for (const { id, name, run } of missing) {
    yield* run
    yield* sql.unsafe("insert into svc.migrations (migration_id, name) values ($1::int4, $2)", [id, name])
  }
  if (by !== undefined && (missing.length === 0 || !isNewer(version, by.value))) return
  yield* sql.unsafe(
    "insert into svc.settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
    [versionSetting, version]
  )
})
