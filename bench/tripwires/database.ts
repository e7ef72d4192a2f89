import { setTimeout as sleep } from "node:timers/promises"
import { type Client } from "pg"
import { ddlEpochSql } from "../../src/domain/catalogue/DdlSql.ts"
import { type Case } from "./cases.ts"
import { type Target } from "./target.ts"
import { lockClass } from "./ways/maker.ts"

const locks = `pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.classid = ${lockClass} and a.application_name like 'svc rows%'`

/**
 * Whether a session has a tripwire's lock, and how often the tripwire has run. What runs user code loses its locks in the
 * reset behind it, also when it has failed or was rolled back; a connection that callers share is never reset, and keeps them.
 */
const seen = {
  name: "seen",
  text: `select exists (select from pg_locks where locktype = 'advisory' and classid = ${lockClass}) as held,
    coalesce(pg_stat_get_function_calls($1::oid), 0)::int as calls`
}

/** The reset follows the answer after a moment, in ms. */
const patience = 1_000

const makes = ({ ddl, id }: Case) => `do $each$ begin ${ddl.map((sql) => `execute $part$${sql}$part$;`).join("\n")}
  exception when others then insert into public.refused values (${id}, sqlerrm); end $each$;`

interface Database {
  /** Makes the objects of these cases and no others. Returns what PostgreSQL refused, by the numbers of the cases. */
  readonly make: (cases: ReadonlyArray<Case>) => Promise<ReadonlyMap<number, string>>
  readonly unmake: (cases: ReadonlyArray<Case>) => Promise<void>
  /** How often the case's tripwire has run, and whether it may have left a lock. */
  readonly look: (one: Case) => Promise<{ readonly held: boolean; readonly calls: number }>
  /** The numbers of the cases whose tripwires ran on connections that callers share; closes these. */
  readonly caught: () => Promise<ReadonlyArray<number>>
}

/** `outside`: a superuser's connection. */
export const makeDatabase = (outside: Client, target: Target): Database => {
  let made = 0
  let tripwires: ReadonlyMap<number, string> = new Map()

  const make = async (cases: ReadonlyArray<Case>) => {
    made += 1
    const marker = `batch_${made}`
    await outside.query(`set client_min_messages = error; begin;
      drop schema if exists public, other cascade; create schema public; create schema other;
      grant usage on schema public, other to public; create table public.refused (id int, why text);
      create table public.${marker} (id int); grant select on public.${marker} to public; set local search_path = public;
      ${cases.map(makes).join("\n")}
      commit; select pg_advisory_unlock_all()`)
    const refused = await outside.query<{ id: number; why: string }>("select id, why from public.refused")
    const fired = await outside.query<{ id: string; oid: string }>(
      `select substring(p.proname from '^c([0-9]+)_trip') as id, max(p.oid)::text as oid
       from pg_proc p join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
       where p.oid >= 16384 and p.proname ~ '^c[0-9]+_trip' group by 1`
    )
    tripwires = new Map(fired.rows.map(({ id, oid }) => [Number(id), oid]))
    const [now] = (await outside.query<{ epoch: string }>(`select ${ddlEpochSql}::text as epoch`)).rows
    await target.caughtUp(Number(now?.epoch), marker)
    return new Map(refused.rows.map(({ id, why }) => [id, why]))
  }

  const unmake = async (cases: ReadonlyArray<Case>) => {
    for (const undo of cases.flatMap(({ undo }) => undo)) await outside.query(undo).catch(() => undefined)
  }

  const look = async ({ id }: Case) => {
    const { rows } = await outside.query<{ held: boolean; calls: number }>({
      ...seen,
      values: [tripwires.get(id) ?? "0"]
    })
    return rows[0] ?? { held: false, calls: 0 }
  }

  const caught = async () => {
    const until = Date.now() + patience
    for (;;) {
      const { rows } = await outside.query<{ id: number }>(`select distinct l.objid::int as id from ${locks}`)
      if (rows.length > 0 && Date.now() < until) {
        await sleep(10)
        continue
      }
      if (rows.length > 0) await outside.query(`select pg_terminate_backend(a.pid) from ${locks}`)
      return rows.map(({ id }) => id)
    }
  }

  return { make, unmake, look, caught }
}
