import { createClient } from "@supabase/supabase-js"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { hs256 } from "../../support/access/jwts.ts"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

const ann = "11111111-1111-4111-8111-111111111111"

let directory: string
let service: InProcessService

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "svc-supabase-"))
  const migrations = join(directory, "supabase/migrations")
  await mkdir(migrations, { recursive: true })
  await writeFile(join(migrations, "20240101000000_first.sql"), "create table never (id int);")
  await writeFile(
    join(migrations, "20240102000000_second.sql"),
    `create extension if not exists "uuid-ossp" with schema extensions;
     create table public.profiles (id uuid primary key references auth.users (id) on delete cascade, code uuid default uuid_generate_v4(), name text);
     alter table public.profiles enable row level security;
     create policy "Own" on public.profiles to authenticated using ((select auth.uid()) = id);
     create policy "Service" on public.profiles to service_role using (true);
     grant all on table public.profiles to anon, authenticated, service_role;
     alter publication supabase_realtime add table public.profiles;
     create policy "Avatars" on storage.objects for select using ((storage.foldername(name))[1] = auth.uid()::text);
     create policy "Rooms" on realtime.messages for select to authenticated using (realtime.topic() = 'room');
     create function public.on_user() returns trigger language plpgsql security definer set search_path = '' as $$
       begin insert into public.profiles (id, name) values (new.id, new.email); return new; end $$;
     create trigger on_user after insert on auth.users for each row execute function public.on_user();
     create function public.on_profile() returns trigger language plpgsql as $$
       begin perform realtime.broadcast_changes('room', tg_op, tg_op, tg_table_name, tg_table_schema, new, old); return null; end $$;
     create trigger on_profile after insert on public.profiles for each row execute function public.on_profile();`
  )
  service = await serveInProcess({ SVC_SUPABASE: "true", SVC_SUPABASE_JWT_KEYS: "true", MIGRATIONS_DIR: migrations })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const names = async (text: string) => (await sql(service, text)).map((row) => Object.values(row)[0])
const jwt = (claims: object, key = service.jwtSecret) => hs256(JSON.stringify(claims), undefined, key)

describe("with SVC_SUPABASE the database", () => {
  it("runs migrations and seeds of a project", async () => {
    await sql(service, "create schema supabase_migrations")
    await sql(
      service,
      "create table supabase_migrations.schema_migrations (version text primary key, statements text[], name text)"
    )
    await sql(service, "insert into supabase_migrations.schema_migrations values ('20240101000000', null, 'first')")
    const status = async () =>
      (await ask(service, "GET /api/migrations/idempotent/status", { key: service.service_role })).json as {
        tool: string
        migrations: ReadonlyArray<{ name: string; status: string }>
      }
    const { migrations, tool } = await status()
    assert.strictEqual(tool, "supabase")
    assert.deepStrictEqual(
      migrations.map(({ name, status }) => [name, status]),
      [
        ["20240101000000_first", "applied"],
        ["20240102000000_second", "pending"]
      ]
    )
    const ran = await ask(service, "POST /api/migrations/idempotent/run", { key: service.service_role })
    assert.deepStrictEqual((ran.json as { ran: unknown }).ran, ["20240102000000_second"], ran.text)
    assert.deepStrictEqual(
      await names("select version || ' ' || name from supabase_migrations.schema_migrations order by 1"),
      ["20240101000000 first", "20240102000000 second"]
    )
    await sql(service, "insert into auth.users (id, email) values ($1, 'ann@example.com')", [ann])
    const client = createClient(service.url, service.anon, { accessToken: () => Promise.resolve(jwt({ sub: ann })) })
    const { data } = await client.from("profiles").select("id, name, code").single<{ id: string; code: string }>()
    assert.strictEqual(data?.id, ann)
    assert.match(data?.code ?? "", /^[\da-f-]{36}$/)
    assert.deepStrictEqual(
      await names("select tablename from pg_publication_tables where pubname = 'supabase_realtime'"),
      ["profiles"]
    )
    assert.deepStrictEqual(await names("select storage.foldername('a/b/c.d.txt')::text"), ["{a,b}"])
    assert.deepStrictEqual(
      await names("select storage.filename('a/b/c.d.txt') || ' ' || storage.extension('a/b/c.d.txt')"),
      ["c.d.txt txt"]
    )
  })

  it("has roles that can't log in, and tables that clients can't read", async () => {
    assert.deepStrictEqual(
      await names(
        "select rolname || ' ' || rolbypassrls from pg_roles where rolname = 'service_role' and not rolcanlogin and not rolsuper"
      ),
      ["service_role true"]
    )
    for (const role of ["anon", "authenticated"]) {
      for (const table of ["auth.users", "auth.identities"]) {
        assert.deepStrictEqual(await names(`select has_table_privilege('${role}', '${table}', 'select')`), [false])
      }
    }
    assert.deepStrictEqual(
      await names(
        "select c.oid::regclass::text from pg_class c where relkind = 'r' and not relrowsecurity and relnamespace::regnamespace::text in ('auth', 'storage', 'realtime')"
      ),
      []
    )
  })
})

