import { Client } from "pg"
import { Random } from "../isolation/random.ts"
import { ddlEpochSql } from "../../src/domain/catalogue/DdlSql.ts"
import { type Case, makeCase, makeWildCase } from "./cases.ts"
import { lockClass } from "./maker.ts"
import { type Asked, requestsOn, textOf } from "./requests.ts"
import { type Target } from "./target.ts"

export interface Options {
  readonly seed: number
  /** Requests to make. */
  readonly statements: number
  /** Cases whose objects are made together. */
  readonly batch: number
  /** Stops at so many violations. */
  readonly stopAfter: number
  readonly progress?: (report: Report) => void
  readonly found?: (violation: Violation) => void
}

/** User code that ran on a connection where none may run. */
export interface Violation {
  readonly seed: number
  /** Requests made until it was found. */
  readonly after: number
  readonly ways: ReadonlyArray<string>
  readonly sql: string
  readonly request: string
}

interface WayCount {
  cases: number
  refused: number
  reached: number
  clean: number
}

export interface Report {
  readonly seed: number
  statements: number
  cases: number
  /** Cases whose objects PostgreSQL did not accept. */
  refused: number
  /** Requests that succeeded. */
  answered: number
  /** Requests that ran on clean connections. */
  clean: number
  /** Requests of cases with a tripwire, and those of them during which it ran where user code may run. */
  hidden: number
  reached: number
  /** Requests of cases without a tripwire, and those of them that ran on clean connections. */
  harmless: number
  harmlessClean: number
  seconds: number
  readonly ways: Record<string, WayCount>
  readonly violations: Array<Violation>
  /** Why PostgreSQL refused cases: the message, by ways. */
  readonly refusals: Array<string>
}

/** The sessions of `/v1/db` that still hold a tripwire's lock, and how often tripwires have run. */
const tripped = `
  select coalesce((select array_agg(distinct l.objid::int) from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and l.classid = ${lockClass} and a.application_name like 'svc rows%'), '{}') as held,
    coalesce(pg_stat_get_function_calls($1::oid), 0)::int as calls`

const quick = `
  select exists (select from pg_locks where locktype = 'advisory' and classid = ${lockClass} and pid <> pg_backend_pid()) as held,
    coalesce(pg_stat_get_function_calls($1::oid), 0)::int as calls`

const close = `select pg_terminate_backend(a.pid) from pg_stat_activity a join pg_locks l on l.pid = a.pid and l.locktype = 'advisory' and l.classid = ${lockClass}
  where a.pid <> pg_backend_pid()`

/** The reset behind user code frees its locks a moment after the answer. */
const patience = 400

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const caseSql = ({ ddl, id }: Case) => `do $each$ begin ${ddl.map((sql) => `execute $part$${sql}$part$;`).join("\n")}
  exception when others then insert into public.refused values (${id}, sqlerrm); end $each$;`

