import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Author } from "../../domain/Author.ts"
import { type Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { ownerOf } from "../../domain/workspace/Item.ts"
import {
  isKept,
  mostStatements,
  type NewRanStatement,
  RanStatement,
  statementDays
} from "../../domain/workspace/Statement.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"
import { OwnJobs } from "../OwnJobs.ts"

const young = `interval '${statementDays} days'`

/** The statements that each owner has run in the workbench, which no one else can list. A text is kept once. */
export class WorkspaceStatements extends Context.Service<
  WorkspaceStatements,
  {
    /** The newest first. */
    readonly list: (author: Author) => Effect.Effect<ReadonlyArray<RanStatement>, Unavailable>
    readonly add: (author: Author, statements: ReadonlyArray<NewRanStatement>) => Effect.Effect<void, Unavailable>
    readonly clear: (author: Author) => Effect.Effect<void, Unavailable>
  }
>()("svc/services/WorkspaceStatements") {
  static readonly layer = Layer.effect(
    WorkspaceStatements,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = queryRows(sql, RanStatement)

      const list = Effect.fn("WorkspaceStatements.list")((author: Author) =>
        onOwnTables(
          rows(
            `select sql, "values", branch, ${isoSql("at")} as at, milliseconds, rows::float8 as rows, code
             from svc.workspace_statements
             where owner_type = $1 and owner_id = $2 and at > now() - ${young}
             order by at desc, id desc limit ${mostStatements}`,
            ownerOf(author)
          )
        )
      )

      const add = Effect.fn("WorkspaceStatements.add")(function* (
        author: Author,
        given: ReadonlyArray<NewRanStatement>
      ) {
        const owner = ownerOf(author)
        const kept = given.filter(isKept)
        if (kept.length === 0) return
        const insert = ({ at, branch, code, milliseconds, rows, sql: text, values }: NewRanStatement) =>
          sql.unsafe(
            `insert into svc.workspace_statements as s
               (owner_type, owner_id, digest, sql, "values", branch, at, milliseconds, rows, code)
             values ($1, $2, sha256(convert_to($3, 'UTF8')), $3, $4::text::json, $5,
               least(coalesce($6::timestamptz, now()), now()), $7::float8, $8::int8, $9)
             on conflict (owner_type, owner_id, digest) do update set "values" = excluded."values",
               branch = excluded.branch, at = greatest(s.at, excluded.at), milliseconds = excluded.milliseconds,
               rows = excluded.rows, code = excluded.code`,
            [
              ...owner,
              text,
              values === undefined ? null : JSON.stringify(values),
              branch ?? null,
              at === undefined ? null : DateTime.formatIso(at),
              milliseconds ?? null,
              rows === undefined ? null : String(rows),
              code ?? null
            ]
          )
        const trim = sql.unsafe(
          `delete from svc.workspace_statements where owner_type = $1 and owner_id = $2 and id in (
             select id from svc.workspace_statements where owner_type = $1 and owner_id = $2
             order by at desc, id desc offset ${mostStatements})`,
          owner
        )
        yield* onOwnTables(sql.withTransaction(Effect.andThen(Effect.forEach(kept, insert, { discard: true }), trim)))
      })

      const clear = Effect.fn("WorkspaceStatements.clear")((author: Author) =>
        Effect.asVoid(
          onOwnTables(
            sql.unsafe("delete from svc.workspace_statements where owner_type = $1 and owner_id = $2", ownerOf(author))
          )
        )
      )

      return WorkspaceStatements.of({ list, add, clear })
    })
  )
}

/** The job that deletes old statements, and private items of keys that were revoked long ago, which no caller can list. */
export const layerWorkspaceRetention = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const prune = Effect.gen(function* () {
      const statements = yield* sql.unsafe(
        `delete from svc.workspace_statements where at < now() - ${young} returning 1 as one`
      )
      const items = yield* sql.unsafe(
        `delete from svc.workspace_items i using svc.api_keys k
         where i.owner_type = 'key' and not i.shared and k.id::text = i.owner_id and k.revoked_at < now() - ${young}
         returning 1 as one`
      )
      return [statements.length, items.length] as const
    })
    yield* (yield* OwnJobs).add({
      name: "workspace.retention",
      summary: `Deletes statements of the workbench after ${statementDays} days, and private items of keys that were revoked as long ago`,
      times: "23 * * * *",
      timeout: 600,
      catchUp: true,
      run: () =>
        Effect.map(onOwnTables(prune), ([statements, items]) =>
          statements + items === 0 ? undefined : `${statements} statements and ${items} items deleted`
        )
    })
  })
)
