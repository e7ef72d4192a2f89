import { assert } from "vitest"
import { ask, type Reply, type Request, sql } from "../client.ts"
import { join } from "node:path"
import { type Address, root } from "../service.ts"

/** An installation with something of everything that the service keeps, which each release has left an archive of. */

type Installation = Pick<Address, "url" | "anon" | "service_role">

/** The installations have Supabase's paths, with which files and people are made without a browser. */
export const installationEnv = { SVC_SUPABASE: "true" }
/** The archive of a release's installation, made by keepRelease.ts. */
export const keptRelease = (version: string): string => join(root, "test/fixtures/releases", `${version}.svc`)

const credentials = { email: "ann@example.com", password: "correct horse battery" }
const flag = { key: "cart", type: "boolean", variants: { on: true, off: false }, defaultVariant: "on" }
const file = "a file of Ann's\n"

const answered = async (service: Installation, line: string, request: Request = {}): Promise<Reply> => {
  const reply = await ask(service, line, { key: service.service_role, ...request })
  assert.isBelow(reply.status, 300, `${line}: ${reply.text}`)
  return reply
}

const signIn = async (service: Installation) => {
  const { json } = await answered(service, "POST /auth/v1/token?grant_type=password", {
    key: service.anon,
    body: credentials
  })
  return (json as { readonly access_token: string }).access_token
}

export const fillInstallation = async (service: Installation): Promise<void> => {
  await sql(service, "create table notes (id int primary key, owner uuid default auth.uid(), title text)")
  await sql(service, "alter table notes enable row level security")
  await sql(service, "create policy own on notes to authenticated using (owner = auth.uid())")
  await sql(service, "grant select, insert on notes to authenticated")
  await sql(service, "create function doubled(n int) returns int language sql as 'select n * 2'")
  await answered(service, "POST /api/realtime/subscribe", { body: { table: "notes" } })
  const hook = { table_name: "notes", events: ["INSERT"], url: "https://hooks.invalid/notes" }
  await answered(service, "POST /api/webhooks", { body: hook })
  await answered(service, "POST /auth/v1/signup", { key: service.anon, body: credentials })
  const token = await signIn(service)
  await answered(service, "POST /v1/db/notes", { key: service.anon, token, body: { id: 1, title: "Ann's" } })
  await answered(service, "POST /v1/db/notes", { body: { id: 2, owner: null, title: "no one's" } })
  await answered(service, "POST /api/flags", { body: flag })
  await answered(service, "POST /api/oauth2/clients", {
    body: { client_name: "app", redirect_uris: ["https://app.example.com/"], token_endpoint_auth_method: "none" }
  })
  await answered(service, "POST /api/projects/default/environments", { body: { name: "Test", slug: "test" } })
  await answered(service, "POST /api/connections", {
    body: { name: "other", connection_url: "postgres://me:secret@db.example.com/app" }
  })
  await answered(service, "POST /storage/v1/bucket", { body: { id: "files", name: "files", public: true } })
  const text = { "content-type": "text/plain" }
  await answered(service, "POST /storage/v1/object/files/a/b.txt", { body: file, headers: text })
}

/** What `fillInstallation` made is there, and works. */
export const checkInstallation = async (service: Installation): Promise<void> => {
  const token = await signIn(service)
  const own = await answered(service, "GET /v1/db/notes?select=id,title", { key: service.anon, token })
  assert.deepStrictEqual(own.json, [{ id: 1, title: "Ann's" }])
  assert.lengthOf((await answered(service, "GET /v1/db/notes?id=lt.100")).json as Array<unknown>, 2)
  assert.strictEqual((await answered(service, "GET /v1/db/rpc/doubled?n=4")).text, "8")
  await answered(service, "POST /v1/db/notes", { key: service.anon, token, body: { id: 100, title: "new" } })
  const evaluated = { flagKey: "cart", context: { targetingKey: "ann" } }
  assert.include((await answered(service, "POST /api/flags/evaluate", { body: evaluated })).text, "true")
  const lists = {
    "/api/webhooks": "https://hooks.invalid/notes",
    "/api/flags/cart/history": "cart",
    "/api/oauth2/clients": "https://app.example.com/",
    "/api/projects/default/environments": "test",
    "/api/connections": '"error":null',
    "/api/realtime/subscriptions": "notes",
    "/api/identities": credentials.email,
    "/api/audit": "connection.create",
    "/api/keys": "service_role"
  }
  for (const [path, text] of Object.entries(lists)) {
    assert.include((await answered(service, `GET ${path}`)).text.replaceAll('" : ', '":'), text, path)
  }
  const read = await ask(service, "GET /storage/v1/object/public/files/a/b.txt")
  assert.strictEqual(read.text, file)
}
