import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound, type Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { onOwnTables } from "../OwnTables.ts"

/** Bytes of documents in one page; an entry that is larger has a page of its own. */
const pageBytes = 4 * 1024 * 1024

const missing = {
  flag: (key: string) => new NotFound({ error: `There is no flag ${key.slice(0, 200)}`, code: "FLAG_NOT_FOUND" }),
  segment: (key: string) =>
    new NotFound({ error: `There is no segment ${key.slice(0, 200)}`, code: "SEGMENT_NOT_FOUND" })
}

/** What was done to flags and segments, by whom and when. It stays when they are deleted. */
export class FlagHistory extends Context.Service<
  FlagHistory,
  {
    /** JSON text, newest first. Fewer than `limit` when they are large: the end is a page without any. */
    readonly page: (
      kind: "flag" | "segment",
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

      const page = Effect.fn("FlagHistory.page")(function* (
        kind: "flag" | "segment",
        key: string,
        limit: number,
        before: number | undefined
      ) {
        if (key.includes("\0")) return yield* missing[kind](key)
        const rows = yield* onOwnTables(
          sql.unsafe<{ readonly entry: string }>(
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
            [kind, key, before ?? null, limit]
          )
        )
        if (rows.length === 0 && !(yield* isKnown(kind, key))) return yield* missing[kind](key)
        return `[${rows.map(({ entry }) => entry).join(",")}]`
      })

      const isKnown = (kind: "flag" | "segment", key: string) =>
        Effect.map(
          onOwnTables(sql.unsafe("select from svc.flag_history where kind = $1 and key = $2 limit 1", [kind, key])),
          (rows) => rows.length > 0
        )

      return FlagHistory.of({ page })
    })
  )
}
