import { Cause, Clock, Effect } from "effect"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { logFailure, sqlStateOf } from "../OwnTables.ts"
import { CallerSql } from "../ports/realtime/CallerSql.ts"
import { type Actor, claimsSetting } from "../ports/Db.ts"
import { monotonicMillis } from "../access/RateLimits.ts"

/** A row as JSON, whose numbers have all their digits. */
export type Row = Readonly<Record<string, unknown>>

/** A table whose rows are found by their key. */
export interface KeyedTable {
  /** The table as SQL. */
  readonly sql: string
  readonly columns: ReadonlyArray<{
    readonly name: string
    /** The type as SQL. */
    readonly sql: string
    readonly key: boolean
  }>
}

/** Callers of one statement. */
const callersAtOnce = 500
/** A statement begins with no further reader after so many ms, and is cancelled when it takes this long, or waits for a lock. */
const [budgetMillis, timeoutMillis, lockMillis] = [500, 2_000, 500]
/** Statements that are cancelled to find the reader whose policies take too long, among 500. */
const maxCancelled = 12
/** How long a reader is not asked again whose policies took too long alone, in ms. */
const slowMillis = 30_000

/** Who reads: those with the same role and claims see the same rows. */
export const readerKey = (actor: Actor) => `${actor.role} ${claimsSetting(actor)}`

const literal = (value: unknown) => quoteLiteral(typeof value === "string" ? value : JSON.stringify(value))

/** `(n, key…)` of rows as SQL; rows without a whole key are left out. */
export const keysOf = (rows: ReadonlyMap<number, Row>, { columns }: KeyedTable) => {
  const keys = columns.filter(({ key }) => key)
  const whole = [...rows].filter(([, row]) => keys.every(({ name }) => row[name] !== undefined && row[name] !== null))
  if (keys.length === 0 || whole.length === 0) return undefined
  const values = whole.map(
    ([n, row]) => `(${n}, ${keys.map(({ name, sql }) => `${literal(row[name])}::${sql}`).join(", ")})`
  )
  const names = keys.map((_, at) => `k${at}`)
  const same = keys.map(({ name }, at) => `t.${quoteName(name)} = k.k${at}`).join(" and ")
  return { from: `(values ${values.join(", ")}) k (n, ${names.join(", ")})`, same }
}

/**
 * Runs a query as each reader, and leaves one text for each in `svc.found`: the result; null for those whose policies fail,
 * and nothing for those whose turn has not come. A prepared statement is planned once for all readers of a role, and each
 * execution evaluates the policies again. What a policy's functions leave, in the database or in the session, is rolled
 * back before the next reader's turn.
 */
const evaluateSql = `do $do$ declare
    query text := pg_catalog.current_setting('svc.query');
    readers jsonb := pg_catalog.current_setting('svc.readers');
    reader jsonb;
    result text;
    answers jsonb := '[]';
  begin
    perform pg_catalog.set_config('svc.query', '', true), pg_catalog.set_config('svc.readers', '', true);
    if exists (select from pg_catalog.pg_prepared_statements where name = 'svc_visible') then deallocate svc_visible; end if;
    perform pg_catalog.set_config('search_path', 'public, extensions', true);
    perform pg_catalog.set_config('role', pg_catalog.current_setting('svc.caller'), true);
    execute 'prepare svc_visible as ' || query;
    for reader in select value from pg_catalog.jsonb_array_elements(readers) with ordinality e (value, n) order by n loop
      exit when pg_catalog.clock_timestamp() > pg_catalog.statement_timestamp() + '${budgetMillis} ms'::interval
        and answers <> '[]';
      result := null;
      begin
        perform pg_catalog.set_config('request.jwt.claims', reader ->> 'claims', true),
          pg_catalog.set_config('request.jwt.sub', reader ->> 'sub', true);
        execute 'execute svc_visible' into result;
        raise exception using errcode = 'SVC01';
      exception
        when sqlstate 'SVC01' then result := coalesce(result, '');
        when lock_not_available then raise;
        when others or assert_failure then result := null;
      end;
      answers := answers || pg_catalog.jsonb_build_array(result);
    end loop;
    deallocate svc_visible;
    perform pg_catalog.set_config('role', 'none', true), pg_catalog.set_config('svc.found', answers::text, true);
  end $do$`

