import { createClient, type SupabaseClient } from "@supabase/supabase-js"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { elsewhere, logIn, register } from "../../support/identity/people.ts"
import { ok } from "../../support/identity/supabase.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
let admin: SupabaseClient

/** A client of a browser of its own: limits count by address. */
const client = (key = service.anon, options: object = {}) =>
  createClient(service.url, key, {
    auth: { persistSession: false, autoRefreshToken: false, ...options },
    global: { headers: elsewhere() }
  })
const password = "correct horse battery"

/** What an answer says of its failure. */
const failure = ({ error }: { readonly error: unknown }) => {
  const { code, message, status } = (error ?? {}) as Record<string, unknown>
  return `${String(status)} ${String(code)} ${String(message)}`
}

const signedUp = async (data: object = {}) => {
  const supabase = client()
  const email = freshEmail()
  const { session, user } = ok(await supabase.auth.signUp({ email, password, options: { data } }))
  assert.isNotNull(session)
  return { supabase, email, session: session!, user: user! }
}

beforeAll(async () => {
  service = await serveInProcess({
    SVC_SUPABASE: "true",
    SVC_SUPABASE_ANONYMOUS: "true",
    SVC_AUTH_REGISTRATION_LIMIT: "5"
  })
  admin = client(service.service_role)
  for (const text of [
    "create table profiles (id uuid primary key references auth.users on delete cascade, name text, provider text)",
    "alter table profiles enable row level security",
    "create policy own on profiles to authenticated using (id = auth.uid())",
    "grant select on profiles to authenticated",
    `create function public.handle_new_user() returns trigger language plpgsql security definer set search_path = '' as $$
     begin
       if new.email like 'refused%' then raise exception 'not this one'; end if;
       insert into public.profiles (id, name, provider)
         values (new.id, new.raw_user_meta_data ->> 'full_name', new.raw_app_meta_data ->> 'provider');
       return new;
     end $$`,
    "create trigger on_auth_user_created after insert on auth.users for each row execute function public.handle_new_user()"
  ]) {
    await sql(service, text)
  }
})
afterAll(() => service[Symbol.asyncDispose]())

