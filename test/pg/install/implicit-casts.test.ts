import { randomBytes } from "node:crypto"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { withEdit } from "../../../dashboard/src/tables/rows/edits.ts"
import { saveStatements } from "../../../dashboard/src/tables/rows/statements.ts"
import { fingerprintSql } from "../../../src/domain/catalogue/FingerprintSql.ts"
import {
  announceGapsSql,
  changedTablesSql,
  passOnSql,
  recordGapSql,
  slotSql
} from "../../../src/domain/changes/LogSql.ts"
import { ask, type Request, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { endFeeds, openFeed, subscribe } from "../../support/realtime/feed.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"

/**
 * Casts all built-in types to text implicitly, as PostgreSQL did before 8.3 and as migrations from Oracle have it.
 * `text || bigint` is then ambiguous, because it may be `text || text` and `text || anynonarray`.
 */
const casts = `
  do $$
  declare
    kind regtype;
  begin
    for kind in select t.oid from pg_type t where t.typtype = 'b' and t.typnamespace = 'pg_catalog'::regnamespace
      and t.typelem = 0 and t.typname not in ('unknown', 'text')
      and not exists (select from pg_cast c where c.castsource = t.oid and c.casttarget = 'text'::regtype)
    loop
      execute format('create cast (%s as text) with inout as implicit', kind);
    end loop;
  end $$;
  update pg_cast set castcontext = 'i' where casttarget = 'text'::regtype`

const env = {
  SVC_SUPABASE: "true",
  SVC_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
  WEBHOOK_ALLOW_PRIVATE: "true"
}
const database = `implicit_casts_${process.pid}`
let service: InProcessService
let sink: Receiver
let inside: Client

const connected = async (connectionString: string) => {
  const client = new Client({ connectionString })
  await client.connect()
  return client
}

beforeAll(async () => {
  service = await serveInProcess(env, async (url) => {
    const root = await connected(url)
    await root.query(`create database ${database}`)
    await root.end()
    const own = new URL(url)
    own.pathname = database
    inside = await connected(own.href)
    await inside.query(casts)
    return own.href
  })
  sink = await startReceiver()
  await inside.query(`
    create table notes (id int primary key, author uuid default auth.uid(), size bigint, price numeric, day date,
      at timestamptz not null default now(), title text);
    create table comments (id int primary key, note int references notes, body text);
    alter table notes enable row level security;
    create policy own on notes using (author = auth.uid()) with check (author = auth.uid());
    grant select, insert, update, delete on notes, comments to authenticated;
    grant select on comments to anon;
    create function doubled(n bigint) returns bigint language sql immutable return n * 2`)
})

afterAll(async () => {
  endFeeds()
  await inside.end()
  await service[Symbol.asyncDispose]()
  await sink[Symbol.asyncDispose]()
  const root = await connected(service.databaseUrl.replace(/[^/]*$/, "postgres"))
  await root.query(`drop database ${database} with (force)`)
  await root.end()
})

/** The answer to a request, as the service role unless another key is given. */
const answer = async (line: string, request: Request = {}, status = 200) => {
  const reply = await ask(service, line, { key: service.service_role, ...request })
  assert.strictEqual(reply.status, status, `${line}: ${reply.text}`)
  return reply
}

describe("a database that casts everything to text implicitly", () => {
  it("has a concatenation that is ambiguous", async () => {
    const error = await inside.query("select 'a' || 1").then(
      () => undefined,
      (cause: unknown) => cause as { readonly code?: string }
    )
    assert.strictEqual(error?.code, "42725")
  })

  it("is read, written and described", async () => {
    const size = "9007199254740993"
    const note = { id: 1, size, price: "1.50", day: "2026-01-02", title: "first" }
    await answer("POST /v1/db/notes", { body: [note, { ...note, id: 2, title: null }] }, 201)
    await answer("POST /v1/db/comments", { body: { id: 1, note: 1, body: "yes" } }, 201)
    const embedded = await answer("GET /v1/db/notes?select=id,size::text,day,comments(body)&size=gt.5&order=id")
    assert.deepStrictEqual(embedded.json, [
      { id: 1, size, day: "2026-01-02", comments: [{ body: "yes" }] },
      { id: 2, size, day: "2026-01-02", comments: [] }
    ])
    const csv = await answer("GET /v1/db/notes?select=id,day,title", { headers: { accept: "text/csv" } })
    assert.strictEqual(csv.text, "id,day,title\n1,2026-01-02,first\n2,2026-01-02,")
    const one = { accept: "application/vnd.pgrst.object+json" }
    await answer("GET /v1/db/notes?select=id", { headers: one }, 406)
    await answer("PATCH /v1/db/notes?id=eq.1", {
      body: { price: 2 },
      headers: { ...one, prefer: "return=representation" }
    })
    const counted = await answer("GET /v1/db/notes?select=id&limit=1", { headers: { prefer: "count=exact" } }, 206)
    assert.strictEqual(counted.headers.get("content-range"), "0-0/2")
    assert.strictEqual((await answer("GET /v1/db/rpc/doubled?n=4")).text, "8")
    assert.deepStrictEqual((await answer("GET /v1/db/comments?select=id", { key: service.anon })).json, [{ id: 1 }])
    // An unknown name is looked up by the stamps of its relation and function.
    await answer("GET /v1/db/missing", {}, 404)
    for (const path of ["/v1/db/", "/v1/database/schema", "/v1/database/types.ts"]) {
      assert.include((await answer(`GET ${path}`)).text, "doubled", path)
    }
  })

  it("notifies clients and webhooks of rows and accounts, and signs users up", async () => {
    await answer(
      "POST /api/webhooks",
      { body: { table_name: "notes", events: ["INSERT"], url: `${sink.url}/rows` } },
      201
    )
    const people = { events: ["identity.created", "identity.signed_in"], url: `${sink.url}/people` }
    const { id } = (await answer("POST /api/webhooks", { body: people }, 201)).json as { readonly id: number }
    await subscribe(service, "notes")
    const feed = await openFeed(service, { key: service.service_role })

    const credentials = { email: "ann@example.com", password: "correct horse battery" }
    const up = await answer("POST /auth/v1/signup", { key: service.anon, body: credentials })
    const { access_token: token } = up.json as { readonly access_token: string }
    await answer("POST /auth/v1/token?grant_type=password", { key: service.anon, body: credentials })
    await answer("GET /auth/v1/user", { key: service.anon, token })
    await answer("GET /auth/v1/admin/users")
    await answer("POST /v1/db/notes", { key: service.anon, token, body: { id: 3, title: "mine" } }, 201)
    const own = await answer("GET /v1/db/notes?select=id", { key: service.anon, token })
    assert.deepStrictEqual(own.json, [{ id: 3 }])

    assert.strictEqual((await feed.upTo(({ row }) => row?.["id"] === 3)).at(-1)?.operation, "INSERT")
    const [row] = await sink.count("/rows", 1)
    assert.strictEqual(row?.json.row?.["title"], "mine")
    const events = (await sink.count("/people", 3)).map(({ json }) => json.event)
    assert.sameMembers(events, ["identity.created", "identity.signed_in", "identity.signed_in"])
    assert.match((await answer(`GET /api/webhooks/${id}/logs`)).text, /"message_id" : "msg_[0-9a-f-]{36}"/)
    await subscribe(service, "comments")
    assert.include((await answer("GET /api/realtime/subscriptions")).text, "comments")
  })

  it("keeps flags, clients, buckets, backups and what else is managed", async () => {
    const flag = { key: "cart", type: "boolean", variants: { on: true, off: false }, defaultVariant: "off" }
    await answer("POST /api/flags", { body: flag }, 201)
    await answer("POST /api/flags/evaluate", { body: { flagKey: "cart", context: { targetingKey: "ann" } } })
    const client = { redirect_uris: ["https://app.example.com/"], token_endpoint_auth_method: "client_secret_basic" }
    await answer("POST /api/oauth2/clients", { body: { client_name: "app", ...client } }, 201)
    await answer("POST /api/projects/default/environments", { body: { name: "Test", slug: "test" } }, 201)
    await answer("POST /api/connections", { body: { name: "own", connection_url: service.databaseUrl } }, 201)
    await answer("POST /storage/v1/bucket", { body: { id: "files", name: "files", public: false } })
    await answer("POST /storage/v1/object/files/a/b.txt", { body: "text", headers: { "content-type": "text/plain" } })
    await answer("POST /storage/v1/object/list/files", { body: { prefix: "", limit: 10 } })
    const lists = [
      "/api/audit",
      "/api/insights",
      "/api/flags/cart/history",
      "/api/oauth2/clients",
      "/api/keys",
      "/api/backups",
      "/api/branches",
      "/api/projects/default/environments",
      "/api/connections",
      "/api/migrations/idempotent/status",
      "/api/identities",
      "/api/sql/fdw",
      "/api/changes",
      "/api/realtime/status",
      "/api/realtime/tables",
      "/api/requests",
      "/v1/status"
    ]
    const failed = await Promise.all(
      lists.map(async (path) => ({
        path,
        status: (await ask(service, `GET ${path}`, { key: service.service_role })).status
      }))
    )
    assert.deepStrictEqual(
      failed.filter(({ status }) => status !== 200),
      []
    )
  })

  it("takes the statements of the fingerprint, the change log and the dashboard", async () => {
    const table = { schema: "public", name: "comments", primary_key: ["id"], columns: [] } as unknown as Parameters<
      typeof saveStatements
    >[0]
    const edits = withEdit(new Map(), table, { row: { id: 1, body: "yes" }, column: "body", value: "no" })
    for (const { sql: text, params } of saveStatements(table, edits)) await sql(service, text, [...params])
    assert.deepStrictEqual(await sql(service, "select body from comments"), [{ body: "no" }])
    const statements = [fingerprintSql, `select ${slotSql}`, passOnSql, recordGapSql, announceGapsSql, changedTablesSql]
    for (const [n, text] of statements.entries()) await inside.query(`prepare own_${n} as ${text}`)
  })

  it("leaves no failure in the log", async () => {
    assert.notMatch(service.output(), /42725|ambiguous|not unique/)
  })
})
