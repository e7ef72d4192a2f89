import { Cause, Clock, Effect } from "effect"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { logFailure, sqlStateOf } from "../OwnTables.ts"
import { type Actor, claimsSetting } from "../ports/Db.ts"
import { monotonicMillis } from "../access/RateLimits.ts"
import { makeCallerTransactions } from "./CallerTransactions.ts"

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
  /** The columns that a role may read; undefined: all. */
  readonly readable?: (role: Actor["role"]) => ReadonlyArray<string>
}

/**
 * The part of a change that a reader may receive: its values, because the row that the reader may read still has them;
 * or only the key, because the row has other values by now, and the reader's right to the former ones can't be
 * determined.
 */
export type Sight = "values" | "key"

/** Callers of one statement. */
const callersAtOnce = 500
/** A statement begins with no further reader after so many ms, and is cancelled when it takes this long, or waits for a lock. */
const [budgetMillis, timeoutMillis, lockMillis] = [500, 2_000, 500]
/** Statements that are cancelled to find the reader whose policies take too long, among 500. */
const maxCancelled = 12
/** How long a reader is not asked again whose policies took too long alone, in ms. */
const slowMillis = 30_000

/**
 * Values of changes in one statement, and of one change times its readers, because they are compared for each, in
 * characters. Beyond, readers receive the key.
 */
const [maxCompared, maxComparisons] = [8 * 1024 * 1024, 128 * 1024 * 1024]

/** The queries that run as each reader. */
interface ReaderQuery {
  readonly values: string
  /** The query without a comparison, for values that can't be compared. */
  readonly keys: string
}

/** The reader's key: readers with the same role and claims may read the same rows. */
export const readerKey = (actor: Actor) => `${actor.role} ${claimsSetting(actor)}`

const literal = (value: unknown) => quoteLiteral(typeof value === "string" ? value : JSON.stringify(value))

/** `(n, key…)` of rows as SQL; rows without a whole key are left out. */
export const keysOf = (
  rows: ReadonlyMap<number, Row>,
  { columns }: Pick<KeyedTable, "columns">,
  more?: (row: Row) => string
) => {
  const keys = columns.filter(({ key }) => key)
  const whole = [...rows].filter(([, row]) => keys.every(({ name }) => row[name] !== undefined && row[name] !== null))
  if (keys.length === 0 || whole.length === 0) return undefined
  const values = whole.map(
    ([n, row]) =>
      `(${n}, ${keys.map(({ name, sql }) => `${literal(row[name])}::${sql}`).join(", ")}${more?.(row) ?? ""})`
  )
  const names = ["n", ...keys.map((_, at) => `k${at}`), ...(more === undefined ? [] : ["given"])]
  const same = keys.map(({ name }, at) => `t.${quoteName(name)} = k.k${at}`).join(" and ")
  return { from: `(values ${values.join(", ")}) k (${names.join(", ")})`, same }
}

/** Columns that the changes have values of, and that the role may read. */
const comparedColumns = (rows: ReadonlyMap<number, Row>, table: KeyedTable, role: Actor["role"]) => {
  const readable = table.readable?.(role)
  const given = new Set([...rows.values()].flatMap((row) => Object.keys(row)))
  return readable === undefined ? [...given] : readable.filter((name) => given.has(name))
}

/** The numbers of the rows that the reader may read now, as if each had other values than in its change. */
const keysSql = ({ from, same }: NonNullable<ReturnType<typeof keysOf>>, table: KeyedTable) =>
  `select string_agg((-1 - k.n)::text, ',') from ${from} where exists (select from ${table.sql} t where ${same})`

/**
 * The numbers of the rows that the reader may read now, negative (-1 - n) of those that have other values than in the
 * change. A row that came incomplete is compared by the columns that it came with. Values are compared where policies
 * have been evaluated (`offset 0`).
 */
const visibleSql = (
  rows: ReadonlyMap<number, Row>,
  table: KeyedTable,
  role: Actor["role"],
  readers: number
): ReaderQuery | undefined => {
  const names = comparedColumns(rows, table, role)
  let left = maxCompared
  const given = (row: Row) => {
    const text = JSON.stringify(
      Object.fromEntries(names.flatMap((name) => (Object.hasOwn(row, name) ? [[name, row[name]]] : [])))
    )
    if (text.length > Math.min(left, maxComparisons / readers)) return ", null::pg_catalog.jsonb"
    // Jsonb has no such characters, and a value that it does not accept would make all others unknown.
    if (/\\u(?:0000|d[89a-f])/i.test(text)) return ", null::pg_catalog.jsonb"
    left -= text.length
    return `, ${quoteLiteral(text)}::pg_catalog.jsonb`
  }
  const [compared, found] = [keysOf(rows, table, given), keysOf(rows, table)]
  if (compared === undefined || found === undefined) return undefined
  const alone = keysSql(found, table)
  if (names.length === 0) return { values: alone, keys: alone }
  const values = `select string_agg((case when v.now operator(pg_catalog.=) v.given or coalesce((
        select pg_catalog.bool_and(v.now operator(pg_catalog.->) e.key is not distinct from e.value)
        from pg_catalog.jsonb_each(v.given) e), false)
      then k.n else -1 - k.n end)::text, ',')
    from ${compared.from} join ${table.sql} t on ${compared.same} cross join lateral (
      select k.given, case when k.given is not null then pg_catalog.to_jsonb(c) end as now
      from (select ${names.map((name) => `t.${quoteName(name)}`).join(", ")}) c offset 0) v`
  return { values, keys: alone }
}

