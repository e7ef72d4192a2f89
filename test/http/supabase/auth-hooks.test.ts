import { createClient } from "@supabase/supabase-js"
import { Webhook } from "standardwebhooks"
import { afterAll, assert, beforeAll, beforeEach, describe, it, vi } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { elsewhere, logIn } from "../../support/identity/people.ts"
import { ok } from "../../support/identity/supabase.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"

let service: InProcessService

const client = (headers: Record<string, string> = {}) =>
  createClient(service.url, service.anon, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { headers: { ...elsewhere(), ...headers } }
  })
const password = "correct horse battery"

const failure = ({ error }: { readonly error: unknown }) => {
  const { code, message, status } = (error ?? {}) as Record<string, unknown>
  return `${String(status)} ${String(code)} ${String(message)}`
}
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>

/** The function that is the hook, as a project declares it. */
const tokenHook = (body: string, type = "jsonb") =>
  sql(
    service,
    `create or replace function public.custom_access_token_hook(event ${type}) returns ${type} language plpgsql stable as $$
     declare
       claims jsonb := event -> 'claims';
       found text;
     begin
       ${body}
     end $$`
  )

const byRoles = `select role::text into found from public.user_roles where user_id = (event ->> 'user_id')::uuid;
       claims := jsonb_set(claims, '{user_role}', coalesce(to_jsonb(found), 'null'));
       return jsonb_set(event, '{claims}', claims);`

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u"
let receiver: Receiver
/** The mails that came to the hook for an address. */
const mailsTo = (email: string) =>
  receiver.received
    .map(({ body, headers }) => new Webhook(secret).verify(body.toString("utf8"), headers as Record<string, string>))
    .filter((event) => (event as { email_data: { recipient: string } }).email_data.recipient === email) as Array<{
    user: Record<string, unknown>
    email_data: Record<string, string>
  }>

beforeAll(async () => {
  receiver = await startReceiver()
  receiver.answer = () => ({ body: "{}", headers: { "content-type": "application/json" } })
  service = await serveInProcess({
    SVC_SUPABASE: "true",
    SVC_SUPABASE_ANONYMOUS: "true",
    GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: "true",
    GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: "pg-functions://postgres/public/custom_access_token_hook",
    GOTRUE_HOOK_PASSWORD_VERIFICATION_ATTEMPT_URI: "pg-functions://postgres/public/password_hook",
    GOTRUE_HOOK_BEFORE_USER_CREATED_URI: "pg-functions://postgres/public/before_hook",
    GOTRUE_HOOK_AFTER_USER_CREATED_URI: "pg-functions://postgres/public/after_hook",
    GOTRUE_HOOK_SEND_EMAIL_URI: `${receiver.url}/mails?key=hidden`,
    GOTRUE_HOOK_SEND_EMAIL_SECRETS: `v1,${secret}`,
    WEBHOOK_ALLOW_PRIVATE: "true"
  })
  for (const text of [
    "create type app_role as enum ('admin', 'moderator')",
    "create table user_roles (user_id uuid references auth.users on delete cascade, role app_role)",
    "alter table user_roles enable row level security",
    "create table attempts (user_id uuid, valid boolean, seen jsonb)",
    "create table created (user_id uuid, seen jsonb)",
    `create function public.before_hook(event jsonb) returns jsonb language plpgsql as $$
     begin
       if event #>> '{user,email}' like '%@refused.example' or event #>> '{user,user_metadata,bad}' is not null then
         return jsonb_build_object('error', jsonb_build_object('http_code', 403, 'message', 'Not you'));
       end if;
       return '{}';
     end $$`,
    `create function public.after_hook(event jsonb) returns jsonb language plpgsql as $$
     begin
       insert into public.created select id, event from auth.users where id = (event #>> '{user,id}')::uuid;
       return '{}';
     end $$`,
    `create function public.password_hook(event jsonb) returns jsonb language plpgsql as $$
     begin
       insert into public.attempts values ((event ->> 'user_id')::uuid, (event ->> 'valid')::boolean, event);
       if (select count(*) from public.attempts where user_id = (event ->> 'user_id')::uuid and not valid) > 2 then
         return jsonb_build_object('decision', 'reject', 'message', 'Too many failures', 'should_logout_user', true);
       end if;
       return jsonb_build_object('decision', 'continue');
     end $$`
  ]) {
    await sql(service, text)
  }
  await tokenHook(byRoles)
  // As in Supabase's guides.
  for (const text of [
    "grant usage on schema public to supabase_auth_admin",
    "grant execute on function public.custom_access_token_hook, public.password_hook, public.before_hook, public.after_hook to supabase_auth_admin",
    "revoke execute on function public.custom_access_token_hook, public.password_hook, public.before_hook, public.after_hook from authenticated, anon, public",
    "grant all on table public.user_roles, public.attempts, public.created to supabase_auth_admin",
    "revoke all on table public.user_roles, public.attempts, public.created from authenticated, anon, public",
    `create policy "Auth admin reads roles" on user_roles for select to supabase_auth_admin using (true)`
  ]) {
    await sql(service, text)
  }
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})
beforeEach(() => tokenHook(byRoles))

