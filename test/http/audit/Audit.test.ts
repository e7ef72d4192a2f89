import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { randomBytes } from "node:crypto"
import { type AuditEntry, type AuditList } from "../../../src/domain/audit/Entry.ts"
import { Management } from "../../../src/http/access/Access.ts"
import { Api } from "../../../src/http/Api.ts"
import { actionOf } from "../../../src/http/access/ManagementAudit.ts"
import { ask, assertRefused, type Request, sql } from "../../support/client.ts"
import { asMember, register } from "../../support/identity/people.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

/** In all that must not be recorded. */
const secret = "hidden-marker"
const encryptionKey = randomBytes(32).toString("base64")

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({
    SVC_ENCRYPTION_KEY: encryptionKey,
    SVC_SUPABASE: "true",
    SVC_ADMIN_IDENTITIES: "chief@example.com",
    WEBHOOK_ALLOW_PRIVATE: "true"
  })
  await sql(service, "create table notes (id int primary key, note text)")
})
afterAll(() => service[Symbol.asyncDispose]())

type Json = Readonly<Record<string, unknown>>
let requests = 0
/** Sends a management request with an id of its own; returns what it answers, and the entries about it. */
const manage = async (line: string, request: Request = {}) => {
  const id = `audit-${++requests}`
  const { headers, ...rest } = request
  const key = "key" in request ? request.key : service.service_role
  const reply = await ask(service, line, { ...rest, key, headers: { ...headers, "x-request-id": id } })
  return { reply, json: reply.json as Json, entries: (await list(`request_id=${id}`)).entries }
}
const list = async (query = ""): Promise<AuditList> => {
  const reply = await ask(service, `GET /api/audit?${query}`, { key: service.service_role })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as AuditList
}
/** The only entry about a request that was done. */
const done = (entries: ReadonlyArray<AuditEntry>): AuditEntry => {
  const [entry] = entries
  assert.strictEqual(entries.length, 1, JSON.stringify(entries))
  assert.strictEqual(entry?.code, null)
  assert.deepInclude(entry, { outcome: "done", status: null, code: null })
  return entry as AuditEntry
}
const made = async (line: string, body: unknown) => {
  const { entries, json, reply } = await manage(line, { body })
  assert.strictEqual(reply.status, 201, reply.text)
  return { json, entry: done(entries) }
}