describe("signing up and in", () => {
  it("makes a user and a session with which the other APIs know it", async () => {
    const { email, session, supabase, user } = await signedUp({ full_name: "Ann" })
    assert.deepInclude(user, { email, aud: "authenticated", role: "authenticated", phone: "", is_anonymous: false })
    assert.deepStrictEqual(user.user_metadata, { full_name: "Ann" })
    assert.deepStrictEqual(user.app_metadata, { provider: "email", providers: ["email"] })
    assert.deepInclude(user.identities?.[0], { provider: "email", id: user.id, user_id: user.id })
    const { claims } = ok(await supabase.auth.getClaims())!
    assert.deepInclude(claims, {
      sub: user.id,
      role: "authenticated",
      aud: "authenticated",
      email,
      aal: "aal1",
      is_anonymous: false,
      email_verified: false,
      user_metadata: { full_name: "Ann", email_verified: false }
    })
    assert.strictEqual((claims.amr as Array<{ method: string }>)[0]?.method, "password")
    // What the app's trigger has made, under its policies.
    assert.deepStrictEqual(ok(await supabase.from("profiles").select()), [
      { id: user.id, name: "Ann", provider: "email" }
    ])
    assert.deepStrictEqual(ok(await client().from("profiles").select()), [])
    assert.strictEqual(ok(await supabase.auth.getUser()).user.id, user.id)
    assert.strictEqual(session.expires_in, 3600)
  })

  it("refuses wrong passwords, weak ones, taken addresses and those of nobody alike", async () => {
    const { email } = await signedUp()
    const { auth } = client()
    const wrong = "400 invalid_credentials Invalid login credentials"
    assert.strictEqual(failure(await auth.signInWithPassword({ email, password: "wrong wrong" })), wrong)
    assert.strictEqual(failure(await auth.signInWithPassword({ email: freshEmail(), password })), wrong)
    assert.strictEqual(
      failure(await auth.signUp({ email, password })),
      "422 user_already_exists User already registered"
    )
    const weak = await auth.signUp({ email: freshEmail(), password: "short" })
    assert.match(failure(weak), /^422 weak_password /)
    assert.deepStrictEqual((weak.error as unknown as { reasons: unknown }).reasons, ["length"])
    assert.strictEqual(ok(await auth.signInWithPassword({ email: email.toUpperCase(), password })).user.email, email)
  })

  it("fails without a trace when a trigger of the app does", async () => {
    const email = `refused-${freshEmail()}`
    assert.strictEqual(
      failure(await client().auth.signUp({ email, password })),
      "409 unexpected_failure Database error saving new user"
    )
    const rows = await sql(service, "select from svc.identity_addresses where value = $1", [email])
    assert.deepStrictEqual(rows, [])
    const reply = await ask(service, "POST /api/auth/register", { body: { email, password }, headers: elsewhere() })
    assert.strictEqual(reply.status, 409, reply.text)
  })

  it("rotates refresh tokens, and ends the session when one is used again later", async () => {
    const { session, supabase } = await signedUp()
    const first = session.refresh_token
    const next = ok(await supabase.auth.refreshSession({ refresh_token: first })).session!
    assert.notStrictEqual(next.refresh_token, first)
    // Tabs of one browser refresh at once.
    const tabs = await Promise.all([1, 2, 3].map(() => client().auth.refreshSession({ refresh_token: first })))
    assert.deepStrictEqual(
      tabs.map(({ error }) => error),
      [null, null, null]
    )
    await sql(
      service,
      "update svc.supabase_refresh_tokens set used_at = used_at - interval '11 s' where used_at is not null"
    )
    assert.strictEqual(
      failure(await client().auth.refreshSession({ refresh_token: first })),
      "400 refresh_token_already_used Invalid Refresh Token: Already Used"
    )
    assert.match(
      failure(await client().auth.refreshSession({ refresh_token: next.refresh_token })),
      /^400 refresh_token_not_found /
    )
    assert.match(failure(await supabase.auth.getUser(next.access_token)), /session|403/i)
  })

  it("signs out here, elsewhere and everywhere", async () => {
    const { email, supabase } = await signedUp()
    const [two, three] = [client(), client()]
    for (const one of [two, three]) ok(await one.auth.signInWithPassword({ email, password }))
    const alive = async (one: SupabaseClient) => (await one.auth.refreshSession()).error === null
    assert.isNull((await two.auth.signOut({ scope: "others" })).error)
    assert.deepStrictEqual([await alive(supabase), await alive(two), await alive(three)], [false, true, false])
    const four = client()
    ok(await four.auth.signInWithPassword({ email, password }))
    const before = (await four.auth.getSession()).data.session!
    assert.isNull((await four.auth.signOut({ scope: "local" })).error)
    assert.match(failure(await client().auth.refreshSession(before)), /^400 /)
    assert.isTrue(await alive(two))
    assert.isNull((await two.auth.signOut()).error)
    assert.deepStrictEqual(
      await sql(
        service,
        "select from svc.identity_sessions s join svc.identity_addresses a using (identity_id) where a.value = $1",
        [email]
      ),
      []
    )
  })

  it("lets users change themselves, but not their role", async () => {
    const { email, supabase, user } = await signedUp({ a: 1, b: 2 })
    const changed = ok(await supabase.auth.updateUser({ data: { b: null, c: { d: [null] }, email: "x@y.z" } })).user
    assert.deepStrictEqual(changed.user_metadata, { a: 1, c: { d: [null] } })
    const headers = {
      apikey: service.anon,
      authorization: `Bearer ${(await supabase.auth.getSession()).data.session!.access_token}`
    }
    const body = {
      role: "service_role",
      is_anonymous: true,
      is_super_admin: true,
      aud: "x"
    }
    const reply = await ask(service, "PUT /auth/v1/user", { headers, body })
    assert.deepInclude(reply.json as object, {
      role: "authenticated",
      app_metadata: user.app_metadata,
      is_anonymous: false
    })
    assert.match(failure(await supabase.auth.updateUser({ password })), /^422 same_password /)
    const [other] = [client()]
    ok(await other.auth.signInWithPassword({ email, password }))
    ok(await supabase.auth.updateUser({ password: "another good one" }))
    assert.match(failure(await other.auth.refreshSession()), /^400 /)
    assert.strictEqual((await logIn(service, email, "another good one")).status, 200)
    assert.match(
      failure(await supabase.auth.updateUser({ data: { big: "x".repeat(9000) } })),
      /^400 validation_failed /
    )
  })

  it("has anonymous users, who become others by an address", async () => {
    const supabase = client()
    const { user } = ok(await supabase.auth.signInAnonymously({ options: { data: { theme: "dark" } } }))
    assert.deepInclude(user, { is_anonymous: true, email: "", identities: [] })
    assert.isTrue(ok(await supabase.auth.getClaims())!.claims.is_anonymous)
    const email = freshEmail()
    assert.deepInclude(ok(await supabase.auth.updateUser({ email })).user, { is_anonymous: true, new_email: email })
    ok(await client().auth.verifyOtp({ email, token: await codeTo(email), type: "email_change" }))
    const after = ok(await supabase.auth.refreshSession()).user!
    assert.deepInclude(after, { id: user!.id, is_anonymous: false, email })
  })
})

