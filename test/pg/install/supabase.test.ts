import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { install } from "../../../src/layers/install/Install.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

/** What a database restored from a project has of its own. */
const restored = `
  drop schema auth cascade;
  create schema auth;
  create function auth.uid() returns uuid language sql stable
    as $$ select nullif(current_setting('request.jwt.claims', true)::json ->> 'sub', '')::uuid $$;
  create table auth.users (email text, of_the_dump int);
  create schema storage;
  create table storage.objects (id uuid, name text);
  grant select on storage.objects to anon;
  create schema extensions;`

const suite = layer(layerDatabase({ name: "supabase", settings: { SVC_SUPABASE: "true" }, before: restored }), live)

suite("a database restored from Supabase", (it) => {
  it.effect("keeps what it has and gets what it lacks, however often and by however many replicas", () =>
    Effect.gen(function* () {
      yield* Db
      const { sql } = yield* Outside
      const options = { serviceRole: "postgres", schemas: ["public"], supabase: true }
      yield* Effect.all([install(options), install(options)], { concurrency: 2 })
      const columns = (table: string) =>
        Effect.map(
          sql(
            "select column_name as name from information_schema.columns where table_schema || '.' || table_name = $1 order by 1",
            [table]
          ),
          (rows) => rows.map(({ name }) => name)
        )
      assert.deepStrictEqual(yield* columns("auth.users"), ["email", "of_the_dump"])
      assert.deepStrictEqual(yield* columns("storage.objects"), ["id", "name"])
      const [state] = yield* sql(`
        select pg_get_functiondef('auth.uid()'::regprocedure) ~ 'request.jwt.claims' as uid, auth.role() as role,
          (select relrowsecurity from pg_class where oid = 'storage.objects'::regclass) as secured,
          to_regclass('storage.buckets') is not null as buckets, to_regclass('auth.identities') as identities,
          (select max(migration_id) >= 9 from svc.supabase_migrations) as steps`)
      // A table that refers to a foreign one of another form is left out, and the service starts.
      assert.deepStrictEqual(state, {
        uid: true,
        role: "service_role",
        secured: false,
        buckets: true,
        identities: null,
        steps: true
      })
    })
  )
})

layer(layerDatabase({ name: "supabase_users", settings: { SVC_SUPABASE: "true" } }), live)(
  "accounts from before, and of a dump",
  (it) => {
    it.effect("are in both places after a start, but for those that can't be", () =>
      Effect.gen(function* () {
        yield* Db
        const { sql } = yield* Outside
        const [old, copied, bad, invalid] = [1, 2, 3, 4].map((n) => `${n}1111111-1111-4111-8111-111111111111`)
        yield* sql(`do $$ begin
          set local session_replication_role = replica;
          insert into svc.identities (id, traits) values ('${old}', '{"email":"old@x.example","name":"Old"}');
          insert into svc.identity_addresses (lookup, identity_id, value) values ('old@x.example', '${old}', 'old@x.example');
          insert into auth.users (id, email, encrypted_password, raw_app_meta_data) values
            ('${copied}', 'Copied@x.example', '$2a$04$x', '{"provider":"google","providers":["google"]}'),
            ('${bad}', 'OLD@x.example', null, null), ('${invalid}', 'no address', null, null);
          insert into auth.identities (provider_id, user_id, provider, identity_data) values ('77', '${copied}', 'google', '{}');
        end $$`)
        yield* install({ serviceRole: "postgres", schemas: ["public"], supabase: true })
        const users = yield* sql("select id::text, email, raw_user_meta_data as about from auth.users order by id")
        assert.deepStrictEqual(users[0], { id: old, email: "old@x.example", about: { name: "Old" } })
        const accounts = yield* sql(`select i.id::text, i.password_hash as hash, a.lookup, u.raw_app_meta_data as app
          from svc.identities i join svc.identity_addresses a on a.identity_id = i.id join auth.users u on u.id = i.id order by i.id`)
        assert.deepStrictEqual(accounts, [
          { id: old, hash: null, lookup: "old@x.example", app: { provider: "email", providers: ["email"] } },
          {
            id: copied,
            hash: "imported:$2a$04$x",
            lookup: "copied@x.example",
            app: { provider: "google", providers: ["email", "google"] }
          }
        ])
      })
    )
  }
)