describe("the objects that Supabase makes", () => {
  /** Columns by the newest migrations of Supabase's servers, in which a data dump has them. */
  const columns = {
    "auth.users":
      "aud banned_until confirmation_sent_at confirmation_token confirmed_at created_at deleted_at email email_change email_change_confirm_status email_change_sent_at email_change_token_current email_change_token_new email_confirmed_at encrypted_password id instance_id invited_at is_anonymous is_sso_user is_super_admin last_sign_in_at phone phone_change phone_change_sent_at phone_change_token phone_confirmed_at raw_app_meta_data raw_user_meta_data reauthentication_sent_at reauthentication_token recovery_sent_at recovery_token role updated_at",
    "auth.identities": "created_at email id identity_data last_sign_in_at provider provider_id updated_at user_id",
    "storage.buckets":
      "allowed_mime_types avif_autodetection created_at file_size_limit id name owner owner_id public type updated_at versioning_status",
    "storage.objects":
      "archived_at bucket_id created_at id is_delete_marker is_versioned last_accessed_at metadata name owner owner_id path_tokens updated_at user_metadata version",
    "realtime.messages": "binary_payload event extension id inserted_at payload private topic updated_at"
  }
  const functions = [
    "auth.email()",
    "auth.jwt()",
    "auth.role()",
    "auth.uid()",
    "realtime.broadcast_changes(text,text,text,text,text,record,record,text)",
    "realtime.send(jsonb,text,text,boolean)",
    "realtime.send_binary(bytea,text,text,boolean)",
    "realtime.topic()",
    "storage.allow_any_operation(text[])",
    "storage.allow_only_operation(text)",
    "storage.extension(text)",
    "storage.filename(text)",
    "storage.foldername(text)",
    "storage.get_size_by_bucket()",
    "storage.operation()"
  ]

  it("have its columns and signatures", async () => {
    for (const [table, expected] of Object.entries(columns)) {
      const found = await names(
        `select string_agg(attname, ' ' order by attname collate "C") from pg_attribute where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped`
      )
      assert.deepStrictEqual(found, [expected], table)
    }
    const missing = functions.map((name) => `('${name}')`).join(", ")
    assert.deepStrictEqual(await names(`select f from (values ${missing}) v(f) where to_regprocedure(f) is null`), [])
  })

  it("take the rows of a data dump, but no other kind of bucket", async () => {
    await sql(
      service,
      `insert into storage.buckets (id, name, owner, created_at, updated_at, public, avif_autodetection, file_size_limit, allowed_mime_types, owner_id, type, versioning_status)
       values ('dumped', 'dumped', null, now(), now(), false, false, null, null, null, 'STANDARD', 'DISABLED')`
    )
    await sql(
      service,
      `insert into storage.objects (bucket_id, name, metadata, archived_at, is_delete_marker, is_versioned) values ('dumped', 'a', '{"size": 7}', null, false, false)`
    )
    assert.deepStrictEqual(await sql(service, "select * from storage.get_size_by_bucket()"), [
      { size: "7", bucket_id: "dumped" }
    ])
    for (const values of ["'ANALYTICS', 'DISABLED'", "'STANDARD', 'ENABLED'"]) {
      const text = `insert into storage.buckets (id, name, type, versioning_status) values ('other', 'other', ${values})`
      const refused = await ask(service, "POST /v1/sql", { key: service.service_role, body: { sql: text } })
      assert.strictEqual((refused.json as { code: string }).code, "23514")
    }
  })

  it("know the user of claims that a test of policies has set", async () => {
    const set = (claims: string) =>
      `select set_config('request.jwt.claims', '${claims}', false) is null as a, auth.uid()::text as uid`
    assert.deepStrictEqual(await sql(service, set(`{"sub": "${ann}"}`)), [{ a: false, uid: ann }])
    assert.deepStrictEqual(await sql(service, set('{"sub": "auth0|1"}')), [{ a: false, uid: null }])
    assert.deepStrictEqual(await sql(service, set("")), [{ a: false, uid: null }])
  })
})