/** The code of the newest mail to an address. */
const codeTo = async (recipient: string) => (await mailTo(recipient)).code
const mailTo = async (recipient: string) => {
  const [mail] = await sql(service, "select body from svc.mails where recipient = $1 order by id desc limit 1", [
    recipient
  ])
  const text = String(mail?.["body"] ?? "")
  const link = /https?:\S+/.exec(text)?.[0] ?? ""
  return { text, link, code: /: (\d{6})$/m.exec(text)?.[1] ?? "" }
}

describe("people of the service's own API", () => {
  it("are in auth.users, and go from there", async () => {
    const member = await register(service)
    const { user } = ok(await client().auth.signInWithPassword(member))
    assert.strictEqual(user.id, member.id)
    assert.deepStrictEqual(await sql(service, "select name, provider from profiles where id = $1", [member.id]), [
      { name: null, provider: "email" }
    ])
    await sql(service, "delete from auth.users where id = $1", [member.id])
    assert.strictEqual((await logIn(service, member.email, member.password)).status, 401)
    assert.deepStrictEqual(await sql(service, "select from profiles where id = $1", [member.id]), [])
  })

  it("who were copied from Supabase sign in with their passwords", async () => {
    const email = freshEmail()
    const id = crypto.randomUUID()
    const { hash } = await import("@node-rs/bcrypt")
    const columns =
      "id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data, created_at, updated_at"
    const insert = `insert into auth.users (${columns}) values ($1, 'authenticated', 'authenticated', $2, $3, now(), '{"provider":"email","providers":["email"],"plan":"pro","svc_role":"admin"}', '{"email":"x","name":"Old"}', '2020-01-01', now())`
    await sql(service, insert, [id, email, await hash(password, 4)])
    const supabase = client()
    const { user } = ok(await supabase.auth.signInWithPassword({ email, password }))
    assert.strictEqual(user.id, id)
    assert.deepInclude(user.app_metadata, { plan: "pro", provider: "email" })
    assert.strictEqual(user.created_at, "2020-01-01T00:00:00.000Z")
    // With an account of another service, in one transaction, as the guide copies them.
    const [octo, octoEmail] = [crypto.randomUUID(), freshEmail()]
    await sql(
      service,
      `with u as (insert into auth.users (id, email, raw_app_meta_data) values ('${octo}', '${octoEmail}', '{"provider":"github","providers":["github"]}') returning id)
       select * from u`
    )
    const copies = await sql(
      service,
      "select raw_app_meta_data as app, (select count(*)::int from auth.identities where user_id = u.id) as ids from auth.users u where id = $1",
      [octo]
    )
    assert.deepStrictEqual(copies, [{ app: { provider: "github", providers: ["github"] }, ids: 0 }])
    // A dump's restore runs no triggers.
    const [late, lateId] = [freshEmail(), crypto.randomUUID()]
    const restore = await sql(
      service,
      `do $$ begin set local session_replication_role = replica; ${insert
        .replace("$1", `'${lateId}'`)
        .replace("$2", `'${late}'`)
        .replace("$3", `'${await hash(password, 4)}'`)}; end $$`
    )
    assert.isDefined(restore)
    assert.strictEqual(ok(await client().auth.signInWithPassword({ email: late, password })).user.id, lateId)
    // And of many accounts from before, a start takes over a part.
    const [before, beforeId] = [freshEmail(), crypto.randomUUID()]
    await sql(
      service,
      `do $$ begin set local session_replication_role = replica;
         insert into svc.identities (id, traits, password_hash) values ('${beforeId}', '{"email":"${before}"}', 'imported:${await hash(password, 4)}');
         insert into svc.identity_addresses (lookup, identity_id, value) values ('${before}', '${beforeId}', '${before}'); end $$`
    )
    assert.strictEqual(ok(await client().auth.signInWithPassword({ email: before, password })).user.id, beforeId)
    const [role] = await sql(service, "select metadata_public from svc.identities where id = $1", [id])
    assert.deepStrictEqual(role, { metadata_public: { plan: "pro" } })
  })
})