describe("a change by the management API", () => {
  it("is recorded with who, what, and what it was before and after", async () => {
    const { entry, json } = await made("POST /api/keys", { keyType: "anon", label: "app", rate_limit: 5 })
    const { id } = json["key"] as { readonly id: number }
    assert.deepInclude(entry, {
      action: "key.create",
      subject: `key:${id}`,
      before: null,
      after: { key_type: "anon", label: "app", rate_limit: 5, revoked: false },
      dashboard: false
    })
    assert.deepInclude(entry.actor, { type: "key", label: "first start" })
    assert.match(entry.address ?? "", /^(?:::ffff:)?127\.0\.0\.1$|^::1$/)
    assert.closeTo(Date.parse(entry.at), Date.now(), 60_000)
    const changed = await manage(`PATCH /api/keys/${id}`, { body: { label: "web" } })
    assert.deepInclude(done(changed.entries), {
      action: "key.update",
      before: { key_type: "anon", label: "app", rate_limit: 5, revoked: false },
      after: { key_type: "anon", label: "web", rate_limit: 5, revoked: false }
    })
    const revoked = done((await manage(`DELETE /api/keys/${id}`)).entries)
    assert.deepInclude(revoked, { action: "key.revoke", after: { ...(revoked.before as object), revoked: true } })
  })

  it("is made only if its entry is, where it is in PostgreSQL", async () => {
    await sql(service, "alter table svc.audit add constraint none check (action !~ '^(key|webhook)[.]') not valid")
    const before = (await ask(service, "GET /api/keys", { key: service.service_role })).text
    assertRefused((await manage("POST /api/keys", { body: { keyType: "anon" } })).reply, 500)
    const hook = { table_name: "notes", events: ["INSERT"], url: "http://127.0.0.1:1/" }
    assertRefused((await manage("POST /api/webhooks", { body: hook })).reply, 500)
    await sql(service, "alter table svc.audit drop constraint none")
    // Entries that can't be written are errors in the log.
    assert.include(service.output(), "Failed to write an entry of the audit")
    const keys = (text: string) => (JSON.parse(text) as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id)
    const after = (await ask(service, "GET /api/keys", { key: service.service_role })).text
    assert.deepStrictEqual(keys(after), keys(before))
    assert.strictEqual((await ask(service, "GET /api/webhooks", { key: service.service_role })).text, "[]")
  })

  it("is recorded without secrets", async () => {
    const url = `http://127.0.0.1:1/${secret}?token=${secret}`
    const headers = { authorization: secret }
    const hook = await made("POST /api/webhooks", { table_name: "notes", events: ["INSERT"], url, headers, secret })
    const after = {
      name: "",
      table: "public.notes",
      events: ["INSERT"],
      format: "svc",
      origin: "http://127.0.0.1:1",
      headers: ["authorization"],
      has_secret: true,
      active: true
    }
    assert.deepStrictEqual(hook.entry.after, after)
    const put = await manage(`PATCH /api/webhooks/${hook.json["id"]}`, {
      body: { secret: `${secret}2`, active: false }
    })
    assert.deepInclude(done(put.entries), {
      before: after,
      after: { ...after, active: false, replaced: ["secret"] }
    })
    assert.deepInclude(done((await manage(`DELETE /api/webhooks/${hook.json["id"]}`)).entries), {
      action: "webhook.remove",
      before: { ...after, active: false },
      after: null
    })
    const connection_url = `postgres://u:${secret}@db.example.com/x`
    const connection = await made("POST /api/connections", { name: "warehouse", connection_url })
    assert.deepStrictEqual(connection.entry.after, { name: "warehouse" })
    const at = `/api/connections/${connection.json["id"]}`
    const renamed = await manage(`PATCH ${at}`, { body: { name: "lake", connection_url } })
    assert.deepInclude(done(renamed.entries), {
      before: { name: "warehouse" },
      after: { name: "lake", replaced: ["connection_url"] }
    })
    assert.deepInclude(done((await manage(`DELETE ${at}`)).entries), { before: { name: "lake" }, after: null })
    const server = { name: "other", host: "db.example.com", dbname: "x" }
    await manage("POST /api/fdw/server", { body: server })
    const mapping = { server: "other", local_user: "PUBLIC", remote_user: "reader", remote_password: secret }
    const mapped = await manage("POST /api/fdw/user-mapping", { body: mapping })
    assert.deepInclude(done(mapped.entries), {
      subject: "foreign:other",
      after: { local_user: "PUBLIC", remote_user: "reader" }
    })
    const person = {
      email: `${secret}@example.com`,
      password: `${secret} of mine`,
      traits: { name: secret },
      verified: true
    }
    const identity = await made("POST /api/identities", person)
    assert.deepStrictEqual(identity.entry.after, { state: "active", svc_role: null })
    const { id } = identity.json["identity"] as { readonly id: string }
    const body = { metadata_public: { svc_role: "admin", note: secret }, traits: { name: `${secret}2` } }
    assert.deepInclude(done((await manage(`PATCH /api/identities/${id}`, { body })).entries), {
      subject: `identity:${id}`,
      before: { state: "active", svc_role: null },
      after: { state: "active", svc_role: "admin", replaced: ["traits", "metadata_public"] }
    })
    const client = await made("POST /api/oauth2/clients", {
      client_name: "app",
      redirect_uris: ["https://app.example.com/"],
      token_endpoint_auth_method: "client_secret_basic"
    })
    const { client_id, client_secret } = client.json as { readonly client_id: string; readonly client_secret: string }
    const rotated = await manage(`POST /api/oauth2/clients/${client_id}/rotate-secret`)
    assert.deepInclude(done(rotated.entries), { action: "oauth2.rotate_secret", subject: `client:${client_id}` })
    const created = await made("POST /api/keys", { keyType: "service_role", label: "x" })
    const rows = JSON.stringify(await sql(service, "select * from svc.audit"))
    const secrets = [client_secret, (rotated.json as { client_secret: string }).client_secret, created.json["secret"]]
    for (const text of [secret, service.service_role, encryptionKey, ...secrets]) assert.notInclude(rows, String(text))
  })

  it("of a flag refers to the flag's history", async () => {
    const flag = { key: "new-cart", type: "boolean", variants: { on: true, off: false }, defaultVariant: "off" }
    const { entry } = await made("POST /api/flags", flag)
    assert.deepInclude(entry, { action: "flag.create", subject: "flag:new-cart", before: null })
    const toggled = done((await manage("PATCH /api/flags/new-cart/toggle?environment=dev")).entries)
    const history = await ask(service, "GET /api/flags/new-cart/history", { key: service.service_role })
    const [newest] = history.json as ReadonlyArray<{ readonly revision: number }>
    assert.deepStrictEqual(toggled.after, { revision: newest?.revision ?? 0, environment: "dev" })
  })

  it("in the object store is recorded when it is made", async () => {
    const created = await made("POST /api/storage/buckets", { name: "pictures" })
    assert.deepInclude(created.entry, { action: "bucket.create", subject: "bucket:pictures" })
    const body = { key: "a.txt", content: "x", contentType: "text/plain" }
    const uploaded = await manage("POST /api/storage/buckets/pictures/objects/upload-text", { body })
    assert.deepInclude(done(uploaded.entries), { action: "object.upload_text", subject: "object:pictures/a.txt" })
    const link = { key: "a.txt" }
    const signed = await manage("POST /api/storage/buckets/pictures/objects/presign-download", { body: link })
    assert.strictEqual(signed.reply.status, 200, signed.reply.text)
    assert.deepStrictEqual(signed.entries, [])
    const cors = { corsRules: [{ AllowedOrigins: ["https://a.example"], AllowedMethods: ["GET"] }] }
    const set = done((await manage("PUT /api/storage/buckets/pictures/cors", { body: cors })).entries)
    assert.deepStrictEqual(set.before, { corsRules: [] })
    assert.include(JSON.stringify(set.after), "https://a.example")
    const gone = done((await manage("DELETE /api/storage/buckets/pictures?force=true")).entries)
    assert.deepInclude(gone, { action: "bucket.remove", subject: "bucket:pictures" })
  })

  it("that fails is recorded with its error, and one that is refused too, a few of each", async () => {
    const { entries, reply } = await manage("PATCH /api/keys/999999", { body: { label: "x" } })
    assertRefused(reply, 404)
    assert.strictEqual(entries.length, 1)
    assert.deepInclude(entries[0], {
      action: "key.update",
      subject: "key:999999",
      outcome: "failed",
      status: 404,
      code: "KEY_NOT_FOUND"
    })
    const invalid = (await manage("POST /api/keys", { body: { keyType: "root" } })).entries
    assert.deepInclude(invalid[0], { outcome: "failed", status: 400, code: "INVALID_REQUEST" })
    for (let i = 0; i < 10; i++) {
      assertRefused(await ask(service, "POST /api/backups", { key: service.anon, body: {} }), 403)
      assertRefused(await ask(service, "POST /api/backups", { body: {} }), 401)
    }
    const refused = (await list("action=backup&outcome=refused")).entries
    assert.isAtMost(refused.length, 6) // 3 in a minute, which may end meanwhile
    assert.isAtLeast(refused.length, 3)
    for (const { actor, status } of refused) assert.deepEqual([actor.type, status], ["key", 403])
  })

  it("reads are not recorded, but for downloads of everything", async () => {
    assert.deepStrictEqual((await manage("GET /api/keys")).entries, [])
    assert.deepInclude(done((await manage("GET /api/identities/export")).entries), { action: "identity.export" })
    const row = await manage("POST /v1/sql", { body: { sql: "select 1" } })
    assert.deepStrictEqual(row.entries, [])
  })
})