describe("programs that connect to the database", () => {
  it("find functions of extensions, as migrations do", async () => {
    const direct = new Client({ connectionString: service.databaseUrl })
    await direct.connect()
    const { rows } = await direct.query(
      "select current_setting('search_path') as path, length(crypt('x', gen_salt('bf'))) as hash, uuid_generate_v4() is not null as uuid"
    )
    await direct.end()
    const same = await sql(service, "select current_setting('search_path') as path")
    assert.deepStrictEqual(rows, [{ path: '"$user", public, extensions', hash: 60, uuid: true }])
    assert.deepStrictEqual(same, [{ path: '"$user", public, extensions' }])
  })

  it("get a server and a page to read where an extension is missing", async () => {
    for (const [name, expected] of [
      ["vector", /first be installed.* DATABASE_URL to .* that has vector, .*docs\/operations\.md#extensions/],
      ["postgis", /DATABASE_URL to .* that has postgis, such as the image postgis\/postgis, or .*#extensions/],
      ["postgis_raster", /that has postgis_raster, such as the image postgis\/postgis/]
    ] as const) {
      const body = { sql: `create extension ${name}` }
      const reply = await ask(service, "POST /v1/sql", { key: service.service_role, body })
      assert.match((reply.json as { hint: string }).hint, expected, reply.text)
    }
  })
})

describe("with SVC_SUPABASE_JWT_KEYS", () => {
  const read = async (headers: Record<string, string>) => {
    const { json, status, text } = await ask(service, "GET /rest/v1/profiles?select=name", { headers })
    return status === 200 ? (json as ReadonlyArray<unknown>).length : `${status} ${text.slice(0, 60)}`
  }
  const exp = Math.floor(Date.now() / 1000) + 60

  it("a JWT of a role, signed by SVC_JWT_SECRET, is an API key", async () => {
    const [anon, admin] = ["anon", "service_role"].map((role) => jwt({ iss: "supabase-demo", role, exp })) as [
      string,
      string
    ]
    assert.strictEqual(await read({ apikey: admin, authorization: `Bearer ${admin}` }), 1)
    assert.strictEqual(await read({ apikey: anon, authorization: `Bearer ${anon}` }), 0)
    assert.strictEqual(await read({ apikey: anon, authorization: `Bearer ${jwt({ sub: ann, exp })}` }), 1)
    assert.strictEqual(await read({ apikey: admin, authorization: `Bearer ${anon}` }), 0)
    const { data } = await createClient(service.url, admin).from("profiles").select("name")
    assert.deepStrictEqual(data, [{ name: "ann@example.com" }])
    // On /v1 it is none.
    assert.strictEqual((await ask(service, "GET /v1/db/profiles", { key: admin })).status, 401)
  })

  it("no other JWT is one", async () => {
    const forged = jwt({ role: "service_role", exp }, "x".repeat(40))
    assert.match(String(await read({ apikey: forged })), /^401/)
    assert.match(String(await read({ apikey: service.anon, authorization: `Bearer ${forged}` })), /^401/)
    assert.match(String(await read({ apikey: jwt({ role: "service_role", exp: exp - 200 }) })), /^401/)
    for (const claims of [
      { role: "service_role", sub: ann },
      { role: "service_role", sub: "" },
      { role: "postgres" },
      { role: ["service_role"] },
      {}
    ]) {
      assert.match(String(await read({ apikey: jwt({ ...claims, exp }) })), /^401/, JSON.stringify(claims))
    }
    const user = jwt({ role: "service_role", sub: "22222222-2222-4222-8222-222222222222", exp })
    assert.strictEqual(await read({ apikey: service.service_role, authorization: `Bearer ${user}` }), 0)
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${forged.split(".")[1]}.`
    assert.match(String(await read({ apikey: none })), /^401/)
  })
})
