import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { text } from "../../domain/Settings.ts"
import { exampleLock } from "../../domain/sql/AdvisoryLocks.ts"
import { byService, insertAudit } from "../audit/Change.ts"
import { Flags } from "../flags/Flags.ts"
import { serviceActor } from "../ports/Db.ts"
import { Accounts } from "../ports/identity/Accounts.ts"
import { FileBuckets } from "../supabase/FileBuckets.ts"
import { Files } from "../supabase/Files.ts"
import { exampleBucket, exampleComment, exampleFlag } from "./Content.ts"
import { exampleAuthor, type ExampleRecord, exampleRefusal, exampleSetting, writeExample } from "./Example.ts"

/** Removes what was made, whether that was completed or not. What a user made of the same names later stays. */
export const makeExampleRemoval = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const files = yield* Files
  const buckets = yield* FileBuckets
  const flags = yield* Flags
  const { admin } = yield* Accounts
  const isMissing = (error: { readonly _tag: string }) => error._tag === "NotFound"
  const serviceRole = yield* text("SVC_SERVICE_ROLE", "postgres")

  const owned = `select obj_description(to_regclass('public.todos'), 'pg_class') is not distinct from $1 as todos,
    obj_description(to_regclass('public.profiles'), 'pg_class') is not distinct from $1 as profiles,
    obj_description(to_regprocedure('public.handle_new_user()'), 'pg_proc') is not distinct from $1 as trigger,
    exists (select from storage.buckets where id = $2 and created_at::text = $3) as bucket`

  const rows = (record: ExampleRecord) =>
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(${exampleLock}::text::bigint)`
      const [ours] = yield* sql.unsafe<Record<"todos" | "profiles" | "trigger" | "bucket", boolean>>(owned, [
        exampleComment,
        exampleBucket,
        record.bucket
      ])
      yield* sql`select set_config('role', ${serviceRole}, true)`
      const tables = (["todos", "profiles"] as const).filter((name) => ours?.[name] === true)
      const statements = [
        ...(ours?.trigger === true
          ? ["drop trigger if exists on_auth_user_created on auth.users", "drop function public.handle_new_user()"]
          : []),
        // Together: one refers to the other. Without cascade: what refers to them is the user's.
        ...(tables.length === 0 ? [] : [`drop table ${tables.map((name) => `public.${name}`).join()}`]),
        ...(ours?.bucket === true
          ? ["write", "replace", "find"].map(
              (verb) => `drop policy if exists "Users ${verb} their avatar" on storage.objects`
            )
          : [])
      ]
      for (const statement of statements) yield* sql.unsafe(statement)
      yield* sql`select set_config('role', 'none', true)`
      const { remove } = yield* admin
      for (const { id } of record.people) yield* Effect.catchIf(remove(id), isMissing, () => Effect.void)
      yield* sql`delete from svc.api_keys where id = ${record.key.id}`
      yield* insertAudit(sql, { ...byService("svc example", "example.remove"), subject: "example:todo" })
      yield* writeExample(sql, { ...record, complete: false })
      // Here, so that a refusal of the user's own tables changes nothing.
      yield* sql.unsafe("set constraints all immediate")
      return ours?.bucket === true
    })

  return Effect.fnUntraced(
    function* (record: ExampleRecord) {
      const hasBucket = yield* sql.withTransaction(rows(record))
      // One that is not complete may not have made its flag.
      const flag = yield* sql`select from svc.flags where key = ${exampleFlag.key}
        and (${record.complete}::bool or description = ${exampleFlag.description})`
      if (flag.length > 0) {
        yield* Effect.catchIf(
          flags.remove(exampleAuthor(record), exampleFlag.key, undefined),
          isMissing,
          () => Effect.void
        )
      }
      if (hasBucket) {
        yield* files.empty(serviceActor, exampleBucket)
        yield* buckets.remove(serviceActor, exampleBucket)
      }
      yield* sql`delete from svc.settings where name = ${exampleSetting}`
    },
    exampleRefusal("removed", "Correct that, and try again")
  )
})