it("every write of the API is recorded, but for those that change nothing by themselves", () => {
  const unrecorded: Array<string> = []
  const first = new Set<string>()
  for (const group of Object.values(Api.groups)) {
    for (const endpoint of Object.values(group.endpoints)) {
      if (!endpoint.middlewares.has(Management) || ["GET", "HEAD"].includes(endpoint.method)) continue
      const action = actionOf({ group, endpoint })
      if (action === undefined) unrecorded.push(`${endpoint.method} ${endpoint.path}`)
      else first.add(action.split(".")[0] ?? "")
    }
  }
  assert.deepStrictEqual(unrecorded, [
    "POST /api/insights/advice",
    "POST /api/storage/buckets/:bucket/objects/presign-upload",
    "POST /api/storage/buckets/:bucket/objects/presign-uploads",
    "POST /api/storage/buckets/:bucket/objects/presign-download",
    "POST /api/storage/buckets/:bucket/objects/multipart/init",
    "POST /api/storage/buckets/:bucket/objects/multipart/presign-part",
    "POST /api/oauth2/claims-config/preview",
    "POST /api/connections/:id/test",
    "POST /api/workspace/history",
    "DELETE /api/workspace/history"
  ])
  const nouns =
    "backup branch bucket connection environment flag foreign function identity key migration oauth2 object queue realtime recovery schedule webhook workspace"
  assert.strictEqual(Array.from(first).toSorted().join(" "), nouns)
})

