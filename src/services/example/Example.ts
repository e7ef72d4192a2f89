import { Context, Data, Effect, Schema } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { type Unavailable } from "../../domain/errors.ts"
import { isOutage, onOwnTables, queryRows } from "../OwnTables.ts"

/** What has been made, kept in svc.settings. */
const ExampleRecord = Schema.Struct({
  people: Schema.Array(Schema.Struct({ id: Schema.String, email: Schema.String })),
  /** The anon key of the page, which is public. */
  key: Schema.Struct({ id: Schema.Int, text: Schema.String }),
  /** When the bucket was created: a bucket of the same name may be made later. */
  bucket: Schema.String,
  /** False while it is being made or removed. */
  complete: Schema.Boolean
})
export type ExampleRecord = typeof ExampleRecord.Type

/** The example can't be made or removed; the message says why, in one sentence. */
export class ExampleRefused extends Data.TaggedError("ExampleRefused")<{ readonly message: string }> {}

/** The example of `svc start --example`, for the page that is served. */
export class Example extends Context.Service<
  Example,
  {
    /** Undefined if it does not exist, or is not enabled. */
    readonly current: Effect.Effect<ExampleRecord | undefined, Unavailable>
  }
>()("svc/services/Example") {}

/** The name of the record in svc.settings. */
export const exampleSetting = "example:todo"
const Row = Schema.Struct({ value: Schema.fromJsonString(ExampleRecord) })

/** The record of the example; undefined if the example does not exist. */
export const readExample = (sql: SqlClient.SqlClient) =>
  Effect.map(
    onOwnTables(queryRows(sql, Row)("select value from svc.settings where name = $1", [exampleSetting])),
    ([row]) => row?.value
  )

/** PostgreSQL's message with its detail, such as the objects that depend on a table, or that of an error of the service. */
const reasonOf = (error: unknown) => {
  if (!SqlError.isSqlError(error)) return (error as { readonly error?: string }).error ?? String(error)
  const { detail, message } = error.reason.cause as { readonly message?: string; readonly detail?: string }
  return [message, detail?.replaceAll("\n", ", ")].filter(Boolean).join(": ")
}

/** Turns the failures of making or removing it into one sentence. */
export const exampleRefusal = (what: string, remedy: string) =>
  Effect.mapError((error: unknown) =>
    error instanceof ExampleRefused
      ? error
      : new ExampleRefused({
          message: isOutage(error)
            ? `The example todo can't be ${what}: the database is unreachable`
            : `The example todo can't be ${what}: ${reasonOf(error)}. ${remedy}`
        })
  )

/** The author of the changes of its flag. */
export const exampleAuthor = (record: ExampleRecord) => ({
  type: "key" as const,
  id: record.key.id,
  label: "example todo"
})

/** Writes the record. */
export const writeExample = (sql: SqlClient.SqlClient, record: ExampleRecord) =>
  sql`insert into svc.settings (name, value) values (${exampleSetting}, ${JSON.stringify(record)})
      on conflict (name) do update set value = excluded.value`
