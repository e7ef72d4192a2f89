import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { holders } from "../../../src/services/identity/accounts/TakeBack.ts"
import { ask, assertRefused, type Reply, sql } from "../../support/client.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import {
  asMember,
  elsewhere,
  logIn,
  mailTo,
  type Member,
  register,
  sessionCookie
} from "../../support/identity/people.ts"
import { totpCode } from "../../support/identity/totp.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({ SVC_SUPABASE: "true" })
})
afterAll(() => service[Symbol.asyncDispose]())

type Json = Readonly<Record<string, unknown>>
const bodyOf = ({ json }: Reply) => json as Json
const verify = (email: string) =>
  sql(service, "update svc.identity_addresses set verified_at = now() where value = $1", [email])
const addressOf = async (id: string) =>
  (await sql(service, "select value from svc.identity_addresses where identity_id = $1", [id]))[0]?.["value"]

/** Recovers the account of an address, as the owner of its mailbox; returns their cookie. */
const recover = async (email: string) => {
  const { id } = bodyOf(await ask(service, "GET /api/auth/recovery")) as { id: string }
  await ask(service, "POST /api/auth/recovery", { body: { flowId: id, email }, headers: elsewhere() })
  const { code } = await mailTo(service, email)
  const back = await ask(service, "POST /api/auth/recovery/confirm", { body: { flowId: id, code } })
  assert.strictEqual(back.status, 200, back.text)
  return sessionCookie(back)
}
const setPassword = async (cookie: string, password = "five other common words") => {
  const set = await asMember(service, cookie, "PUT /api/auth/password", { body: { password } })
  assert.strictEqual(set.status, 200, set.text)
}
/** A session of Supabase's clients. */
const supabaseSession = async ({ email, password }: Member) => {
  const body = { email, password }
  const reply = await ask(service, "POST /auth/v1/token?grant_type=password", {
    key: service.anon,
    body,
    headers: elsewhere()
  })
  assert.strictEqual(reply.status, 200, reply.text)
  return bodyOf(reply) as { access_token: string; refresh_token: string }
}
const supabase = (line: string, token: string | undefined, body: object) =>
  ask(service, line, { key: service.anon, body, headers: elsewhere(), ...(token === undefined ? {} : { token }) })
const codeTo = async (recipient: string) => /: (\d{6})$/m.exec((await mailTo(service, recipient)).text)?.[1] ?? ""

/** Requests a change of address at a door; returns how the thief confirms it later. */
const doors: Readonly<Record<string, (owner: Member, next: string) => Promise<() => Promise<ReadonlyArray<Reply>>>>> = {
  "/api/auth": async ({ cookie }, next) => {
    const sent = await asMember(service, cookie, "POST /api/auth/account/email", { body: { email: next } })
    assert.deepInclude(bodyOf(sent), { state: "sent_email" })
    const { code, flowId, token } = await mailTo(service, next)
    assert.isNotEmpty(token)
    return async () => [
      await ask(service, "POST /api/auth/verification/confirm", { body: { flowId, token } }),
      await asMember(service, cookie, "POST /api/auth/verification/confirm", { body: { flowId, code } })
    ]
  },
  "/auth/v1": async (owner, next) => {
    const { access_token } = await supabaseSession(owner)
    const sent = await supabase("PUT /auth/v1/user", access_token, { email: next })
    assert.strictEqual(sent.status, 200, sent.text)
    const token = await codeTo(next)
    assert.isNotEmpty(token)
    return async () => [
      await supabase("POST /auth/v1/verify", undefined, { type: "email_change", email: next, token }),
      await supabase("POST /auth/v1/resend", undefined, { type: "email_change", email: next }),
      await supabase("POST /auth/v1/verify", undefined, {
        type: "email_change",
        email: next,
        token: await codeTo(next)
      })
    ]
  }
}