describe("sign-ins", () => {
  const origin = () => ({ origin: service.url, "x-svc-dashboard": "1" })

  it("to the dashboard are recorded as the key's, with what is done there", async () => {
    const opened = await manage("POST /api/dashboard/session", {
      key: undefined,
      headers: origin(),
      body: { key: service.service_role }
    })
    assert.strictEqual(opened.reply.status, 201, opened.reply.text)
    const signedIn = done(opened.entries)
    assert.deepInclude(signedIn, { action: "dashboard.sign_in", dashboard: true, after: { by: "key" } })
    assert.strictEqual(signedIn.subject, `key:${signedIn.actor.id}`)
    const cookie = opened.reply.headers.get("set-cookie")?.split(";")[0] ?? ""
    const headers = { ...origin(), cookie }
    const created = await manage("POST /api/keys", { key: undefined, headers, body: { keyType: "anon" } })
    assert.deepInclude(done(created.entries), { dashboard: true, actor: signedIn.actor })
    const closed = await manage("DELETE /api/dashboard/session", { key: undefined, headers })
    assert.deepInclude(done(closed.entries), { action: "dashboard.sign_out", actor: signedIn.actor })
    const wrong = await manage("POST /api/dashboard/session", {
      key: undefined,
      headers: origin(),
      body: { key: `svc_sk_${"x".repeat(43)}` }
    })
    assert.strictEqual(wrong.reply.status, 401)
    assert.deepInclude(wrong.entries[0], { outcome: "refused", status: 401, code: "INVALID_API_KEY" })
    assert.strictEqual(wrong.entries[0]?.actor.type, "unknown")
    assert.notInclude(JSON.stringify(wrong.entries), "xxxx")
  })

  it("of administrators are recorded when their session first manages anything", async () => {
    const chief = await register(service)
    await sql(service, "update svc.identity_addresses set verified_at = now() where identity_id = $1", [chief.id])
    const promoted = { metadata_public: { svc_role: "admin" } }
    await manage(`PATCH /api/identities/${chief.id}`, { body: promoted })
    for (let i = 0; i < 2; i++) {
      const reply = await asMember(service, chief.cookie, "GET /api/keys")
      assert.strictEqual(reply.status, 200, reply.text)
    }
    const { entries } = await list("action=session")
    assert.strictEqual(entries.length, 1)
    assert.deepInclude(entries[0]?.actor, { type: "identity", id: chief.id })
    assert.deepInclude(entries[0]?.after, { aal: "aal1" })
    // Another replica that meets the session for the first time.
    const [row] = await sql(service, "select subject from svc.audit where action = 'session.sign_in'")
    assert.strictEqual(row?.["subject"], entries[0]?.subject)
    const member = await register(service)
    assertRefused(await asMember(service, member.cookie, "POST /api/keys", { body: { keyType: "anon" } }), 403)
    const refused = (await list(`actor=identity:${member.id}`)).entries
    assert.deepInclude(refused[0], { action: "key.create", outcome: "refused", status: 403 })
  })
})

