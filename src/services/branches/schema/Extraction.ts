import { extract } from "@supabase/pg-delta/extract"
import { type StableId } from "@supabase/pg-delta/core"
import { Data, Effect, Schema } from "effect"
import { type Pool, types } from "pg"
import { type SchemaReading } from "../../../domain/branches/schema/Corrections.ts"
import { otherCataloguesSql, uncoveredSql, virtualColumnsSql } from "../../../domain/branches/schema/UncoveredSql.ts"
import { UncoveredRow } from "../../../domain/branches/schema/Uncovered.ts"
import { DatabaseError, Unavailable, Unprocessable } from "../../../domain/errors.ts"
import { type SqlSession } from "../../ports/Db.ts"

/** Rows of one query on the catalogue, which are all in memory. */
const maxRows = 200_000

const decodeRows = Schema.decodeUnknownSync(Schema.Array(UncoveredRow))
const decodeColumns = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ schema: Schema.String, table: Schema.String, name: Schema.String }))
)
const decodeNames = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ name: Schema.String })))

const tooLarge = new Unprocessable({
  error: `The schema has more than ${maxRows} objects of a kind, too many to compare`,
  code: "SCHEMA_TOO_LARGE",
  hint: "Compare dumps of the schemas with a tool of your own"
})

const transactions = /^(?:begin|commit|rollback)\b/i

/**
 * A session as the library's pool, which gets values as `pg` parses them. The transaction is that of the caller: the library's
 * own BEGIN and COMMIT are left out.
 */
const poolOf = (session: SqlSession): Pool => {
  const query = async (text: string, params: ReadonlyArray<string | null> = []) => {
    if (transactions.test(text)) return { rows: [] }
    const { fields, rows, truncated } = await Effect.runPromise(session.query(text, params, maxRows))
    if (truncated) throw tooLarge
    const parsers = fields.map(({ name, oid }) => [name, types.getTypeParser(oid, "text")] as const)
    return {
      rows: rows.map((row) =>
        Object.fromEntries(
          parsers.map(([name, parse], i) => {
            const value = row[i] ?? null
            return [name, value === null ? null : (parse(value) as unknown)]
          })
        )
      )
    }
  }
  return { connect: async () => ({ query, release: () => undefined }) } as unknown as Pool
}

class Failed extends Data.TaggedError("Failed")<{ readonly cause: unknown }> {}

type ExtractionFailure = DatabaseError | Unavailable | Unprocessable

const isFailure = (cause: unknown): cause is ExtractionFailure =>
  cause instanceof DatabaseError || cause instanceof Unavailable || cause instanceof Unprocessable

const settings = "select pg_catalog.set_config('search_path', 'pg_catalog', true), current_user::text"

/** Reads the schema within the transaction that the session is in, whose search path it changes. */
export const readSchema = Effect.fnUntraced(function* (
  session: SqlSession
): Effect.fn.Return<SchemaReading, ExtractionFailure> {
  const { rows } = yield* session.query(settings, [], 1)
  const role = rows[0]?.[1] ?? ""
  const reads = async (): Promise<SchemaReading> => {
    let uncovered: ReadonlyArray<UncoveredRow> = []
    let virtual: ReadonlyArray<StableId> = []
    const { factBase } = await extract(poolOf(session), {
      handlers: [
        {
          extension: "svc",
          capture: async ({ query }) => {
            const names = decodeNames(await query(otherCataloguesSql)).map(({ name }) => name)
            uncovered = decodeRows(await query(uncoveredSql(names)))
            virtual = decodeColumns(await query(virtualColumnsSql)).map(({ name, schema, table }) => ({
              kind: "column",
              schema,
              table,
              name
            }))
            return { facts: [], edges: [] }
          }
        }
      ]
    })
    const dangling = factBase.diagnostics.flatMap(({ code, message }) => (code === "dangling_edge" ? [message] : []))
    return { facts: factBase.facts(), edges: factBase.edges, dangling, virtual, role, uncovered }
  }
  return yield* Effect.tryPromise({ try: reads, catch: (cause) => new Failed({ cause }) }).pipe(
    Effect.catch(({ cause }) => (isFailure(cause) ? Effect.fail(cause) : Effect.die(cause)))
  )
})