describe.each(Object.keys(doors))("a change of address that was requested at %s", (door) => {
  it("by a stolen session ends with a recovery and a new password", async () => {
    const ann = await register(service)
    await verify(ann.email)
    const confirm = await doors[door]!(ann, freshEmail())
    await setPassword(await recover(ann.email))
    for (const { status } of await confirm()) assert.isTrue(status !== 201 && status !== 202)
    assert.strictEqual(await addressOf(ann.id), ann.email)
  })

  it("by a person who had registered the address ends with its owner's recovery", async () => {
    const stranger = await register(service)
    const confirm = await doors[door]!(stranger, freshEmail())
    const owner = await recover(stranger.email)
    await confirm()
    assert.strictEqual(await addressOf(stranger.id), stranger.email)
    assert.strictEqual((await asMember(service, owner, "GET /api/auth/session")).status, 200)
  })

  it("ends with a new password of another session, and when the account is disabled", async () => {
    const [ann, bob] = [await register(service), await register(service)]
    await verify(ann.email)
    await verify(bob.email)
    const confirm = [await doors[door]!(ann, freshEmail()), await doors[door]!(bob, freshEmail())]
    await setPassword(sessionCookie(await logIn(service, ann.email, ann.password)))
    const body = { state: "inactive" }
    const path = `PATCH /api/identities/${bob.id}`
    assert.strictEqual((await ask(service, path, { key: service.service_role, body })).status, 200)
    await confirm[0]!()
    await confirm[1]!()
    assert.deepStrictEqual([await addressOf(ann.id), await addressOf(bob.id)], [ann.email, bob.email])
  })
})

it("a change of address stays after a new password of the session that requested it", async () => {
  const ann = await register(service)
  const next = freshEmail()
  const confirm = await doors["/api/auth"]!(ann, next)
  await setPassword(ann.cookie)
  await confirm()
  assert.strictEqual(await addressOf(ann.id), next)
})

/** What apps and Supabase's clients have of an account. */
const leave = async ({ id }: Pick<Member, "id">) => {
  await sql(service, "insert into svc.oauth2_clients (id, fields) values ('app', '{}') on conflict do nothing")
  for (const kind of ["Grant", "RefreshToken", "Session"]) {
    await sql(
      service,
      "insert into svc.oauth2_items (kind, id, payload, account_id, expires_at) values ($1, gen_random_uuid(), '{}', $2, now() + '1 day')",
      [kind, id]
    )
  }
  const pending = JSON.stringify({ result: { login: { accountId: id } } })
  await sql(
    service,
    "insert into svc.oauth2_items (kind, id, payload, expires_at) values ('Interaction', gen_random_uuid(), $1, now() + '1 hour')",
    [pending]
  )
  await sql(
    service,
    "insert into svc.oauth2_consents values (gen_random_uuid(), $1, 'app', '{}', '{}', '{}', '{}', '{}', true, null, true)",
    [id]
  )
}
const left = async ({ id }: Pick<Member, "id">) => {
  const [row] = await sql(
    service,
    `select (select count(*)::int from svc.oauth2_items where account_id = $1 or payload like '%' || $1 || '%') as items,
       (select count(*)::int from svc.oauth2_consents where subject = $1) as consents`,
    [id]
  )
  return row
}

it.each(["recovery", "a new password", "the owner's proof of the address", "disabling", "deletion"])(
  "what apps may do for an account ends with %s",
  async (event) => {
    const ann = await register(service)
    const { refresh_token } = await supabaseSession(ann)
    await leave(ann)
    if (event !== "the owner's proof of the address") await verify(ann.email)
    const admin = (line: string, body?: object) =>
      ask(service, `${line} /api/identities/${ann.id}`, {
        key: service.service_role,
        ...(body === undefined ? {} : { body })
      })
    if (event === "a new password") await setPassword(ann.cookie)
    else if (event === "disabling") await admin("PATCH", { state: "inactive" })
    else if (event === "deletion") await admin("DELETE")
    else await recover(ann.email)
    assert.deepStrictEqual(await left(ann), { items: 0, consents: 0 })
    const again = await supabase("POST /auth/v1/token?grant_type=refresh_token", undefined, { refresh_token })
    assert.strictEqual(again.status, 400, again.text)
  }
)

it("rights of an administrator are given to no address that nobody has proven", async () => {
  const { id, cookie } = await register(service)
  const body = { metadata_public: { svc_role: "admin" } }
  const reply = await ask(service, `PATCH /api/identities/${id}`, { key: service.service_role, body })
  assertRefused(reply, 409, "ADDRESS_UNCONFIRMED")
  assertRefused(await asMember(service, cookie, "GET /api/keys"), 403)
})