describe("the audit", () => {
  it("is for administrators, and refuses filters that it does not know", async () => {
    assertRefused(await ask(service, "GET /api/audit"), 401)
    assertRefused(await ask(service, "GET /api/audit", { key: service.anon }), 403)
    for (const query of [
      "actor=root",
      "outcome=x",
      "from=yesterday",
      "from=2026-13-01",
      "to=2026-01-01T10:00",
      "limit=0"
    ]) {
      const reply = await ask(service, `GET /api/audit?${query}`, { key: service.service_role })
      assertRefused(reply, 400, "INVALID_REQUEST")
    }
    const hostile = `${encodeURIComponent("x' or true --")}`
    assert.deepStrictEqual((await list(`subject=${hostile}`)).entries, [])
    assertRefused(await ask(service, "GET /api/audit?subject=%00", { key: service.service_role }), 400)
  })

  it("is filtered, and read page by page, as JSON or CSV", async () => {
    const label = '=1+1,"quoted"'
    const { entry, json } = await made("POST /api/keys", { keyType: "anon", label })
    const subject = `key:${(json["key"] as { readonly id: number }).id}`
    assert.deepStrictEqual((await list(`subject=${subject}`)).entries, [entry])
    const ofKeys = (await list("subject=key:&limit=1000")).entries
    assert.isTrue(ofKeys.every((one) => one.subject.startsWith("key:")))
    assert.isAbove(ofKeys.length, 3)
    const creations = (await list("action=key.create&limit=1000")).entries
    const all = (await list("action=key&limit=1000")).entries
    assert.isAbove(all.length, creations.length)
    assert.isTrue(all.every(({ action }) => action.startsWith("key.")))
    const { id } = entry.actor
    assert.isTrue((await list(`actor=key:${id}`)).entries.every(({ actor }) => actor.id === id))
    const service_ = (await list("actor=service")).entries
    assert.deepStrictEqual(
      service_.map(({ action, actor }) => [action, actor.label]),
      [
        ["key.create", "first start"],
        ["key.create", "first start"]
      ]
    )
    assert.deepStrictEqual((await list(`to=2026-01-01`)).entries, [])
    assert.strictEqual((await list(`from=${entry.at}&subject=${subject}`)).entries.length, 1)
    const pages: Array<number> = []
    for (let before: number | null | undefined; before !== null;) {
      const page: AuditList = await list(`limit=4&action=key${before === undefined ? "" : `&before=${before}`}`)
      pages.push(...page.entries.map(({ id }) => id))
      before = page.next
    }
    assert.deepStrictEqual(
      pages,
      all.map((one) => one.id)
    )
    const csv = await ask(service, `GET /api/audit?subject=${subject}`, {
      key: service.service_role,
      headers: { accept: "text/csv" }
    })
    assert.match(csv.headers.get("content-type") ?? "", /^text\/csv/)
    const [head, line, end] = csv.text.split("\r\n")
    assert.match(head ?? "", /^id,at,actor_type,actor_id,actor_label,dashboard,action,subject,outcome,/)
    assert.match(line ?? "", new RegExp(`^${entry.id},${entry.at},key,`))
    assert.include(line, '"{""key_type"":""anon"",""label"":""=1+1,\\""quoted\\""""')
    assert.strictEqual(end, "")
  })

  it("can't be changed, or emptied, by the service's own login or its service keys", async () => {
    for (const statement of [
      "update svc.audit set outcome = 'done'",
      "delete from svc.audit",
      "truncate svc.audit",
      "with x as (select set_config('svc.prune_audit', 'on', true)) delete from svc.audit using x"
    ]) {
      for (const first of ["select 1", "set local session_replication_role = replica"]) {
        const body = { statements: [{ sql: first }, { sql: statement }] }
        const reply = await ask(service, "POST /v1/sql/transaction", { key: service.service_role, body })
        assert.include(reply.text, "42501", statement)
      }
    }
  })

  it("loses what is older than its retention, and nothing that is younger than 30 days", async () => {
    const add = (days: number) =>
      sql(
        service,
        `insert into svc.audit (at, actor_type, actor_id, actor_label, dashboard, action, subject, outcome)
         values (now() - make_interval(days => $1::int), 'service', '', '', false, 'test.add', 'x', 'done')`,
        [days]
      )
    for (const days of [400, 200, 31, 29]) await add(days)
    const left = async () => (await list("action=test")).entries.length
    const refused = await ask(service, "POST /v1/sql", {
      key: service.service_role,
      body: { sql: "delete from svc.audit where action = 'test.add' and at < now() - interval '300 days'" }
    })
    assert.include(refused.text, "42501")
    const prune = async (days: number, most = 1000) =>
      Number((await sql(service, `select svc.prune_audit(${days}, ${most}) as n`))[0]?.["n"])
    assert.strictEqual(await prune(365), 1)
    assert.strictEqual(await left(), 3)
    assert.strictEqual(await prune(1, 1), 1)
    assert.strictEqual(await prune(1), 1)
    assert.strictEqual(await prune(0), 0)
    assert.strictEqual(await left(), 1)
  })
})

