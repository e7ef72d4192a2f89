import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { ddlEpochSql } from "../../src/domain/catalogue/DdlSql.ts"
import { type Case } from "./cases.ts"
import { type Target } from "./target.ts"
import { lockClass } from "./ways/maker.ts"

/** The locks that tripwires have left in sessions of this database. */
const locks = `pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.classid = ${lockClass} and a.datname = current_database() and a.application_name like 'svc rows%'`

/**
 * What runs user code loses its locks in the reset that is sent together with the statement, also when this has failed or
 * was rolled back. A connection that callers share is never reset and keeps them, so its session is idle for longer.
 */
const heldSql = `select coalesce(array_agg(distinct l.objid::int), '{}') as ids,
  coalesce(bool_and(a.state <> 'active' and a.state_change < clock_timestamp() - interval '1 s'), true) as settled from ${locks}`

const makes = ({ ddl, id }: Case) => `do $each$ begin ${ddl.map((sql) => `execute $part$${sql}$part$;`).join("\n")}
  exception when others then insert into public.refused values (${id}, sqlerrm); end $each$;`

const schemas = `drop schema if exists public, other cascade; create schema public; create schema other;
  grant usage on schema public, other to public;`

/** The event triggers of the service would run for each of thousands of statements; one statement at the end is enough. */
const reporting = (state: string) =>
  ["svc_ddl", "svc_ddl_drop"].map((name) => `alter event trigger ${name} ${state};`).join(" ")

/** For a superuser, before the service starts: it warns of schemas that do not exist. */
export const makeSchemas = async (databaseUrl: string): Promise<void> => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`set client_min_messages = error; ${schemas}`)
  await client.end()
}

interface Database {
  /** Makes the objects of these cases and no others. Returns what PostgreSQL refused, by the numbers of the cases. */
  readonly make: (cases: ReadonlyArray<Case>) => Promise<ReadonlyMap<number, string>>
  readonly unmake: (cases: ReadonlyArray<Case>) => Promise<void>
  /** The numbers of the cases whose tripwires have run since they were made. */
  readonly reached: () => Promise<ReadonlySet<number>>
  /** The numbers of the cases whose tripwires ran on connections that callers share; closes these. For when no request runs. */
  readonly caught: () => Promise<ReadonlyArray<number>>
}

/** `outside`: a superuser's connection. */
export const makeDatabase = (outside: Client, target: Target): Database => {
  let made = 0
  let before: ReadonlyMap<number, number> = new Map()

  /** How often each case's tripwire has run. */
  const calls = async () => {
    const { rows } = await outside.query<{ id: string; calls: number }>(
      `select substring(p.proname from '^c([0-9]+)_trip') as id, coalesce(sum(pg_stat_get_function_calls(p.oid)), 0)::int as calls
       from pg_proc p join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
       where p.oid >= 16384 and p.proname ~ '^c[0-9]+_trip' group by 1`
    )
    return new Map(rows.map(({ calls, id }) => [Number(id), calls]))
  }

  const make = async (cases: ReadonlyArray<Case>) => {
    made += 1
    const marker = `batch_${made}`
    await outside.query(`set client_min_messages = error; begin; ${reporting("disable")} ${schemas} create table public.refused (id int, why text);
      create table public.${marker} (id int); grant select on public.${marker} to public; set local search_path = public;
      ${cases.map(makes).join("\n")}
      ${reporting("enable always")} comment on schema public is '${marker}'; commit; select pg_advisory_unlock_all()`)
    const refused = await outside.query<{ id: number; why: string }>("select id, why from public.refused")
    before = await calls()
    const [now] = (await outside.query<{ epoch: string }>(`select ${ddlEpochSql} as epoch`)).rows
    await target.caughtUp(Number(now?.epoch), marker)
    return new Map(refused.rows.map(({ id, why }) => [id, why]))
  }

  const unmake = async (cases: ReadonlyArray<Case>) => {
    for (const undo of cases.flatMap(({ undo }) => undo)) await outside.query(undo).catch(() => undefined)
  }

  const reached = async () => {
    const now = await calls()
    return new Set([...now].flatMap(([id, count]) => (count > (before.get(id) ?? 0) ? [id] : [])))
  }

  const caught = async () => {
    for (;;) {
      const { rows } = await outside.query<{ ids: ReadonlyArray<number>; settled: boolean }>(heldSql)
      const { ids, settled } = rows[0] ?? { ids: [], settled: true }
      if (settled) {
        if (ids.length > 0) await outside.query(`select pg_terminate_backend(a.pid) from ${locks}`)
        return ids
      }
      await sleep(10)
    }
  }

  return { make, unmake, reached, caught }
}