/** Evaluates policies as callers: the rights of clients to the changes that they are sent. */
export const makeVisible = Effect.gen(function* () {
  const callers = yield* CallerSql
  /** Readers whose policies took too long, and until when they are not asked. */
  const slow = new Map<string, number>()

  const evaluate = Effect.fnUntraced(function* (role: string, some: ReadonlyArray<Actor>, query: string) {
    const readers = JSON.stringify(some.map((actor) => ({ claims: claimsSetting(actor), sub: actor.sub })))
    const found = yield* callers.withTransaction(
      Effect.gen(function* () {
        yield* callers`select set_config('svc.caller', ${role}, true), set_config('svc.query', ${query}, true),
          set_config('svc.readers', ${readers}, true), set_config('statement_timeout', ${String(timeoutMillis)}, true),
          set_config('lock_timeout', ${String(lockMillis)}, true)`
        yield* callers.unsafe(evaluateSql)
        const [row] = yield* callers<{ found: string }>`select current_setting('svc.found') as found`
        return row?.found ?? "[]"
      })
    )
    // Locks of a session outlive the transaction.
    yield* callers`select pg_advisory_unlock_all()`
    return JSON.parse(found) as ReadonlyArray<string | null>
  })

  /**
   * Which of the rows, by number, each reader may read now, by `readerKey`: one statement for all readers of a role, whose
   * policies PostgreSQL evaluates for each. Who gets no answer has no entry: its policies take too long, or the database is
   * unreachable.
   */
  const visible = Effect.fnUntraced(function* (
    rows: ReadonlyMap<number, Row>,
    readers: ReadonlyMap<string, Actor>,
    table: KeyedTable
  ) {
    const seen = new Map<string, ReadonlySet<number>>()
    const keys = keysOf(rows, table)
    if (keys === undefined) {
      for (const key of readers.keys()) seen.set(key, new Set())
      return seen
    }
    const query = `select string_agg(k.n::text, ',') from ${keys.from} where exists (select from ${table.sql} t where ${keys.same})`
    const now = monotonicMillis(yield* Clock.Clock)
    for (const [key, until] of slow) if (until <= now) slow.delete(key)
    let cancelled = 0
    const asked = [...readers].filter(([key]) => !slow.has(key))
    for (const [role, all] of Map.groupBy(asked, ([, actor]) => actor.role)) {
      const groups: Array<ReadonlyArray<readonly [string, Actor]>> = []
      for (let at = 0; at < all.length; at += callersAtOnce) groups.push(all.slice(at, at + callersAtOnce))
      for (let some = groups.shift(); some !== undefined; some = groups.shift()) {
        const actors = some.map(([, actor]) => actor)
        const found = yield* Effect.result(evaluate(role, actors, query))
        if (found._tag === "Success") {
          for (const [n, numbers] of found.success.entries()) {
            const key = some[n]?.[0] ?? ""
            seen.set(key, new Set(numbers ? numbers.split(",").map(Number) : []))
          }
          if (found.success.length < some.length) groups.unshift(some.slice(found.success.length))
          continue
        }
        const late = sqlStateOf(found.failure) === "57014"
        if (late && some.length > 1 && ++cancelled <= maxCancelled) {
          const half = Math.ceil(some.length / 2)
          groups.unshift(some.slice(0, half), some.slice(half))
          continue
        }
        if (late && some.length === 1) slow.set(some[0]?.[0] ?? "", now + slowMillis)
        // A lock, or the database: the others would wait for it too.
        else groups.length = 0
        yield* logFailure(`Failed to evaluate the policies of ${table.sql}; a change is not sent`)(
          Cause.fail(found.failure)
        )
      }
    }
    return seen
  })

  return visible
})