describe("writes by Supabase's clients with a service_role key", () => {
  /** Does one, and returns the answer with the entries about it. */
  const write = async (line: string, body?: unknown, key = service.service_role) => {
    const id = `supabase-${++requests}`
    const headers = { "x-request-id": id, ...(key === service.service_role ? { authorization: `Bearer ${key}` } : {}) }
    const reply = await ask(service, line, { key, headers, ...(body === undefined ? {} : { body }) })
    const found = await ask(service, `GET /api/audit?request_id=${id}`, { key: service.service_role })
    return { reply, json: reply.json as Json, entries: (found.json as AuditList).entries }
  }

  it("to accounts are recorded, without what is personal", async () => {
    const person = { email: `${secret}3@example.com`, password: `${secret} of mine`, user_metadata: { name: secret } }
    const created = await write("POST /auth/v1/admin/users", { ...person, role: "editor" })
    assert.strictEqual(created.reply.status, 200, created.reply.text)
    const id = String(created.json["id"])
    const subject = `identity:${id}`
    assert.deepInclude(done(created.entries), {
      action: "identity.create",
      subject,
      dashboard: false,
      after: { role: "editor", replaced: ["email", "password", "user_metadata"] }
    })
    assert.deepInclude(created.entries[0]?.actor, { type: "key", label: "first start" })
    const at = `/auth/v1/admin/users/${id}`
    const none = "00000000-0000-4000-8000-000000000000"
    const banned = await write(`PUT ${at}`, { ban_duration: "24h", app_metadata: { plan: secret } })
    assert.deepInclude(done(banned.entries), {
      action: "identity.update",
      subject,
      after: { ban_duration: "24h", replaced: ["app_metadata"] }
    })
    const link = await write("POST /auth/v1/admin/generate_link", { type: "magiclink", email: person.email })
    assert.deepInclude(done(link.entries), {
      action: "identity.generate_link",
      subject,
      after: { type: "magiclink" }
    })
    const invited = await write("POST /auth/v1/invite", { email: `${secret}4@example.com` })
    const invitee = `identity:${String(invited.json["id"])}`
    assert.deepInclude(done(invited.entries), { action: "identity.invite", subject: invitee })
    for (const [what, action] of [
      ["factors", "identity.remove_factor"],
      ["passkeys", "identity.remove_passkey"]
    ] as const) {
      const { entries } = await write(`DELETE ${at}/${what}/${none}`)
      assert.deepInclude(entries[0], { action, outcome: "failed", status: 404, subject: `${subject}/${none}` })
    }
    assert.deepInclude(done((await write(`DELETE ${at}`, { should_soft_delete: true })).entries), {
      action: "identity.remove",
      subject,
      after: { soft: true }
    })
    const refused = await write("POST /auth/v1/admin/users", person, service.anon)
    assert.strictEqual(refused.reply.status, 401)
    const forbidden = await ask(service, "POST /auth/v1/admin/users", {
      key: service.anon,
      headers: { authorization: `Bearer ${service.anon}`, "x-request-id": "supabase-refused" },
      body: person
    })
    assert.strictEqual(forbidden.status, 403)
    const attempts = await ask(service, "GET /api/audit?request_id=supabase-refused", { key: service.service_role })
    assert.deepInclude((attempts.json as AuditList).entries[0], { action: "identity.create", outcome: "refused" })
    assert.deepStrictEqual((await write("GET /auth/v1/admin/users")).entries, [])
    const rows = JSON.stringify(await sql(service, "select * from svc.audit"))
    assert.notInclude(rows, secret)
  })

  it("to buckets are recorded, but not those of users, which policies allow", async () => {
    const made = await write("POST /storage/v1/bucket", { id: "avatars", name: "avatars", public: true })
    const subject = "file_bucket:avatars"
    assert.deepInclude(done(made.entries), { action: "file_bucket.create", subject, after: { public: true } })
    const at = "/storage/v1/bucket/avatars"
    const changed = await write(`PUT ${at}`, { file_size_limit: "20mb" })
    assert.deepInclude(done(changed.entries), {
      action: "file_bucket.update",
      subject,
      after: { file_size_limit: 20_000_000 }
    })
    assert.deepInclude(done((await write(`POST ${at}/empty`)).entries), { action: "file_bucket.empty", subject })
    assert.deepInclude(done((await write(`DELETE ${at}`)).entries), { action: "file_bucket.remove", subject })
    const again = await write(`DELETE ${at}`)
    assert.deepInclude(again.entries[0], { action: "file_bucket.remove", subject, outcome: "failed", status: 404 })
    const invalid = await write("POST /storage/v1/bucket", { id: 7 })
    assert.deepInclude(invalid.entries[0], { action: "file_bucket.create", outcome: "failed", status: 400 })
    const byUser = await write("POST /storage/v1/bucket", { id: "x", name: "x" }, service.anon)
    assert.deepStrictEqual(byUser.entries, [])
    assert.deepStrictEqual((await write("GET /storage/v1/bucket")).entries, [])
  })
})

