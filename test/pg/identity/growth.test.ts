import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { onOwnTables } from "../../../src/services/OwnTables.ts"
import { layerIdentityUpkeep } from "../../../src/services/identity/accounts/Upkeep.ts"
import { Accounts } from "../../../src/services/ports/identity/Accounts.ts"
import { IdP } from "../../../src/services/ports/IdP.ts"
import { live, Outside } from "../../support/database.ts"
import { layerEmbedded } from "../../support/identity/embedded.ts"

const counted = (table: string) =>
  Effect.flatMap(Outside, ({ sql }) =>
    Effect.map(sql(`select count(*)::int as n from svc.${table}`), ([row]) => Number(row?.["n"]))
  )

layer(layerEmbedded("identity_growth", { SVC_SUPABASE: "true" }), live)("the tables of accounts", (it) => {
  it.effect("have a bounded number of sessions and flows for each person", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const accounts = yield* Accounts
      const idp = yield* IdP
      const person = { email: "ann@example.com", password: "four common words" }
      const { id } = yield* (yield* accounts.admin).create({ ...person, traits: {} })
      yield* sql(
        `insert into svc.identity_sessions (identity_id, kind, token_hash, methods, issued_at, expires_at)
         select $1::uuid, 'Token', n::text, '{}', now() - interval '1 hour', now() + interval '1 hour' from generate_series(1, 500) n`,
        [id]
      )
      const calls = yield* accounts.calls
      const { credential } = yield* calls.signIn({
        identifier: person.email,
        password: person.password,
        kind: "Token"
      })
      assert.strictEqual(yield* counted("identity_sessions"), 200)
      for (let turn = 0; turn < 60; turn++) yield* idp.beginTotp(credential)
      assert.strictEqual(yield* counted("identity_flows"), 50)
    })
  )

  it.effect("refuse for a moment what belongs to an account that is deleted meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const flow = sql`insert into svc.identity_flows (kind, identity_id, data, expires_at)
        values ('settings', ${randomUUID()}::text::uuid, '{}', now())`
      const failure = yield* Effect.flip(onOwnTables(flow))
      assert.include(failure, { code: "DATABASE_BUSY", retry_after: 1 })
    })
  )

  it.effect("lose what has expired, and the texts of e-mails after a day", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("update svc.identity_sessions set expires_at = now() - interval '1 second'")
      yield* sql("update svc.identity_flows set expires_at = now() - interval '25 hours'")
      yield* sql(
        "insert into svc.identity_guesses values ('x', 1, now(), now() - interval '1 second'), ('y', 1, now(), now() + interval '1 hour')"
      )
      yield* sql(`insert into svc.mails (recipient, subject, body, created_at) values
        ('a@b.example', 'old', 'text', now() - interval '25 hours'), ('a@b.example', 'new', 'text', now()),
        ('a@b.example', 'older', 'text', now() - interval '31 days')`)
      // One of a sign-up has the hash of its password.
      yield* sql(`insert into svc.supabase_mails (kind, lookup, token_hash, code, data, expires_at) values
        ('signup', 'old', 'a', '', '{"hash": "x"}', now() - interval '25 hours'),
        ('signup', 'new', 'b', '', '{"hash": "x"}', now())`)
      yield* sql(`insert into svc.supabase_codes values
        ('old', null, '{}', now() - interval '2 hours'), ('new', null, '{}', now() + interval '1 minute')`)
      yield* Layer.build(Layer.fresh(layerIdentityUpkeep))
      for (let turn = 0; turn < 100 && (yield* counted("supabase_codes")) > 1; turn++) yield* Effect.sleep("50 millis")
      assert.strictEqual(yield* counted("identity_sessions"), 0)
      assert.strictEqual(yield* counted("identity_flows"), 0)
      assert.deepStrictEqual(yield* sql("select key from svc.identity_guesses"), [{ key: "y" }])
      assert.deepStrictEqual(yield* sql("select subject, body from svc.mails order by id"), [
        { subject: "old", body: null },
        { subject: "new", body: "text" }
      ])
      assert.deepStrictEqual(yield* sql("select lookup from svc.supabase_mails"), [{ lookup: "new" }])
      assert.deepStrictEqual(yield* sql("select hash from svc.supabase_codes"), [{ hash: "new" }])
    }).pipe(Effect.scoped)
  )
})
