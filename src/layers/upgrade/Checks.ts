import { Effect } from "effect"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { inMib, requireSpace } from "../process/FreeSpace.ts"
import { StartError } from "../process/StartError.ts"
import { type Ask } from "./Servers.ts"
import { type SharedObjects } from "./Shared.ts"

/** Space in bytes for the log and the files of a new cluster, besides the databases. */
const reserve = 1024 * 1024 * 1024
const failed = (message: string) => new StartError({ message })

/** Fails for what a dump can't take along. */
const checkMovable = Effect.fnUntraced(function* (old: Ask, cluster: string, { databases }: SharedObjects) {
  const spaces = yield* Effect.promise(() => readdir(join(cluster, "pg_tblspc")).catch(() => []))
  if (spaces.length > 0) {
    return yield* failed(
      "The data directory has tablespaces, which an upgrade can't move: move their tables and databases to pg_default with the previous release, and drop them"
    )
  }
  const [prepared] = yield* old("select count(*)::int as count from pg_prepared_xacts")
  if (prepared?.["count"] !== 0) {
    return yield* failed(
      `${String(prepared?.["count"])} prepared transactions are open: commit them or roll them back with the previous release (pg_prepared_xacts)`
    )
  }
  const closed = databases.find(({ connectable, name }) => connectable === false && name !== "template0")
  if (closed !== undefined) {
    return yield* failed(
      `The database ${String(closed["name"])} admits no connections, so it can't be dumped: with the previous release, drop it, or alter database … with allow_connections true`
    )
  }
  return undefined
})

/** Fails with what is needed unless the disk has space for a second copy and the largest dump. */
const checkSpace = Effect.fnUntraced(function* (old: Ask, parent: string) {
  const [size] = yield* old(
    "select sum(pg_database_size(oid))::float8 as all, max(pg_database_size(oid))::float8 as largest from pg_database where datconnlimit <> -2"
  )
  const needed = Number(size?.["all"]) + Number(size?.["largest"]) + reserve
  const remark = "It holds a second copy of the databases and a dump. Nothing was changed"
  const free = yield* requireSpace("The upgrade", parent, needed, remark)
  return yield* Effect.logInfo(
    `The databases have ${inMib(Number(size?.["all"]))}; the upgrade needs up to ${inMib(needed)}, and ${inMib(free)} are free`
  )
})

/** Fails if an extension of the old databases is not there for the new server. */
const checkExtensions = Effect.fnUntraced(function* (database: string, old: Ask, made: Ask) {
  const available = new Set((yield* made("select name from pg_available_extensions")).map(({ name }) => String(name)))
  const used = yield* old("select extname::text as name from pg_extension order by 1")
  const missing = used.map(({ name }) => String(name)).filter((name) => !available.has(name))
  if (missing.length > 0) {
    return yield* failed(
      `The database ${database} has extensions that the new PostgreSQL does not have: ${missing.join(", ")}. Drop them with the previous release. Nothing was changed`
    )
  }
  return undefined
})

/**
 * Fails for domains whose constraints call functions of roles that are not superusers: a default or a view that has a value of
 * such a type runs them while it is created, which only the superuser can do.
 */
const checkDomains = Effect.fnUntraced(function* (database: string, old: Ask) {
  const found = yield* old(`
    select distinct format('%s (constraint %I)', t.oid::regtype, k.conname) as name
    from pg_constraint k join pg_type t on t.oid = k.contypid
    join pg_depend d on d.classid = 'pg_constraint'::regclass and d.objid = k.oid
    left join pg_proc p on d.refclassid = 'pg_proc'::regclass and p.oid = d.refobjid
    left join pg_operator o on d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid
    join pg_roles r on r.oid = coalesce(p.proowner, o.oprowner)
    where not r.rolsuper and coalesce(p.oid, o.oid) >= 16384 order by 1`)
  if (found.length > 0) {
    return yield* failed(
      `Domains of the database ${database} call functions of roles that are not superusers, and the upgrade would run them as a superuser: ${found.map(({ name }) => String(name)).join(", ")}. Drop these constraints with the previous release, and add them again after the upgrade; or give the functions to postgres, if you trust them. Nothing was changed`
    )
  }
  return undefined
})

/** What the operator has to know about what is not the same afterwards. */
const warn = Effect.fnUntraced(function* (old: Ask) {
  const slots = yield* old(
    "select slot_name::text as name from pg_replication_slots where slot_name !~ '^svc_(changes|archive)_' order by 1"
  )
  if (slots.length > 0) {
    yield* Effect.logWarning(
      `Replication slots of other programs end with the old data directory; their readers have to begin again: ${slots.map(({ name }) => String(name)).join(", ")}`
    )
  }
})

/** Fails for what an upgrade of a cluster can't do, before anything is made. `parent`: where the new cluster is to be. */
export const checkUpgradable = Effect.fnUntraced(function* (
  old: Ask,
  cluster: string,
  parent: string,
  shared: SharedObjects
) {
  yield* checkMovable(old, cluster, shared)
  yield* checkSpace(old, parent)
  yield* warn(old)
})

/** Fails for what of a database the new server can't take. */
export const checkLoadable = (database: string, old: Ask, made: Ask) =>
  Effect.andThen(checkExtensions(database, old, made), checkDomains(database, old))