describe("tokens", () => {
  it("of other issuers and API keys are no sessions", async () => {
    const { session, user } = await signedUp()
    const { hs256 } = await import("../../support/access/jwts.ts")
    const exp = Math.floor(Date.now() / 1000) + 300
    const { session_id } = JSON.parse(
      Buffer.from(session.access_token.split(".")[1]!, "base64url").toString()
    ) as Record<string, unknown>
    const forged = await hs256(
      JSON.stringify({ sub: user.id, session_id, exp, iss: `${service.url}/auth/v1` }),
      undefined,
      service.jwtSecret
    )
    const headers = (token: string) => ({ apikey: service.anon, authorization: `Bearer ${token}` })
    for (const token of [forged, service.anon, "x", `${session.access_token}x`]) {
      const reply = await ask(service, "GET /auth/v1/user", { headers: headers(token) })
      assert.deepInclude(reply.json as object, { code: "bad_jwt", error_code: "bad_jwt" })
      assert.strictEqual(reply.status, 403)
      assert.strictEqual(reply.headers.get("x-supabase-api-version"), "2024-01-01")
    }
    const none = await ask(service, "GET /auth/v1/user", { headers: { apikey: service.anon } })
    assert.deepInclude(none.json as object, { code: "no_authorization" })
    assert.strictEqual(
      (await ask(service, "GET /auth/v1/user", { headers: { authorization: `Bearer ${session.access_token}` } }))
        .status,
      401
    )
    assert.strictEqual(
      (await ask(service, "GET /auth/v1/admin/users", { headers: headers(session.access_token) })).status,
      403
    )
    assert.strictEqual((await ask(service, "GET /auth/v1/admin/users", { headers: headers(service.anon) })).status, 403)
  })

  it("and hashes are in tables that clients can't read", async () => {
    const { session } = await signedUp()
    for (const token of [service.anon, session.access_token]) {
      for (const table of ["users", "identities"]) {
        const reply = await ask(service, `GET /rest/v1/${table}?select=*`, {
          headers: { apikey: service.anon, authorization: `Bearer ${token}`, "accept-profile": "auth" }
        })
        assert.strictEqual(reply.status, 406, reply.text)
      }
    }
    const rights = await sql(
      service,
      `select r.rolname, t.relname from pg_roles r, pg_class t join pg_namespace n on n.oid = t.relnamespace
      where r.rolname in ('anon', 'authenticated') and n.nspname in ('auth', 'svc') and t.relkind = 'r' and has_table_privilege(r.oid, t.oid, 'select')`
    )
    assert.deepStrictEqual(rights, [])
  })
})