/**
 * Runs a query as each reader, and leaves one text for each in `svc.found`: the result; null for those whose policies fail,
 * and nothing for those whose turn has not come. A prepared statement is planned once for all readers of a role, unless
 * `svc.replan` is true, and each execution evaluates the policies again. What a policy's functions leave, in the database or
 * in the session, is rolled back before the next reader's turn. Where values can't be compared, `svc.keys` finds the rows
 * instead.
 */
const evaluateSql = `do $do$ declare
    query text := pg_catalog.current_setting('svc.query');
    keys text := pg_catalog.current_setting('svc.keys');
    readers jsonb := pg_catalog.current_setting('svc.readers');
    replan boolean := pg_catalog.current_setting('svc.replan');
    reader jsonb;
    attempt text;
    result text;
    answers jsonb := '[]';
  begin
    perform pg_catalog.set_config('svc.query', '', true), pg_catalog.set_config('svc.keys', '', true),
      pg_catalog.set_config('svc.readers', '', true);
    if exists (select from pg_catalog.pg_prepared_statements where name = 'svc_visible') then deallocate svc_visible; end if;
    perform pg_catalog.set_config('search_path', 'public, extensions', true);
    perform pg_catalog.set_config('role', pg_catalog.current_setting('svc.caller'), true);
    begin
      execute 'prepare svc_visible as ' || query;
    exception when syntax_error_or_access_rule_violation or data_exception or program_limit_exceeded then
      -- A column has another name by now, or jsonb does not accept a value of json.
      execute 'prepare svc_visible as ' || keys;
    end;
    for reader in select value from pg_catalog.jsonb_array_elements(readers) with ordinality e (value, n) order by n loop
      exit when pg_catalog.clock_timestamp() > pg_catalog.statement_timestamp() + '${budgetMillis} ms'::interval
        and answers <> '[]';
      if replan then execute 'discard plans'; end if;
      foreach attempt in array array['execute svc_visible', keys] loop
        begin
          perform pg_catalog.set_config('request.jwt.claims', reader ->> 'claims', true),
            pg_catalog.set_config('request.jwt.sub', reader ->> 'sub', true);
          result := null;
          execute attempt into result;
          raise exception using errcode = 'SVC01';
        exception
          when sqlstate 'SVC01' then result := coalesce(result, '');
          when lock_not_available then raise;
          -- A value of json that jsonb does not accept.
          when data_exception or program_limit_exceeded then result := null;
          -- The policies fail, and are not evaluated twice.
          when others or assert_failure then result := null; exit;
        end;
        exit when result is not null;
      end loop;
      answers := answers || pg_catalog.jsonb_build_array(result);
    end loop;
    deallocate svc_visible;
    perform pg_catalog.set_config('role', 'none', true), pg_catalog.set_config('svc.found', answers::text, true);
  end $do$`

/** Evaluates policies as callers: the rights of clients to the changes that they are sent. */
export const makeVisible = Effect.gen(function* () {
  const { replans, sql: callers, withTransaction } = yield* makeCallerTransactions
  /** Readers whose policies took too long, and until when they are not asked. */
  const slow = new Map<string, number>()

  const evaluate = Effect.fnUntraced(function* (role: string, some: ReadonlyArray<Actor>, query: ReaderQuery) {
    const readers = JSON.stringify(some.map((actor) => ({ claims: claimsSetting(actor), sub: actor.sub })))
    const replan = yield* replans
    const found = yield* withTransaction(
      Effect.gen(function* () {
        yield* callers`select set_config('svc.caller', ${role}, true), set_config('svc.query', ${query.values}, true),
          set_config('svc.keys', ${query.keys}, true), set_config('svc.readers', ${readers}, true),
          set_config('svc.replan', ${String(replan)}, true),
          set_config('statement_timeout', ${String(timeoutMillis)}, true), set_config('lock_timeout', ${String(lockMillis)}, true)`
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
   * What each reader may receive of the changed rows, by `readerKey` and number; rows that it may not read now have no
   * entry. One statement for all readers of a role, whose policies PostgreSQL evaluates for each. Readers without an
   * answer have no entry: their policies take too long, or the database is unreachable.
   */
  const visible = Effect.fnUntraced(function* (
    rows: ReadonlyMap<number, Row>,
    readers: ReadonlyMap<string, Actor>,
    table: KeyedTable
  ) {
    const seen = new Map<string, ReadonlyMap<number, Sight>>()
    if (keysOf(rows, table) === undefined) {
      for (const key of readers.keys()) seen.set(key, new Map())
      return seen
    }
    const now = monotonicMillis(yield* Clock.Clock)
    for (const [key, until] of slow) if (until <= now) slow.delete(key)
    let cancelled = 0
    const asked = [...readers].filter(([key]) => !slow.has(key))
    for (const [role, all] of Map.groupBy(asked, ([, actor]) => actor.role)) {
      const query = visibleSql(rows, table, role, all.length)
      if (query === undefined) continue
      const groups: Array<ReadonlyArray<readonly [string, Actor]>> = []
      for (let at = 0; at < all.length; at += callersAtOnce) groups.push(all.slice(at, at + callersAtOnce))
      for (let some = groups.shift(); some !== undefined; some = groups.shift()) {
        const actors = some.map(([, actor]) => actor)
        const found = yield* Effect.result(evaluate(role, actors, query))
        if (found._tag === "Success") {
          for (const [n, numbers] of found.success.entries()) {
            const key = some[n]?.[0] ?? ""
            const sights = (numbers ? numbers.split(",") : []).map((text): readonly [number, Sight] => {
              const n = Number(text)
              return n < 0 ? [-1 - n, "key"] : [n, "values"]
            })
            seen.set(key, new Map(sights))
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
