import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { parseExact } from "../../../../domain/text/JsonText.ts"
import { quoteName } from "../../../../domain/sql/Names.ts"
import { keysOf, type Row } from "../../Visible.ts"
import { type RecordedChange } from "./Record.ts"
import { type Shape } from "./Shapes.ts"

/** The largest row that is read again, in bytes. */
const maxRow = 1024 * 1024

/** Reads the parts of a changed row that its notification lacks. */
export const makeRows = Effect.gen(function* () {
  const own = yield* SqlClient.SqlClient

  /** Reads rows that did not fit into their notifications. Rows that no longer exist remain incomplete. */
  const complete = Effect.fnUntraced(function* (changes: ReadonlyArray<RecordedChange>, shape: Shape) {
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
    return changes.map((change, n): RecordedChange => {
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

  return { complete, conditioned }
})
