import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type NotFound, type Unavailable } from "../../domain/errors.ts"
import { flagNotFound, segmentNotFound } from "../../domain/flags/Problem.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { onOwnTables } from "../OwnTables.ts"

/** Bytes of documents in one page. An entry that is larger has a page of its own. */
const pageBytes = 4 * 1024 * 1024

type Kind = "flag" | "segment"

const notFound = { flag: flagNotFound, segment: segmentNotFound }

const Target = Schema.Struct({ kind: Schema.Literals(["flag", "segment"]), key: Schema.String })
const PageRequest = Schema.Struct({ ...Target.fields, limit: Schema.Int, before: Schema.NullOr(Schema.Int) })

/** The audit trail of flags and segments, which outlives them. */
export class FlagHistory extends Context.Service<
  FlagHistory,
  {
    /** A JSON array, newest first. It has fewer than `limit` entries when they are large; the last page is empty. */
    readonly page: (
      kind: Kind,
      key: string,
      limit: number,
      before: number | undefined
    ) => Effect.Effect<string, NotFound | Unavailable>
  }
>()("svc/services/FlagHistory") {
  static readonly layer = Layer.effect(
    FlagHistory,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const entries = SqlSchema.findAll({
        Request: PageRequest,
        Result: Schema.Struct({ entry: Schema.String }),
        execute: ({ before, key, kind, limit }) =>
          sql.unsafe(
            `select row_to_json(shown)::text as entry
             from (
               select id, key, action, environment, actor, before, after, revision, ${isoSql("created_at")} as created_at
               from (
                 select *, sum(octet_length(concat(before::text, after::text))) over (order by id desc)
                   - octet_length(concat(before::text, after::text)) as ahead
                 from (select * from svc.flag_history
                       where kind = $1 and key = $2 and ($3::int8 is null or id < $3::int8)
                       order by id desc limit $4::int8) newest
               ) sized
               where ahead < ${pageBytes} order by id desc
             ) shown`,
            [kind, key, before, limit]
          )
      })
      const any = SqlSchema.findAll({
        Request: Target,
        Result: Schema.Unknown,
        execute: ({ key, kind }) =>
          sql.unsafe("select from svc.flag_history where kind = $1 and key = $2 limit 1", [kind, key])
      })

      const page = Effect.fn("FlagHistory.page")(function* (
        kind: Kind,
        key: string,
        limit: number,
        before: number | undefined
      ) {
        if (key.includes("\0")) return yield* notFound[kind](key)
        const rows = yield* onOwnTables(entries({ kind, key, limit, before: before ?? null }))
        if (rows.length === 0 && (yield* onOwnTables(any({ kind, key }))).length === 0) {
          return yield* notFound[kind](key)
        }
        return `[${rows.map(({ entry }) => entry).join(",")}]`
      })

      return FlagHistory.of({ page })
    })
  )
}
