import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { parseExact } from "../../../../domain/text/JsonText.ts"
import { quoteLiteral, quoteName } from "../../../../domain/sql/Names.ts"
import { logFailure } from "../../../OwnTables.ts"
import { CallerSql } from "../../../ports/supabase/CallerSql.ts"
import { type Actor, claimsSetting } from "../../../ports/Db.ts"
import { type Row } from "./Filters.ts"
import { type Change } from "./Record.ts"
import { type Shape } from "./Shapes.ts"

/** Callers of one statement. */
const callersAtOnce = 500
/** The largest row that is read again, in bytes. */
const maxRow = 1024 * 1024

/** Who reads: those with the same role and claims see the same rows. */
export const readerKey = (actor: Actor) => `${actor.role} ${claimsSetting(actor)}`

const literal = (value: unknown) => quoteLiteral(typeof value === "string" ? value : JSON.stringify(value))

/** `(n, key…)` of rows as SQL; rows without a whole key are left out. */
const keysOf = (rows: ReadonlyMap<number, Row>, shape: Shape) => {
  const keys = shape.columns.filter(({ key }) => key)
  const whole = [...rows].filter(([, row]) => keys.every(({ name }) => row[name] !== undefined && row[name] !== null))
  if (keys.length === 0 || whole.length === 0) return undefined
  const values = whole.map(
    ([n, row]) => `(${n}, ${keys.map(({ name, sql }) => `${literal(row[name])}::${sql}`).join(", ")})`
  )
  const names = keys.map((_, at) => `k${at}`)
  const same = keys.map(({ name }, at) => `t.${quoteName(name)} = k.k${at}`).join(" and ")
  return { from: `(values ${values.join(", ")}) k (n, ${names.join(", ")})`, same }
}

export const makeVisible = Effect.gen(function* () {
  const own = yield* SqlClient.SqlClient
  const callers = yield* CallerSql

  /**
   * Which of the rows, by number, each reader may read now, by `readerKey`: one statement for all readers of a role, whose
   * policies PostgreSQL evaluates for each. Who gets no answer may read nothing.
   */
  const visible = Effect.fnUntraced(function* (
    rows: ReadonlyMap<number, Row>,
    readers: ReadonlyMap<string, Actor>,
    shape: Shape
  ) {
    const seen = new Map<string, ReadonlySet<number>>()
    const keys = keysOf(rows, shape)
    if (keys === undefined) return seen
    const query = `select string_agg(k.n::text, ',') from ${keys.from} where exists (select from ${shape.sql} t where ${keys.same})`
    for (const [role, all] of Map.groupBy(readers, ([, actor]) => actor.role)) {
      for (let at = 0; at < all.length; at += callersAtOnce) {
        const some = all.slice(at, at + callersAtOnce)
        const actors = some.map(([, actor]) => ({ claims: claimsSetting(actor), sub: actor.sub }))
        const found = yield* callers
          .unsafe<{ n: number; seen: string }>("select n, seen from realtime.svc_visible($1, $2::json, $3)", [
            role,
            JSON.stringify(actors),
            query
          ])
          .pipe(
            Effect.catchCause((cause) =>
              Effect.as(logFailure(`Failed to evaluate the policies of ${shape.sql}; a change is not sent`)(cause), [])
            )
          )
        for (const row of found) {
          const reader = some[row.n - 1]
          if (reader !== undefined) seen.set(reader[0], new Set(row.seen.split(",").map(Number)))
        }
      }
    }
    return seen
  })

  /** Reads those rows again that did not fit into their notifications. What is gone by now remains incomplete. */
  const complete = Effect.fnUntraced(function* (changes: ReadonlyArray<Change>, shape: Shape) {
    const cut = new Map(
      changes.flatMap((change, n) =>
        change.truncated === true && change.row !== null ? [[n, change.row] as const] : []
      )
    )
    const keys = keysOf(cut, shape)
    if (keys === undefined) return changes
    const columns = shape.columns.map(({ name }) => `t.${quoteName(name)}`).join(", ")
    const rows = yield* own.unsafe<{ n: number; row: string | null }>(
      `select n, case when octet_length(row) <= ${maxRow} then row end as row
       from (select k.n, (select row_to_json(c)::text from (select ${columns}) c) as row
             from ${keys.from} join ${shape.sql} t on ${keys.same}) found`
    )
    const read = new Map(rows.map(({ n, row }) => [n, row]))
    return changes.map((change, n): Change => {
      const row = read.get(n)
      if (row === undefined) return change
      return row === null ? { ...change, tooLarge: true } : { ...change, row: parseExact(row) as Row }
    })
  })

  /** The numbers of the rows that pass the publication's condition. */
  const conditioned = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>, { condition, sql }: Shape) {
    if (condition === null) return new Set(rows.keys())
    const passing = yield* own.unsafe<{ n: number }>(
      `select n::int4 as n from json_array_elements($1::json) with ordinality as e (j, n)
       cross join lateral (select * from json_populate_record(null::${sql}, j)) as r where ${condition}`,
      [JSON.stringify(rows)]
    )
    return new Set(passing.map(({ n }) => n - 1))
  })

  return { visible, complete, conditioned }
})