it("recovery codes that are all used require no second factor any more", async () => {
  const { cookie, email, password } = await register(service)
  const made = bodyOf(await asMember(service, cookie, "POST /api/auth/mfa/recovery-codes/generate"))
  const body = { flow_id: made["flow_id"] }
  assert.strictEqual(
    (await asMember(service, cookie, "POST /api/auth/mfa/recovery-codes/confirm", { body })).status,
    200
  )
  for (const code of made["codes"] as ReadonlyArray<string>) {
    const due = await logIn(service, email, password)
    assertRefused(due, 403, "aal2_required")
    const shown = { body: { method: "lookup_secret", code } }
    assert.strictEqual((await asMember(service, sessionCookie(due), "POST /api/auth/login/factor", shown)).status, 200)
  }
  assert.strictEqual((await logIn(service, email, password)).status, 200)
})

it("a deleted person leaves nothing", async () => {
  const ann = await register(service)
  await verify(ann.email)
  await recover(ann.email)
  await leave(ann)
  const { cookie } = { cookie: sessionCookie(await logIn(service, ann.email, ann.password)) }
  await asMember(service, cookie, "POST /api/auth/account/email", { body: { email: freshEmail() } })
  assert.strictEqual((await asMember(service, cookie, "DELETE /api/auth/account")).status, 200)
  const tables = await sql(
    service,
    `select query_to_xml(format('select * from %I.%I', nspname, relname), true, true, '')::text as rows
     from pg_class join pg_namespace n on n.oid = relnamespace where nspname in ('svc', 'auth') and relkind = 'r' and relname <> 'audit'`
  )
  const dump = tables.map(({ rows }) => String(rows)).join("\n")
  assert.notInclude(dump, ann.email)
  assert.notInclude(dump, ann.id)
})

it("every table that refers to an account says what ends when its owner takes it back", async () => {
  const found = await sql(
    service,
    `with recursive refers as (
       select 'svc.identities'::regclass::oid as id
       union select 'auth.users'::regclass::oid
       union select c.conrelid from pg_constraint c join refers r on c.confrelid = r.id where c.contype = 'f'
     )
     select nspname || '.' || relname as name from pg_class c join pg_namespace n on n.oid = relnamespace
     where nspname in ('svc', 'auth') and relkind = 'r' and (c.oid in (select id from refers)
       or exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
         and attname in ('identity_id', 'subject', 'account_id', 'user_id', 'recipient', 'owner')))
     order by 1`
  )
  const listed = Object.keys(holders)
  assert.deepStrictEqual(
    found.map(({ name }) => String(name)).filter((name) => !listed.includes(name)),
    []
  )
  assert.isAbove(found.length, 15)
})

it("a new sign-in of a browser ends the session that it replaces", async () => {
  const { cookie, email, password } = await register(service)
  const body = { identifier: email, password }
  const again = await asMember(service, cookie, "POST /api/auth/login", { body, headers: elsewhere() })
  assert.strictEqual(again.status, 200, again.text)
  assertRefused(await asMember(service, cookie, "GET /api/auth/session"), 401, "UNAUTHENTICATED")
  assert.strictEqual((await asMember(service, sessionCookie(again), "GET /api/auth/session")).status, 200)
})

it("a new factor is reported to its owner, and added by a code with a space", async () => {
  const { cookie, email } = await register(service)
  const setup = bodyOf(await asMember(service, cookie, "POST /api/auth/mfa/totp/setup"))
  const code = totpCode(String(setup["totp_secret"])).replace(/^.../, "$& ")
  const body = { flow_id: setup["flow_id"], totp_code: code }
  const added = await asMember(service, cookie, "POST /api/auth/mfa/totp/verify", { body })
  assert.strictEqual(added.status, 200, added.text)
  assert.match((await mailTo(service, email)).text, /ask for a code of it now/)
})

it.each(["x@b..com", "x@-b.com", "x..y@b.com", `${"x".repeat(65)}@b.com`, `x@${"b".repeat(64)}.com`])(
  "no account is made with %s, which no mail can reach",
  async (email) => {
    const body = { email, password: "four common words" }
    assertRefused(await ask(service, "POST /api/auth/register", { body, headers: elsewhere() }), 400)
    assert.strictEqual((await supabase("POST /auth/v1/signup", undefined, body)).status, 400)
  }
)
