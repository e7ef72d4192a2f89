/** Shared by the parts of bench/databases: requests to the service, branches, a large table. */
import { Client } from "pg"
import { type DatabaseClient, type Stream } from "./client.ts"
import { type Remote } from "../support/remote.ts"
import { connections, type Scenario } from "../rows/scenarios.ts"
import { type Service } from "../support/service.ts"

export interface DatabaseBench {
  readonly service: Service
  readonly client: Remote<DatabaseClient>
  readonly quick: boolean
  /** Size of the database that is copied and dumped, in MiB. */
  readonly size: number
}

export interface Branch {
  readonly id: number
  readonly database_name: string
}

/** Sends a request with the service key and returns the JSON; throws unless the status is 2xx. */
export const manage = async <A>(
  { credentials, url }: Service,
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {}
): Promise<A> => {
  const json = body === undefined ? {} : { "content-type": "application/json" }
  const answer = await fetch(url + path, {
    method,
    headers: { apikey: credentials.service, ...json, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  if (!answer.ok) throw new Error(`${answer.status} to ${method} ${path}: ${(await answer.text()).slice(0, 1000)}`)
  return (await answer.json()) as A
}

export const makeBranch = (service: Service, label: string) =>
  manage<Branch>(service, "POST", "/api/branches", { label, access: "clients" })

export const dropBranch = (service: Service, { id }: Branch) => manage(service, "DELETE", `/api/branches/${id}`)

export const streamOf = ({ credentials, url }: Service, { body, headers, method, paths }: Scenario): Stream => ({
  origin: url,
  method,
  paths,
  headers: headers(credentials),
  ...(body === undefined ? {} : { body }),
  connections
})

/** The first row of a statement, in the main database or in a branch. */
export const firstRow = async (service: Service, sql: string, branch?: Branch): Promise<Record<string, unknown>> => {
  const headers = branch === undefined ? {} : { "x-svc-branch": String(branch.id) }
  const { rows } = await manage<{ rows: Array<Record<string, unknown>> }>(service, "POST", "/v1/sql", { sql }, headers)
  return rows[0] ?? {}
}

/** Runs `use` with a direct connection to PostgreSQL. */
export const withDriver = async <A>({ databaseUrl }: Service, use: (driver: Client) => Promise<A>) => {
  const driver = new Client({ connectionString: databaseUrl })
  await driver.connect()
  try {
    return await use(driver)
  } finally {
    await driver.end()
  }
}

const mebibyte = 1024 * 1024

const words =
  "the of and to in is was for on that with as it by at from his an are were which be this also has had its not but or one have their first new after who they two her she been other when there all during into school time may years more most only over city some world would where later up such used many can state about national out known university united then made"

/**
 * Grows the database to `size` MiB: rows of 0.7 KB with text, an array, JSON, numbers and times, three indexes. Texts
 * repeat only after 25 MB, out of reach of compression. Returns its size in bytes.
 */
export const fill = (service: Service, size: number) =>
  withDriver(service, async (driver) => {
    const sizeSql = "select pg_database_size(current_database())::float8 as size"
    const bytes = async () => Number((await driver.query<{ size: number }>(sizeSql)).rows[0]?.size)
    if ((await bytes()) >= size * mebibyte * 0.98) return bytes()
    await driver.query(`create table if not exists bench_large (
      id bigint generated always as identity primary key, owner uuid not null, title text not null, body text not null,
      tags text[] not null, about jsonb not null, amount numeric(12, 2) not null, created_at timestamptz not null)`)
    await driver.query("create index if not exists bench_large_owner on bench_large (owner)")
    await driver.query("create index if not exists bench_large_created_at on bench_large (created_at)")
    await driver.query(
      // Without `n` and `i` PostgreSQL would evaluate the expression only once.
      `create temporary table texts as
       select n, (select string_agg(w[1 + (floor(random() * cardinality(w))::int + 0 * i)], ' ') from generate_series(1, 90) i where n >= 0) as body
       from generate_series(0, 49999) n, (select string_to_array($1, ' ') as w) words`,
      [words]
    )
    await driver.query("create index on texts (n)")
    await driver.query("analyze texts")
    const texts = await driver.query<{ size: number }>("select pg_total_relation_size('texts')::float8 as size")
    const wanted = size * mebibyte + Number(texts.rows[0]?.size)
    for (let left = wanted - (await bytes()); left > 0; left = wanted - (await bytes())) {
      const rows = Math.min(50_000, Math.ceil(left / 800))
      await driver.query(
        `insert into bench_large (owner, title, body, tags, about, amount, created_at)
         select gen_random_uuid(), 'Entry number ' || i, body, array['tag' || i % 17, 'tag' || i % 31],
                jsonb_build_object('level', i % 7, 'from', md5(i::text)), i % 10000 / 100.0,
                timestamptz '2025-01-01' + i * interval '1 minute'
         from generate_series(1, $1) i join texts on n = i * 7919 % 50000`,
        [rows]
      )
    }
    await driver.query("drop table texts")
    await driver.query("vacuum (analyze)")
    await driver.query("checkpoint")
    return bytes()
  })
