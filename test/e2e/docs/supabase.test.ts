import { createClient } from "@supabase/supabase-js"
import { afterAll, assert, beforeAll, it } from "vitest"
import { hs256 } from "../../support/access/jwts.ts"
import { ask } from "../../support/client.ts"
import { type Service, startService } from "../../support/service.ts"

const ann = "22222222-2222-4222-8222-222222222222"

/** What `supabase db pull` writes at the start, whether a project uses it or not. */
const pulled = [
  'create extension if not exists "pg_graphql" with schema "graphql"',
  'create extension if not exists "pg_stat_statements" with schema "extensions"',
  'create extension if not exists "pgcrypto" with schema "extensions"',
  'create extension if not exists "pgjwt" with schema "extensions"',
  'create extension if not exists "pgsodium" with schema "pgsodium"',
  'create extension if not exists "supabase_vault" with schema "vault"',
  'create extension if not exists "uuid-ossp" with schema "extensions"'
]

/** What `pg_dump --schema=public` writes for a project with profiles, and rows of users. */
const dump = [
  "create table public.profiles (id uuid not null primary key, name text)",
  "create table public.todos (id bigint generated always as identity primary key, user_id uuid default auth.uid() not null, title text not null)",
  // bcrypt, as Supabase hashes passwords.
  `insert into auth.users (id, email, encrypted_password) values ('${ann}', 'ann@example.com', extensions.crypt('correct horse battery', extensions.gen_salt('bf', 4)))`,
  `insert into public.profiles values ('${ann}', 'Ann')`,
  `insert into public.todos (user_id, title) values ('${ann}', 'old')`,
  "alter table only public.profiles add constraint profiles_id_fkey foreign key (id) references auth.users(id) on delete cascade",
  "alter table only public.todos add constraint todos_user_id_fkey foreign key (user_id) references public.profiles(id)",
  "alter table public.profiles enable row level security",
  "alter table public.todos enable row level security",
  'create policy "Public profiles" on public.profiles for select using (true)',
  'create policy "Own todos" on public.todos to authenticated using ((( select auth.uid() as uid) = user_id)) with check ((auth.uid() = user_id))',
  'create policy "Service" on public.todos to service_role using (true)',
  "alter publication supabase_realtime add table only public.todos",
  "grant all on table public.todos to anon, authenticated, service_role",
  "create policy \"Avatars\" on storage.objects for select using ((bucket_id = 'avatars'::text))"
]

// A server of its own: roles belong to all databases of a server.
let service: Service
beforeAll(async () => {
  service = await startService({ env: { SVC_SUPABASE: "true" } })
})
afterAll(() => service[Symbol.asyncDispose]())

it("the dump of a project, its tokens and its client work as they are", async () => {
  for (const texts of [pulled, dump]) {
    const body = { statements: texts.map((sql) => ({ sql })) }
    const ran = await ask(service, "POST /v1/sql/transaction", { key: service.service_role, body })
    assert.strictEqual(ran.status, 200, ran.text)
  }

  const exp = Math.floor(Date.now() / 1000) + 60
  const token = hs256(
    JSON.stringify({ sub: ann, role: "authenticated", aud: "authenticated", exp }),
    undefined,
    service.jwtSecret
  )
  const mine = createClient(service.url, service.anon, { accessToken: () => Promise.resolve(token) })
  assert.isNull((await mine.from("todos").insert({ title: "new" })).error)
  const { data } = await mine.from("todos").select("title, profiles(name)").order("id")
  assert.deepStrictEqual(data as unknown, [
    { title: "old", profiles: { name: "Ann" } },
    { title: "new", profiles: { name: "Ann" } }
  ])
  const app = createClient(service.url, service.anon, { auth: { autoRefreshToken: false } })
  const { data: signedIn, error } = await app.auth.signInWithPassword({
    email: "ann@example.com",
    password: "correct horse battery"
  })
  assert.isNull(error)
  assert.strictEqual(signedIn.user?.id, ann)
  assert.strictEqual((await app.from("todos").select()).data?.length, 2)
  assert.deepStrictEqual((await createClient(service.url, service.anon).from("todos").select()).data, [])
})