describe("admin", () => {
  it("creates, lists, changes, bans and deletes users", async () => {
    const email = freshEmail()
    const made = ok(
      await admin.auth.admin.createUser({
        email,
        password,
        email_confirm: true,
        user_metadata: { a: 1 },
        app_metadata: { plan: "x", svc_role: "admin" }
      })
    ).user
    assert.deepInclude(made, {
      email,
      user_metadata: { a: 1 },
      app_metadata: { plan: "x", provider: "email", providers: ["email"] }
    })
    assert.isString(made.email_confirmed_at)
    assert.strictEqual(
      failure(await admin.auth.admin.createUser({ email })),
      "422 email_exists A user with this email address has already been registered"
    )
    const page = ok(await admin.auth.admin.listUsers({ page: 1, perPage: 1 }))
    assert.strictEqual(page.users.length, 1)
    assert.strictEqual((page as { nextPage: number }).nextPage, 2)
    const supabase = client()
    ok(await supabase.auth.signInWithPassword({ email, password }))
    ok(await admin.auth.admin.updateUserById(made.id, { ban_duration: "1h" }))
    assert.match(failure(await supabase.auth.refreshSession()), /^400 /)
    assert.strictEqual(
      failure(await client().auth.signInWithPassword({ email, password })),
      "400 user_banned User is banned"
    )
    assert.strictEqual((await logIn(service, email, password)).status, 401)
    await sql(service, "update auth.users set banned_until = now() - interval '1 s' where id = $1", [made.id])
    ok(await client().auth.signInWithPassword({ email, password }))
    const changed = ok(
      await admin.auth.admin.updateUserById(made.id, { app_metadata: { plan: "y" }, role: "editor" })
    ).user
    assert.deepInclude(changed, { role: "editor" })
    assert.strictEqual(changed.app_metadata["plan"], "y")
    await sql(service, "create table orders (id int, by uuid references auth.users)")
    await sql(service, "insert into orders values (1, $1)", [made.id])
    assert.strictEqual(
      failure(await admin.auth.admin.deleteUser(made.id)),
      "409 unexpected_failure Database error deleting user"
    )
    await sql(service, "drop table orders")
    const soft = ok(await admin.auth.admin.createUser({ email: freshEmail(), password })).user
    assert.isNull((await admin.auth.admin.deleteUser(soft.id, true)).error)
    assert.deepStrictEqual(
      await sql(service, "select email, deleted_at is not null as gone from auth.users where id = $1", [soft.id]),
      [{ email: null, gone: true }]
    )
    assert.deepStrictEqual(await sql(service, "select from svc.identities where id = $1", [soft.id]), [])
    assert.isNull((await admin.auth.admin.deleteUser(made.id)).error)
    assert.strictEqual(failure(await admin.auth.admin.getUserById(made.id)), "404 user_not_found User not found")
    assert.deepStrictEqual(await sql(service, "select from profiles where id = $1", [made.id]), [])
    assert.strictEqual(failure(await client().auth.admin.listUsers()), "403 not_admin User not allowed")
  })
})