const signedUp = async () => {
  const supabase = client()
  const email = freshEmail()
  const { session, user } = ok(await supabase.auth.signUp({ email, password }))
  return { supabase, email, session: session!, user: user! }
}

describe("the hook of access tokens", () => {
  it("puts roles into the claims, which policies read, at sign-ins and refreshes", async () => {
    const { session, supabase, user } = await signedUp()
    assert.isNull(claimsOf(session.access_token)["user_role"])
    await sql(service, "insert into user_roles values ($1, 'admin')", [user.id])
    const refreshed = ok(await supabase.auth.refreshSession()).session!
    assert.strictEqual(claimsOf(refreshed.access_token)["user_role"], "admin")
    for (const text of [
      "create table secrets (id int)",
      "insert into secrets values (1)",
      "alter table secrets enable row level security",
      "grant select on secrets to authenticated",
      "create policy admins on secrets to authenticated using ((auth.jwt() ->> 'user_role') = 'admin')"
    ]) {
      await sql(service, text)
    }
    const rows = async (token: string) =>
      (await ask(service, "GET /rest/v1/secrets", { key: service.anon, token })).json
    assert.deepStrictEqual([await rows(refreshed.access_token), await rows(session.access_token)], [[{ id: 1 }], []])
    assert.isNull(claimsOf(ok(await client().auth.signInAnonymously()).session!.access_token)["user_role"])
  })

  it("gets what Supabase's gets, as json too, as supabase_auth_admin", async () => {
    await sql(service, "drop function public.custom_access_token_hook(jsonb)")
    await sql(
      service,
      `create function public.custom_access_token_hook(event json) returns json language plpgsql as $$
       begin
         return json_build_object('claims', (event -> 'claims')::jsonb || jsonb_build_object('seen', event, 'me', current_user,
           'mail', (select email from auth.users where id = (event ->> 'user_id')::uuid)));
       end $$`
    )
    const { email, session, user } = await signedUp()
    const { mail, me, seen } = claimsOf(session.access_token) as Record<string, Record<string, unknown>>
    assert.deepStrictEqual([me, mail], ["supabase_auth_admin", email])
    assert.deepInclude(seen, { user_id: user.id, authentication_method: "password" })
    assert.deepInclude(seen?.["metadata"] as object, { name: "customize-access-token" })
    await sql(service, "drop function public.custom_access_token_hook(json)")
  })

  it("can shorten a session, but not make it another's", async () => {
    const returning = (change: string) => tokenHook(`return jsonb_build_object('claims', claims || ${change});`)
    await returning(
      "jsonb_build_object('exp', (claims ->> 'iat')::int + 60, 'role', 'editor', 'email', 'x@example.com')"
    )
    const { email, session } = await signedUp()
    assert.strictEqual(session.expires_in, 60)
    assert.deepInclude(claimsOf(session.access_token), { role: "editor", email: "x@example.com" })
    const before = await sql(service, "select count(*)::int as n from svc.identity_sessions")
    for (const change of [
      `'{"sub": "11111111-1111-4111-8111-111111111111"}'`,
      `'{"aal": "aal2"}'`,
      `'{"session_id": "11111111-1111-4111-8111-111111111111"}'`,
      `'{"iss": "x"}'`,
      `jsonb_build_object('exp', (claims ->> 'exp')::int + 1)`,
      `jsonb_build_object('exp', claims -> 'iat')`,
      `'{"email": 1}'`,
      `'{"role": null}'`,
      `'{"app_metadata": []}'`,
      `jsonb_build_object('big', repeat('x', 9000))`
    ]) {
      await returning(change)
      const failed = failure(await client().auth.signInWithPassword({ email, password }))
      assert.match(failed, /^500 undefined .*(output claims|too large)/, change)
    }
    assert.deepStrictEqual(await sql(service, "select count(*)::int as n from svc.identity_sessions"), before)
  })

  it("refuses, fails, takes too long, and is not there, without using up the refresh token", async () => {
    const { email, session, supabase } = await signedUp()
    await tokenHook(`return '{"error": {"http_code": 403, "message": "Not today"}}'::jsonb;`)
    assert.strictEqual(
      failure(await client().auth.signInWithPassword({ email, password })),
      "403 hook_refused Not today"
    )
    const broken = "500 undefined Error running hook URI: pg-functions://postgres/public/custom_access_token_hook"
    const shown = async () => failure(await client().auth.signInWithPassword({ email, password }))
    await tokenHook("raise exception 'with the secret %', event ->> 'user_id';")
    assert.strictEqual(await shown(), broken)
    assert.match(
      service.output(),
      /The hook pg-functions:\/\/postgres\/public\/custom_access_token_hook failed, SQLSTATE P0001/
    )
    assert.notInclude(service.output(), "with the secret")
    const refreshed = await ask(service, "POST /auth/v1/token?grant_type=refresh_token", {
      key: service.anon,
      body: { refresh_token: session.refresh_token }
    })
    assert.strictEqual(refreshed.status, 500)
    await tokenHook("return null;")
    assert.match(await shown(), /output claims field is missing/)
    await tokenHook("perform pg_sleep(30); return event;")
    assert.strictEqual(await shown(), broken)
    assert.match(service.output(), /was cancelled after 2 s/)
    // The cancellation is asked of PostgreSQL after the answer.
    const running = () =>
      sql(
        service,
        "select from pg_stat_activity where state = 'active' and query like '%svc_run_hook%' and pid <> pg_backend_pid()"
      )
    await vi.waitUntil(async () => (await running()).length === 0, { timeout: 10_000, interval: 50 })
    await sql(service, "drop function public.custom_access_token_hook(jsonb)")
    assert.strictEqual(await shown(), broken)
    await tokenHook(byRoles)
    // It was not used up 10 s ago, but given back.
    await sql(service, "update svc.supabase_refresh_tokens set used_at = used_at - interval '1 hour'")
    ok(await supabase.auth.refreshSession({ refresh_token: session.refresh_token }))
  })

  it("never has the rights of the service", async () => {
    await sql(service, "drop function public.custom_access_token_hook(jsonb)")
    await sql(service, "create table mine (id int)")
    const tries = [
      "execute 'reset role'",
      "execute 'set role postgres'",
      "execute 'set session authorization default'",
      "perform set_config('role', 'none', true)",
      "insert into public.mine values (1)",
      "update auth.users set email = 'taken@example.com'",
      "perform 1 from svc.identities"
    ]
    await sql(
      service,
      `create function public.custom_access_token_hook(event jsonb) returns jsonb language plpgsql as $$
       declare
         states text[] := '{}';
       begin
         ${tries.map((text) => `begin ${text}; states := states || 'done'; exception when others then states := states || sqlstate; end;`).join("\n")}
         return jsonb_set(event, '{claims,states}', to_jsonb(states));
       end $$`
    )
    const { session } = await signedUp()
    const states = claimsOf(session.access_token)["states"] as ReadonlyArray<string>
    assert.deepStrictEqual(states, ["42501", "42501", "42501", "42501", "42501", "42501", "42501"])
    // A trigger that waits for the end of the transaction runs as the hook as well.
    await sql(service, "create table queue (id int, who text)")
    await sql(service, "grant insert, select on queue to supabase_auth_admin")
    await sql(service, "create table ran (who text)")
    await sql(service, "grant insert on ran to public")
    await sql(
      service,
      "create function later() returns trigger language plpgsql as $$ begin insert into ran values (current_user); return null; end $$"
    )
    await sql(
      service,
      "create constraint trigger later after insert on queue deferrable initially deferred for each row execute function later()"
    )
    await sql(service, "drop function public.custom_access_token_hook(jsonb)")
    await sql(
      service,
      "create function public.custom_access_token_hook(event jsonb) returns jsonb language plpgsql as $$ begin insert into public.queue values (1); return event; end $$"
    )
    await signedUp()
    assert.deepStrictEqual(await sql(service, "select who from ran"), [{ who: "supabase_auth_admin" }])
    await sql(service, "drop function public.custom_access_token_hook(jsonb)")
    // Clients can't run functions by it.
    for (const role of ["anon", "authenticated", "svc_authenticator"]) {
      const [row] = await sql(
        service,
        `select has_function_privilege('${role}', 'auth.svc_run_hook(text, text, text)', 'execute') as may`
      )
      assert.deepStrictEqual(row, { may: false })
    }
  })
})

