/** The measured requests. */

/** Number of concurrent requests or, on a bare driver, queries. */
export const connections = 32

export interface Credentials {
  readonly anon: string
  readonly service: string
  /** An HS256 JWT of the user who owns the rows of `bench_owned`. */
  readonly jwt: string
}

export interface Scenario {
  readonly id: string
  readonly title: string
  readonly method: "GET" | "POST"
  /** Sent in turn, so that no single response stays in a processor's cache. */
  readonly paths: ReadonlyArray<string>
  readonly headers: (credentials: Credentials) => Readonly<Record<string, string>>
  readonly body?: string
  /** Whether the response body is correct, because errors and empty responses are fast and must not be measured. */
  readonly right: (body: string) => boolean
  /** Number of concurrent requests, if other than in most rows. */
  readonly connections?: number
  /** Whether it is also compared with the same SQL on a bare driver. */
  readonly besideSql?: boolean
}

/** Rows in `bench`, `bench_owned` and `bench_lists`. */
export const rows = 10_000
export const user = "8f14e45f-ceea-467f-a0e6-bd5b1d3c9a10"

const ids = Array.from({ length: 97 }, (_, n) => 1 + n * 101)
const json = { "content-type": "application/json" }
const records = (count: number) => (body: string) => {
  const parsed: unknown = JSON.parse(body)
  return Array.isArray(parsed) && parsed.length === count
}

interface List {
  readonly bench_tasks: ReadonlyArray<unknown>
}

interface Task {
  readonly bench_lists: object | null
}

const inserted: Omit<Scenario, "id" | "title"> = {
  method: "POST",
  paths: ["/v1/db/bench_inserted"],
  headers: ({ anon }) => ({ apikey: anon, ...json }),
  body: JSON.stringify({ title: "Water the plants", done: false }),
  right: records(1)
}

/** One row of a table of which the caller sees only its own. */
const owned = (table: string): Omit<Scenario, "id" | "title"> => ({
  method: "GET",
  paths: ids.map((id) => `/v1/db/${table}?id=eq.${id}&select=id,title,done`),
  headers: ({ anon, jwt }) => ({ apikey: anon, authorization: `Bearer ${jwt}` }),
  right: records(1)
})

const called = (name: string): Omit<Scenario, "id" | "title"> => ({
  method: "POST",
  paths: [`/v1/db/rpc/${name}`],
  headers: ({ anon }) => ({ apikey: anon, ...json }),
  body: JSON.stringify({ a: 1, b: 2 }),
  right: (body) => body === "3"
})

/** Whether there are 20 records, and all are correct. */
const twenty =
  <A>(each: (record: A) => boolean) =>
  (body: string) => {
    const parsed: ReadonlyArray<A> = JSON.parse(body)
    return parsed.length === 20 && parsed.every(each)
  }

export const scenarios: ReadonlyArray<Scenario> = [
  {
    id: "a",
    title: "GET one row by primary key",
    method: "GET",
    paths: ids.map((id) => `/v1/db/bench?id=eq.${id}&select=id,title,done`),
    headers: ({ anon }) => ({ apikey: anon }),
    right: records(1)
  },
  {
    id: "a2",
    title: "the same by /rest/v1",
    method: "GET",
    paths: ids.map((id) => `/rest/v1/bench?id=eq.${id}&select=id,title,done`),
    // As supabase-js sends it.
    headers: ({ anon }) => ({ apikey: anon, authorization: `Bearer ${anon}` }),
    right: records(1)
  },
  { id: "b", title: "the same with a JWT and row-level security", ...owned("bench_owned") },
  { id: "b2", title: "the same with the policy owner = auth.uid()", ...owned("bench_owned_uid") },
  { id: "b3", title: "the same with a PL/pgSQL function in the policy", ...owned("bench_owned_function") },
  {
    id: "c",
    title: "GET 20 rows",
    method: "GET",
    paths: ids.map((id) => `/v1/db/bench?id=gt.${id}&select=id,title,done&order=id.asc&limit=20`),
    headers: ({ anon }) => ({ apikey: anon }),
    right: records(20)
  },
  {
    id: "c2",
    title: "the same, compressed",
    method: "GET",
    paths: ids.map((id) => `/v1/db/bench?id=gt.${id}&select=id,title,done&order=id.asc&limit=20`),
    headers: ({ anon }) => ({ apikey: anon, "accept-encoding": "br" }),
    right: records(20)
  },
  { id: "d", title: "POST one row", ...inserted },
  { id: "d256", title: "the same on 256 connections", ...inserted, connections: 256 },
  { id: "e", title: "POST a function call, scalar", ...called("add") },
  { id: "e2", title: "the same with a string body", ...called("add_text") },
  {
    id: "e3",
    title: "POST a call of PL/pgSQL that inserts one row",
    ...inserted,
    paths: ["/v1/db/rpc/insert_row"],
    right: (body) => Number(body) > 0
  },
  {
    id: "f",
    title: "POST /v1/sql, one row",
    method: "POST",
    paths: ["/v1/sql"],
    headers: ({ service }) => ({ apikey: service, ...json }),
    body: JSON.stringify({ sql: "select id, title, done from bench where id = 4711" }),
    right: (body) => JSON.parse(body).rows.length === 1
  },
  {
    id: "g",
    title: "GET 20 rows, 5 embedded in each",
    method: "GET",
    paths: ids.map(
      (id) => `/v1/db/bench_lists?id=gt.${id}&select=id,title,bench_tasks(id,title,done)&order=id.asc&limit=20`
    ),
    headers: ({ anon }) => ({ apikey: anon }),
    right: twenty((list: List) => list.bench_tasks.length === 5),
    besideSql: true
  },
  {
    id: "h",
    title: "GET 20 rows, each with the one it belongs to",
    method: "GET",
    paths: ids.map(
      (id) => `/v1/db/bench_tasks?id=gt.${id}&select=id,title,done,bench_lists(id,title)&order=id.asc&limit=20`
    ),
    headers: ({ anon }) => ({ apikey: anon }),
    right: twenty((task: Task) => task.bench_lists !== null),
    besideSql: true
  }
]