describe("requests have no field that is accepted and ignored", () => {
  const call = async (line: string, key: string, body: unknown, token?: string) => {
    const { json, status } = await ask(service, `${line.split(" ")[0]} /auth/v1${line.split(" ")[1]}`, {
      key,
      token: token ?? key,
      body,
      headers: elsewhere()
    })
    const { code, message } = (json ?? {}) as { code?: string; message?: string }
    return status < 300 ? String(status) : `${status} ${code} ${message}`
  }

  it("of admins: numbers of phones, audiences, pages, filters and orders", async () => {
    const email = freshEmail()
    const admins = (line: string, body?: unknown) => call(line, service.service_role, body)
    const phones = "400 validation_failed This server has no accounts with phone numbers"
    assert.strictEqual(await admins("POST /admin/users", { email, phone: "+4915112345678" }), phones)
    assert.strictEqual(await admins("POST /admin/users", { email, phone_confirm: true }), phones)
    assert.match(await admins("POST /admin/users", { email, aud: "other" }), /^400 validation_failed aud must be/)
    const all = { id: "33333333-3333-4333-8333-333333333333", aud: "authenticated", role: "editor", email, password }
    const more = {
      email_confirm: true,
      user_metadata: { full_name: "Zoé Filter" },
      app_metadata: { a: 1 },
      ban_duration: "1h",
      phone: ""
    }
    assert.strictEqual(await admins("POST /admin/users", { ...all, ...more }), "200")
    assert.strictEqual(await admins(`PUT /admin/users/${all.id}`, { phone: "1" }), phones)
    const found = async (query: string) => {
      const { json, status } = await ask(service, `GET /auth/v1/admin/users?${query}`, {
        key: service.service_role,
        token: service.service_role
      })
      return status === 200 ? (json as { users: ReadonlyArray<{ id: string }> }).users.map(({ id }) => id) : status
    }
    assert.deepStrictEqual(await found("filter=zo%C3%A9%20f"), [all.id])
    assert.deepStrictEqual(await found(`filter=${encodeURIComponent(email.toUpperCase())}`), [all.id])
    assert.deepStrictEqual(await found("filter=nobody-has-this"), [])
    const [first, last] = [await found("sort=created_at%20asc"), await found("sort=created_at")]
    assert.deepStrictEqual(first, Array.isArray(last) ? last.toReversed() : last)
    for (const query of ["page=-1", "page=abc", "page=0", "per_page=x", "sort=email", "sort=created_at%20up"]) {
      assert.strictEqual(await found(query), 400, query)
    }
    assert.match(failure(await admin.auth.admin.listUsers({ page: -1 })), /^400 validation_failed Bad Pagination/)
    assert.isArray(await found("page=&per_page="))
  })

  it("of users: what only admins set, and proofs for phones", async () => {
    const { session, supabase } = await signedUp()
    assert.strictEqual(
      await call("PUT /user", service.anon, { app_metadata: { plan: "x" } }, session.access_token),
      "403 not_admin Updating app_metadata requires admin privileges"
    )
    assert.match(
      await call("PUT /user", service.anon, { phone: "+491511" }, session.access_token),
      /phone_provider_disabled/
    )
    const verify = (body: object) => call("POST /verify", service.anon, body)
    assert.strictEqual(
      await verify({ type: "sms", phone: "no number", token: "123456" }),
      "400 validation_failed Invalid phone number format (E.164 required)"
    )
    assert.match(await verify({ type: "sms", phone: "+4915112345678", token: "123456" }), /^403 otp_expired/)
    const either = "400 validation_failed Verify requires either a token or a token hash"
    assert.strictEqual(await verify({ type: "email", email: "a@example.com" }), either)
    assert.strictEqual(await verify({ type: "email", token: "1", token_hash: "2" }), either)
    for (const [line, body] of [
      ["POST /signup", { password }],
      ["POST /token?grant_type=password", { password }],
      ["POST /otp", { create_user: true, channel: "sms" }],
      ["POST /magiclink", {}],
      ["POST /resend", { type: "sms" }]
    ] as const) {
      assert.match(
        await call(line, service.anon, { ...body, phone: "+4915112345678" }),
        /^400 phone_provider_disabled/,
        line
      )
    }
    const factor = { factor_type: "phone", friendly_name: "x", phone: "+4915112345678" }
    assert.match(
      await call("POST /factors", service.anon, factor, session.access_token),
      /mfa_phone_enroll_not_enabled/
    )
    const idToken = { id_token: "x", issuer: "https://accounts.example.com", client_id: "app" }
    assert.match(await call("POST /token?grant_type=id_token", service.anon, idToken), /oauth_provider_not_supported/)
    assert.match(
      await call("POST /otp", service.anon, {
        email: freshEmail(),
        code_challenge: "short",
        code_challenge_method: "s256"
      }),
      /^400 validation_failed code_challenge/
    )
    ok(await supabase.auth.reauthenticate())
    const anonymous = client()
    ok(await anonymous.auth.signInAnonymously())
    assert.strictEqual(
      failure(await anonymous.auth.reauthenticate()),
      "400 validation_failed Reauthentication requires the user to have an email or a phone number"
    )
  })
})