it("the hook of passwords is asked about every attempt, also on the pages, and ends sessions", async () => {
  const { email, supabase, user } = await signedUp()
  const wrong = () => client().auth.signInWithPassword({ email, password: "wrong one" })
  assert.match(failure(await wrong()), /^400 invalid_credentials Invalid login credentials/)
  ok(await client().auth.signInWithPassword({ email, password }))
  assert.strictEqual((await logIn(service, email, "wrong again")).status, 401)
  assert.strictEqual(failure(await wrong()), "400 invalid_credentials Too many failures")
  assert.strictEqual(
    failure(await client().auth.signInWithPassword({ email, password })),
    "400 invalid_credentials Too many failures"
  )
  assert.match(failure(await supabase.auth.refreshSession()), /^400 /)
  assert.deepStrictEqual(
    await sql(service, "select valid from attempts where user_id = $1 order by seen #>> '{metadata,time}'", [user.id]),
    [{ valid: false }, { valid: true }, { valid: false }, { valid: false }, { valid: true }]
  )
  assert.match(
    failure(await client().auth.signInWithPassword({ email: freshEmail(), password })),
    /Invalid login credentials/
  )
})

describe("the hooks around a new user", () => {
  const refused = () => freshEmail().replace(/@.*/, "@refused.example")
  const users = async (email: string) =>
    (await sql(service, "select 1 from auth.users where lower(email) = $1", [email])).length
  const admin = () => createClient(service.url, service.service_role, { auth: { persistSession: false } }).auth.admin

  it("are asked at every way in but that of administrators", async () => {
    const ways: Readonly<Record<string, (email: string) => Promise<{ error: unknown }>>> = {
      signUp: (email) => client().auth.signUp({ email, password }),
      signInWithOtp: (email) => client().auth.signInWithOtp({ email }),
      signInAnonymously: () => client().auth.signInAnonymously({ options: { data: { bad: true } } }),
      inviteUserByEmail: (email) => admin().inviteUserByEmail(email),
      generateLink: (email) => admin().generateLink({ type: "magiclink", email })
    }
    for (const [name, way] of Object.entries(ways)) {
      const email = refused()
      assert.strictEqual(failure(await way(email)), "403 hook_refused Not you", name)
      assert.strictEqual(await users(email), 0, name)
    }
    const own = { body: { email: refused(), password }, headers: elsewhere() }
    assert.strictEqual((await ask(service, "POST /api/auth/register", own)).status, 403)
    const email = refused()
    ok(await admin().createUser({ email, password, email_confirm: true }))
    // One who is there signs in as before.
    ok(await client().auth.signInWithPassword({ email, password }))
    ok(await client().auth.signInWithOtp({ email }))
  })

  it("get the same user, which the second finds in auth.users", async () => {
    const { email, user } = await signedUp()
    const [row] = await sql(service, "select seen from created where user_id = $1", [user.id])
    const seen = row?.["seen"] as { user: object; metadata: object }
    assert.deepInclude(seen.user, { id: user.id, email, is_anonymous: false, role: "authenticated" })
    assert.deepInclude(seen.metadata, { name: "after-user-created" })
  })
})