describe("what a page of the dashboard writes", () => {
  const page = async () => {
    const { headers } = await ask(service, "POST /api/dashboard/session", { body: { key: service.service_role } })
    const cookie = headers.getSetCookie()[0]?.split(";")[0] ?? ""
    return { cookie, "x-svc-dashboard": "1", origin: service.url }
  }

  it("to tables is recorded: who, which statements, how many rows, and no value", async () => {
    const headers = await page()
    const given = {
      statements: [
        { sql: `insert into notes values (901, '${secret}'), (902, $1) -- ${secret}`, params: [secret] },
        { sql: "update notes set note = 'x' where id > 900" }
      ]
    }
    const { entries, reply } = await manage("POST /v1/sql/transaction", { key: undefined, headers, body: given })
    assert.strictEqual(reply.status, 200, reply.text)
    const entry = done(entries)
    assert.containSubset(entry, { action: "sql.transaction", subject: "database", dashboard: true })
    assert.strictEqual(entry.actor.type, "key")
    assert.containSubset(entry.after, {
      rows: [2, 2],
      statements: ["insert into notes values (901, '…'), (902, $1)", "update notes set note = '…' where id > 900"]
    })
    assert.notInclude(JSON.stringify(entries), secret)

    const one = await manage("POST /v1/sql", {
      key: undefined,
      headers,
      body: { sql: "delete from notes where id = 902" }
    })
    assert.containSubset(done(one.entries), { action: "sql.run", after: { rows: [1] } })
    const row = await manage("POST /v1/db/notes", { key: undefined, headers, body: { id: 903, note: secret } })
    assert.strictEqual(row.reply.status, 201, row.reply.text)
    assert.containSubset(done(row.entries), {
      action: "rows.insert",
      subject: "table:public.notes",
      after: { rows: 1 }
    })
    assert.notInclude(JSON.stringify(row.entries), secret)
  })

  it("is recorded as failed with its beginning only, and reads and requests with keys are not recorded", async () => {
    const headers = await page()
    const wrong = `insert into notes values (904, "${secret}")`
    const { entries, reply } = await manage("POST /v1/sql", { key: undefined, headers, body: { sql: wrong } })
    assert.strictEqual(reply.status, 400, reply.text)
    assert.containSubset(entries, [
      {
        action: "sql.run",
        outcome: "failed",
        status: 400,
        code: "42703",
        after: { statements: ["insert into notes …"] }
      }
    ])
    const read = { sql: "select 1", read_only: true }
    assert.isEmpty((await manage("POST /v1/sql", { key: undefined, headers, body: read })).entries)
    assert.isEmpty((await manage("POST /v1/sql", { body: { sql: "update notes set note = note" } })).entries)
    assert.isEmpty((await manage("POST /v1/db/notes", { body: { id: 905, note: "by key" } })).entries)
  })
})