/** Rows of the table that use a bare driver instead of HTTP. */
export const drivers = [
  { id: "pg", title: "a's SQL on a bare pg pool", driver: "pg" },
  { id: "sql-pg", title: "a's SQL on a bare sql-pg pool", driver: "sql-pg" }
] as const

/** A table like `bench_owned` with this policy and a uuid as the owner, as most applications have. */
const ownedTable = (name: string, policy: string) => [
  `create table ${name} (id int primary key, owner uuid not null, title text not null, done boolean not null)`,
  `insert into ${name} select n, case when n % 101 = 1 then '${user}' else gen_random_uuid() end, 'Task number ' || n, n % 3 = 0 from generate_series(1, ${rows}) n`,
  `alter table ${name} enable row level security`,
  `create policy own on ${name} to authenticated using (${policy})`,
  `grant select on ${name} to authenticated`
]

/** `auth.uid()` on a database whose service has not installed it. */
const uid = `do $do$ begin
  if to_regprocedure('auth.uid()') is null then
    create schema if not exists auth;
    create function auth.uid() returns uuid language sql stable
      return nullif(current_setting('request.jwt.sub', true), '')::uuid;
    grant usage on schema auth to anon, authenticated;
  end if;
end $do$`

/** One statement each. `driverPassword` is for the role of the bare drivers, which connect directly. */
export const setup = (driverPassword: string): ReadonlyArray<string> => [
  "create table bench (id int generated by default as identity primary key, title text not null, done boolean not null)",
  `insert into bench (title, done) select 'Task number ' || n, n % 3 = 0 from generate_series(1, ${rows}) n`,
  "create table bench_owned (id int primary key, owner text not null, title text not null, done boolean not null)",
  `insert into bench_owned select n, case when n % 101 = 1 then '${user}' else 'somebody else' end, 'Task number ' || n, n % 3 = 0 from generate_series(1, ${rows}) n`,
  "alter table bench_owned enable row level security",
  "create policy own on bench_owned to authenticated using (owner = current_setting('request.jwt.sub', true))",
  uid,
  ...ownedTable("bench_owned_uid", "owner = auth.uid()"),
  "create function current_owner() returns uuid language plpgsql stable as $$ begin return current_setting('request.jwt.claims', true)::json ->> 'sub'; end $$",
  ...ownedTable("bench_owned_function", "owner = current_owner()"),
  "create table bench_inserted (id bigint generated always as identity primary key, title text not null, done boolean not null)",
  "create table bench_lists (id int primary key, title text not null)",
  `insert into bench_lists select n, 'List number ' || n from generate_series(1, ${rows}) n`,
  "create table bench_tasks (id int primary key, list_id int not null references bench_lists, title text not null, done boolean not null)",
  `insert into bench_tasks select n, 1 + (n - 1) / 5, 'Task number ' || n, n % 3 = 0 from generate_series(1, ${5 * rows}) n`,
  "create index on bench_tasks (list_id)",
  "create table bench_comments (id int primary key, task_id int not null references bench_tasks, text text not null)",
  "create function add(a int, b int) returns int language sql immutable return a + b",
  "create function add_text(a int, b int) returns int language sql immutable as 'select a + b'",
  "create function insert_row(title text, done boolean) returns bigint language plpgsql as $$ declare added bigint; begin insert into bench_inserted (title, done) values (insert_row.title, insert_row.done) returning id into added; return added; end $$",
  "grant select on bench, bench_lists, bench_tasks, bench_comments to anon",
  "grant select on bench_owned to authenticated",
  "grant select, insert on bench_inserted to anon",
  "grant execute on function add(int, int), add_text(int, int), insert_row(text, boolean) to anon",
  "grant execute on function current_owner() to authenticated",
  `create role bench_driver login password '${driverPassword}' in role pg_read_all_data`,
  // As in the service.
  "alter role bench_driver set jit = off",
  "analyze"
]