const userOf = (id: string) => createClient(service.url, service.service_role).auth.admin.getUserById(id)

it("the hook of mails gets tokens that verifyOtp takes, those of a change for each address", async () => {
  const { email, supabase, user } = await signedUp()
  const of = (to: string, action: string) => mailsTo(to).find((one) => one.email_data["email_action_type"] === action)!
  await vi.waitUntil(() => mailsTo(email).length > 0, { timeout: 10_000, interval: 20 })
  ok(await client().auth.verifyOtp({ type: "signup", token: of(email, "signup").email_data["token"]!, email }))
  ok(await client().auth.signInWithOtp({ email }))
  const next = freshEmail()
  ok(await supabase.auth.updateUser({ email: next }))
  await vi.waitUntil(() => mailsTo(email).length >= 4 && mailsTo(next).length > 0, { timeout: 10_000, interval: 20 })
  const magic = of(email, "magiclink")
  assert.deepInclude(magic.user, { id: user.id, email })
  assert.deepInclude(magic.email_data, { site_url: "http://localhost:0/auth/v1", token_new: "", token_hash_new: "" })
  const { token_hash = "" } = magic.email_data
  ok(await client().auth.verifyOtp({ type: "email", token_hash }))
  const now = of(email, "email_change").email_data
  const then = of(next, "email_change").email_data
  assert.deepStrictEqual([now["token_hash"], now["token_new"], then["token"], then["token_hash_new"]], ["", "", "", ""])
  ok(await client().auth.verifyOtp({ type: "email_change", token: now["token"]!, email }))
  ok(await client().auth.verifyOtp({ type: "email_change", token_hash: then["token_hash"]! }))
  assert.strictEqual(ok(await userOf(user.id)).user?.email, next)
  assert.isTrue(
    mailsTo(email).some((one) => one.email_data["email_action_type"] === "email_change_requested_notification")
  )
  assert.notInclude(service.output(), "hidden")
})
it("settings of hooks that can't be followed are faults", async () => {
  const start = (env: Record<string, string>) =>
    serveInProcess({ SVC_SUPABASE: "true", ...env }).then(
      async (started) => {
        await started[Symbol.asyncDispose]()
        return "started"
      },
      (error: Error) => error.message
    )
  const uri = "pg-functions://postgres/public/f"
  assert.match(await start({ GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: "true" }), /must be pg-functions:/)
  assert.match(
    await start({ GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: "https://example.com" }),
    /_SECRETS must be v1,whsec_/
  )
  assert.match(await start({ GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: `${uri}"; drop table x` }), /must be pg-functions:/)
  assert.match(await start({ GOTRUE_HOOK_SEND_SMS_URI: uri }), /SEND_SMS_URI is not supported/)
  assert.match(
    await start({ GOTRUE_HOOK_SEND_EMAIL_URI: uri, SVC_HOOK_SEND_EMAIL_URI: uri }),
    /SVC_HOOK_SEND_EMAIL_URI and GOTRUE_HOOK_SEND_EMAIL_URI must not both be set/
  )
  assert.match(
    await start({ SVC_SUPABASE: "false", GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: uri }),
    /requires SVC_SUPABASE=true/
  )
  assert.strictEqual(await start({ GOTRUE_HOOK_SEND_SMS_URI: uri, GOTRUE_HOOK_SEND_SMS_ENABLED: "false" }), "started")
})