it("one client registers as many accounts as the setting says, here and by /api/auth", async () => {
  const headers = { "x-forwarded-for": "198.51.100.7" }
  const signUp = async () => {
    const body = { email: freshEmail(), password }
    return (await ask(service, "POST /auth/v1/signup", { key: service.anon, headers, body })).json as { code?: string }
  }
  for (let n = 0; n < 4; n++) assert.isUndefined((await signUp()).code)
  const registered = (email = freshEmail()) =>
    ask(service, "POST /api/auth/register", { headers, body: { email, password } })
  assert.strictEqual((await registered()).status, 201)
  assert.strictEqual((await signUp()).code, "over_request_rate_limit")
  const refused = await registered()
  assert.deepStrictEqual([refused.status, (refused.json as { code: string }).code], [429, "TOO_MANY_GUESSES"])
  assert.isAtMost(Number(refused.headers.get("retry-after")), 300)
  assert.isUndefined((await signedUp()).user.banned_until)
})

describe("an address that is not confirmed", () => {
  it("is shown as confirmed where sign-ups need no confirmation, and proves nothing", async () => {
    const { email, session, supabase, user } = await signedUp()
    assert.isString(user.email_confirmed_at)
    assert.isString(user.confirmed_at)
    const [row] = await sql(
      service,
      `select u.email_confirmed_at = i.created_at as shown, a.verified_at is null as unproven
       from auth.users u join svc.identities i using (id) join svc.identity_addresses a on a.identity_id = i.id where u.id = $1`,
      [user.id]
    )
    assert.deepStrictEqual(row, { shown: true, unproven: true })
    const claims = (token: string) =>
      JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>
    assert.strictEqual(claims(session.access_token)["email_verified"], false)
    // Changes of others do not make it a proof, nor does another address.
    ok(await supabase.auth.updateUser({ data: { a: 1 } }))
    await sql(service, "update auth.users set raw_user_meta_data = '{}', updated_at = now() where id = $1", [user.id])
    await sql(service, "update auth.users set email = $2 where id = $1", [user.id, `new-${email}`])
    const unproven = "select 1 as n from svc.identity_addresses where identity_id = $1 and verified_at is null"
    assert.deepStrictEqual(await sql(service, unproven, [user.id]), [{ n: 1 }])
    // What an app sets itself does, as before.
    await sql(service, "update auth.users set email_confirmed_at = now() where id = $1", [user.id])
    assert.deepStrictEqual(await sql(service, unproven, [user.id]), [])
    await sql(service, "update auth.users set email_confirmed_at = null where id = $1", [user.id])
    assert.deepStrictEqual(await sql(service, unproven, [user.id]), [{ n: 1 }])
    const invited = ok(await admin.auth.admin.inviteUserByEmail(freshEmail())).user
    assert.isUndefined(invited.email_confirmed_at)
  })
})

it("is 501 with another identity provider, which has no such sessions", async () => {
  await using other = await serveInProcess({ SVC_SUPABASE: "true", IDP_PUBLIC_URL: "http://127.0.0.1:1" })
  const { auth } = createClient(other.url, other.anon, { auth: { persistSession: false } })
  const refused = await auth.signInWithPassword({ email: freshEmail(), password })
  assert.match(failure(refused), /^501 undefined Accounts are kept by the identity provider/)
  const reply = await ask(other, "GET /auth/v1/.well-known/jwks.json")
  assert.strictEqual(reply.status, 200)
})