export const runTripwires = async (databaseUrl: string, target: Target, options: Options): Promise<Report> => {
  const outside = new Client({ connectionString: databaseUrl })
  await outside.connect()
  const random = new Random(options.seed)
  const report: Report = {
    seed: options.seed,
    statements: 0,
    cases: 0,
    refused: 0,
    answered: 0,
    clean: 0,
    hidden: 0,
    reached: 0,
    harmless: 0,
    harmlessClean: 0,
    seconds: 0,
    ways: {},
    violations: [],
    refusals: []
  }
  const started = performance.now()
  let lastCase = 0
  let batches = 0
  let makes = 0

  /** Makes the objects of these cases, and no others. Returns the ids of those that PostgreSQL refused. */
  const make = async (cases: ReadonlyArray<Case>) => {
    makes += 1
    const marker = `batch_${makes}`
    await outside.query(`set check_function_bodies = on; set client_min_messages = error;
      begin; drop schema if exists public, other cascade; create schema public; create schema other;
      grant usage on schema public, other to public; create table public.refused (id int, why text);
      create table public.${marker} (id int); grant select on public.${marker} to public; set local search_path = public;
      ${cases.map(caseSql).join("\n")}
      commit; select pg_advisory_unlock_all()`)
    const refused = await outside.query<{ id: number; why: string }>("select id, why from public.refused")
    const [{ epoch } = { epoch: 0 }] = (await outside.query<{ epoch: string }>(`select ${ddlEpochSql}::text as epoch`))
      .rows
    await target.caughtUp(Number(epoch), marker)
    return new Map(refused.rows.map(({ id, why }) => [id, why]))
  }

  const unmake = async (cases: ReadonlyArray<Case>) => {
    for (const undo of cases.flatMap(({ undo }) => undo)) await outside.query(undo).catch(() => undefined)
  }

  /** The cases whose tripwires ran where none may run. */
  const held = async () => {
    const until = Date.now() + patience
    for (;;) {
      const { rows } = await outside.query<{ held: ReadonlyArray<number> }>(tripped, [0])
      const ids = rows[0]?.held ?? []
      if (ids.length === 0 || Date.now() > until) return ids
      await pause(10)
    }
  }

  /** Whether a request of the case, whose objects exist, runs its tripwire on a clean connection. */
  const violates = async ({ id }: Case, asked: Asked) => {
    await target.ask(asked)
    const ids = await held()
    if (ids.length > 0) await outside.query(close)
    return ids.includes(id)
  }

  /** Leaves out objects while the violation remains. */
  const shrink = async (one: Case, asked: Asked) => {
    let best = one
    const tries = async (ddl: ReadonlyArray<string>) => {
      const next = { ...best, ddl }
      const refused = await make([next])
      const still = refused.size === 0 && (await violates(next, asked))
      await unmake([next])
      if (still) best = next
      return still
    }
    if (!(await tries(one.ddl))) return { sql: one.ddl, alone: false }
    for (let at = best.ddl.length - 1; at >= 0; at--) await tries(best.ddl.filter((_, n) => n !== at))
    const split = best.ddl.flatMap((sql) =>
      /\$[a-z]+\$/.test(sql) ? [sql] : sql.split(/;\s*/).filter((part) => part.trim() !== "")
    )
    await tries(split)
    for (let at = best.ddl.length - 1; at >= 0; at--) await tries(best.ddl.filter((_, n) => n !== at))
    return { sql: best.ddl, alone: true }
  }

  const count = (one: Case, field: keyof WayCount) => {
    for (const way of new Set(one.ways))
      (report.ways[way] ??= { cases: 0, refused: 0, reached: 0, clean: 0 })[field] += 1
  }

  const askAll = async (one: Case, refusedWhy: string | undefined) => {
    report.cases += 1
    count(one, "cases")
    if (refusedWhy !== undefined) {
      report.refused += 1
      count(one, "refused")
      if (report.refusals.length < 4000) report.refusals.push(`${one.ways.join(" < ")} (${one.kind}): ${refusedWhy}`)
      return undefined
    }
    const { rows } = await outside.query<{ oid: string }>(
      `select coalesce(max(oid), 0)::text as oid from pg_proc where proname ~ $1`,
      [`^c${one.id}_(trip|login)`]
    )
    const oid = rows[0]?.oid ?? "0"
    let calls = 0
    const reachedBefore = report.reached
    const cleanBefore = report.clean
    for (const asked of requestsOn(one, random)) {
      const told = await target.ask(asked)
      report.statements += 1
      if (told.status === "200") report.answered += 1
      if (told.clean === true) report.clean += 1
      const seen = (
        await outside.query<{ held: boolean; calls: number }>({ name: "quick", text: quick, values: [oid] })
      ).rows[0]
      const ran = (seen?.calls ?? 0) > calls
      calls = seen?.calls ?? 0
      if (one.trips) {
        report.hidden += 1
        if (ran) report.reached += 1
      } else {
        report.harmless += 1
        if (told.clean === true) report.harmlessClean += 1
      }
      if (seen?.held === true) {
        const ids = await held()
        if (ids.length > 0) {
          await outside.query(close)
          if (ids.includes(one.id)) return asked
        }
      }
    }
    if (report.reached > reachedBefore) count(one, "reached")
    if (report.clean > cleanBefore) count(one, "clean")
    return undefined
  }

  try {
    await outside.query(`alter database "${outside.database}" set track_functions = 'all'`)
    while (report.statements < options.statements && report.violations.length < options.stopAfter) {
      const cases =
        batches++ % 3 > 0
          ? [makeWildCase(random, ++lastCase)]
          : Array.from({ length: options.batch }, () => makeCase(random, ++lastCase))
      const refused = await make(cases)
      const found: Array<readonly [Case, Asked, number]> = []
      for (const one of cases) {
        if (report.statements >= options.statements) break
        const asked = await askAll(one, refused.get(one.id))
        if (asked !== undefined) found.push([one, asked, report.statements])
      }
      await unmake(cases)
      for (const [one, asked, after] of found) {
        if (report.violations.length >= options.stopAfter) break
        const { sql } = await shrink(one, asked)
        const violation = {
          seed: options.seed,
          after,
          ways: one.ways,
          sql: `${sql.join(";\n")};`,
          request: textOf(asked)
        }
        report.violations.push(violation)
        options.found?.(violation)
      }
      report.seconds = (performance.now() - started) / 1000
      options.progress?.(report)
    }
  } finally {
    await outside.end()
  }
  return report
}
