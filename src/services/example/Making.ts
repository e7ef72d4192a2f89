import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { keyHashOf, makeRawKey, prefixOf } from "../../domain/access/ApiKey.ts"
import { migrationScript } from "../../domain/migrations/Script.ts"
import { text } from "../../domain/Settings.ts"
import { exampleLock } from "../../domain/sql/AdvisoryLocks.ts"
import { byService, insertAudit } from "../audit/Change.ts"
import { Flags } from "../flags/Flags.ts"
import { Db, serviceActor } from "../ports/Db.ts"
import { Accounts } from "../ports/identity/Accounts.ts"
import { Files } from "../supabase/Files.ts"
import { exampleBucket, exampleComment, exampleFlag, examplePeople } from "./Content.ts"
import {
  exampleAuthor,
  type ExampleRecord,
  exampleRefusal,
  ExampleRefused,
  readExample,
  writeExample
} from "./Example.ts"
import { makeExampleRemoval } from "./Removal.ts"

/** A person whose account has just been made, with the password, which is kept nowhere. */
export interface NewPerson {
  readonly email: string
  readonly password: string
}

const makeRemedy = "Correct that, or start without --example"

/** Makes the example of these migrations unless it exists. Fails without a change, or undoes what it has made. */
export const makeExampleMaking = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { main } = yield* Db
  const files = yield* Files
  const flags = yield* Flags
  const { admin } = yield* Accounts
  const remove = yield* makeExampleRemoval
  const serviceRole = yield* text("SVC_SERVICE_ROLE", "postgres")

  const asService = sql`select set_config('role', ${serviceRole}, true), set_config('search_path', 'public, extensions', true)`
  const asLogin = sql`select set_config('role', 'none', true), set_config('search_path', 'pg_catalog', true)`

  const makeKey = Effect.gen(function* () {
    const raw = makeRawKey("anon")
    const row = { key_type: "anon", key_prefix: prefixOf(raw), key_hash: keyHashOf(raw), label: "example todo" }
    const [made] = yield* sql<{ readonly id: number }>`insert into svc.api_keys ${sql.insert(row)} returning id`
    const after = { key_type: "anon", label: row.label, rate_limit: null, revoked: false }
    yield* insertAudit(sql, { ...byService("svc start", "key.create"), subject: `key:${made?.id}`, after })
    return { id: made?.id ?? 0, text: raw }
  })

  /** All rows, in one transaction. Undefined if the example exists. */
  const rows = (migrations: ReadonlyArray<string>, people: ReadonlyArray<NewPerson>) =>
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(${exampleLock}::text::bigint)`
      if ((yield* readExample(sql)) !== undefined) return undefined
      const taken = yield* sql`select from svc.flags where key = ${exampleFlag.key}`
      if (taken.length > 0)
        return yield* new ExampleRefused({
          message: `The example todo can't be made: flag "${exampleFlag.key}" already exists. ${makeRemedy}`
        })
      yield* asService
      for (const migration of migrations) {
        const script = migrationScript(migration, "own")
        if ("problem" in script) return yield* Effect.die(new Error(script.problem))
        for (const piece of script.pieces) yield* sql.unsafe(piece.text)
      }
      for (const made of ["table public.todos", "table public.profiles", "function public.handle_new_user()"]) {
        yield* sql.unsafe(`comment on ${made} is '${exampleComment}'`)
      }
      yield* asLogin
      const { create } = yield* admin
      const ids: Array<string> = []
      for (const [index, { email, password }] of people.entries()) {
        const { id } = yield* create({
          email,
          password,
          traits: { name: examplePeople[index]?.name ?? "" },
          verified: true
        })
        ids.push(id)
      }
      // The rows of auth.users are written at the end of a transaction.
      yield* sql.unsafe("set constraints all immediate")
      const key = yield* makeKey
      yield* asService
      for (const [index, { todos }] of examplePeople.entries()) {
        yield* sql`insert into public.todos (user_id, title, done) select ${ids[index]}::text::uuid, t.title, t.n = 1
          from json_array_elements_text(${JSON.stringify(todos)}::text::json) with ordinality t (title, n)`
      }
      const [bucket] = yield* sql<{
        readonly at: string
      }>`select created_at::text as at from storage.buckets where id = ${exampleBucket}`
      yield* asLogin
      const record: ExampleRecord = {
        people: people.map(({ email }, index) => ({ id: ids[index] ?? "", email })),
        key,
        bucket: bucket?.at ?? "",
        complete: false
      }
      yield* writeExample(sql, record)
      yield* insertAudit(sql, { ...byService("svc start", "example.make"), subject: "example:todo" })
      return record
    })

  /** What has transactions of its own. */
  const rest = (record: ExampleRecord) =>
    Effect.gen(function* () {
      for (const [index, { id }] of record.people.entries()) {
        const name = `${id}/1`
        const bytes = examplePeople[index]?.avatar ?? new Uint8Array()
        const upload = {
          contentType: "image/png",
          cacheControl: "max-age=3600",
          userMetadata: undefined,
          upsert: false
        }
        yield* files.upload(
          { ...serviceActor, sub: id },
          { bucket: exampleBucket, name, ...upload },
          Stream.make(bytes),
          true
        )
        yield* main.run(serviceActor, {
          text: "with u as (update public.profiles set avatar = $2 where id = $1 returning id) select (select id from u)",
          params: [id, name],
          access: "write",
          prepare: false,
          freshPlans: true
        })
      }
      // It is stored if only other processes of the service have not loaded it yet.
      yield* Effect.catchIf(
        flags.create(exampleAuthor(record), exampleFlag, undefined),
        (error) => error.code === "FLAGS_BEHIND",
        () => Effect.void
      )
      yield* writeExample(sql, { ...record, complete: true })
    })

  return Effect.fnUntraced(
    function* (migrations: ReadonlyArray<string>) {
      const found = yield* readExample(sql)
      if (found?.complete === true) return []
      // A process that made or removed it was killed.
      if (found !== undefined) yield* remove(found)
      const people = examplePeople.map(({ email }) => ({ email, password: randomBytes(12).toString("base64url") }))
      const record = yield* sql.withTransaction(rows(migrations, people))
      if (record === undefined) return []
      yield* Effect.tapError(rest(record), () => Effect.ignore(remove(record)))
      return people
    },
    exampleRefusal("made", makeRemedy)
  )
})
