import { mkdir, mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Webhook } from "standardwebhooks"
import { afterAll, assert, beforeAll, beforeEach, describe, it, vi } from "vitest"
import { ask, type Reply, sql } from "../../support/client.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { asMember, elsewhere, logIn, register, sessionCookie } from "../../support/identity/people.ts"
import { nextTotpCode, totpCode } from "../../support/identity/totp.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { operationsUrl } from "../../support/service.ts"
import { isWithout } from "../../support/skips.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"

const secrets = ["whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u", "whsec_bmV3IHNlY3JldCBvZiAyNCBieXRlcyEh"]
const password = "correct horse battery"

let service: InProcessService
let receiver: Receiver
let answers: Record<string, ReturnType<Receiver["answer"]>>

const json = (value: unknown) => ({ body: JSON.stringify(value), headers: { "content-type": "application/json" } })
const refuse = (message: string, http_code?: number) => json({ error: { message, http_code } })
/** The events that came to a path, verified with each secret as a receiver does. */
const events = (path: string) =>
  receiver.at(path).map(({ body, headers }) => {
    const given = headers as Record<string, string>
    for (const secret of secrets) new Webhook(secret).verify(body.toString("utf8"), given)
    return JSON.parse(body.toString("utf8")) as Record<string, Record<string, unknown>>
  })
const hooksAt = (url: string) =>
  Object.fromEntries(
    [
      "BEFORE_USER_CREATED",
      "AFTER_USER_CREATED",
      "PASSWORD_VERIFICATION_ATTEMPT",
      "MFA_VERIFICATION_ATTEMPT",
      "SEND_EMAIL"
    ].flatMap((name) => [
      [`SVC_HOOK_${name}_URI`, `${url}/${name}`],
      [`SVC_HOOK_${name}_SECRETS`, secrets.map((secret) => `v1,${secret}`).join("|")]
    ])
  )

beforeAll(async () => {
  receiver = await startReceiver()
  receiver.answer = ({ path }) =>
    answers[path] ?? (path.includes("ATTEMPT") ? json({ decision: "continue" }) : json({}))
  service = await serveInProcess({
    ...hooksAt(receiver.url),
    WEBHOOK_ALLOW_PRIVATE: "true",
    SVC_OPERATIONS_PORT: "0",
    SVC_HOOK_CUSTOM_ACCESS_TOKEN_URI: "pg-functions://postgres/public/token_hook"
  })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})
beforeEach(() => {
  answers = {}
  receiver.received.length = 0
})

const enrol = (email: string) =>
  ask(service, "POST /api/auth/register", { body: { email, password, traits: { name: "Ann" } }, headers: elsewhere() })
const accounts = async (email: string) =>
  (await sql(service, "select 1 from svc.identity_addresses where value = $1", [email])).length
const refused = ({ json, status }: Reply) => {
  const { code, error } = json as Record<string, unknown>
  return `${status} ${String(code)} ${String(error)}`
}

describe("the hook before an account is created", () => {
  it("gets the account that will be, and the one after it the same", async () => {
    const email = freshEmail()
    const reply = await enrol(email)
    assert.strictEqual(reply.status, 201, reply.text)
    const { session } = reply.json as { session: { identity: { id: string } } }
    const [before] = events("/BEFORE_USER_CREATED")
    assert.deepInclude(before?.["metadata"], { name: "before-user-created" })
    const user = { id: session.identity.id, email, user_metadata: { name: "Ann" }, is_anonymous: false }
    assert.deepInclude(before?.["user"], user)
    assert.deepInclude(events("/AFTER_USER_CREATED")[0]?.["user"], user)
    // An address with an account is not asked about.
    assert.strictEqual((await enrol(email)).status, 409)
    assert.lengthOf(events("/BEFORE_USER_CREATED"), 1)
  })

  it("refuses with its own text, and no account is made", async () => {
    answers["/BEFORE_USER_CREATED"] = refuse("Only for members", 403)
    const email = freshEmail()
    assert.strictEqual(refused(await enrol(email)), "403 hook_refused Only for members")
    assert.strictEqual(await accounts(email), 0)
  })

  it.each<readonly [string, ReturnType<Receiver["answer"]>, RegExp]>([
    ["an error of another form", json({ error: "no" }), /^502 unexpected_failure /],
    ["an error without a text", json({ error: { http_code: 403 } }), /^502 unexpected_failure /],
    ["another decision", json({ decision: "perhaps" }), /^502 unexpected_failure /],
    ["a rejection", json({ decision: "reject", message: "No" }), /^403 hook_refused No/],
    ["false", json(false), /^502 unexpected_failure /],
    ["no JSON", { body: "{", headers: { "content-type": "application/json" } }, /^502 unexpected_failure /],
    ["HTML", { body: "<p>ok", headers: { "content-type": "text/html" } }, /^502 hook_payload_invalid_content_type /],
    ["a redirect", { status: 302, headers: { location: "/elsewhere" } }, /^502 unexpected_failure .*302/],
    ["status 500", { status: 500 }, /^502 unexpected_failure .*500/],
    ["too much", json("x".repeat(300_000)), /^502 hook_payload_over_size_limit /],
    ["no answer", { hang: true }, /^502 hook_timeout /],
    ["a closed connection", { reset: true }, /^502 hook_timeout/]
  ])("creates nothing after %s", { timeout: 20_000 }, async (_, answer, expected) => {
    answers["/BEFORE_USER_CREATED"] = answer
    const email = freshEmail()
    assert.match(refused(await enrol(email)), expected)
    assert.strictEqual(await accounts(email), 0)
    // Attempts of one event have one id.
    assert.lengthOf([...new Set(receiver.at("/BEFORE_USER_CREATED").map(({ headers }) => headers["webhook-id"]))], 1)
  })

  it("agrees without a body too, and is not asked when an administrator creates an account", async () => {
    answers["/BEFORE_USER_CREATED"] = { status: 204 }
    assert.strictEqual((await enrol(freshEmail())).status, 201)
    answers["/BEFORE_USER_CREATED"] = refuse("No")
    const body = { email: freshEmail(), traits: {} }
    assert.strictEqual((await ask(service, "POST /api/identities", { key: service.service_role, body })).status, 201)
  })

  it("ends a sign-up whose account was made if the one after it fails", async () => {
    answers["/AFTER_USER_CREATED"] = refuse("Not now", 409)
    const email = freshEmail()
    const reply = await enrol(email)
    assert.strictEqual(refused(reply), "403 hook_refused Not now")
    assert.deepStrictEqual([await accounts(email), sessionCookie(reply)], [1, ""])
  })
})

it("the hook of passwords and the one of factors are asked on the pages, and end sessions", async () => {
  const member = await register(service)
  const setup = await asMember(service, member.cookie, "POST /api/auth/mfa/totp/setup")
  const { flow_id, totp_secret: secret } = setup.json as { flow_id: string; totp_secret: string }
  const added = await asMember(service, member.cookie, "POST /api/auth/mfa/totp/verify", {
    body: { flow_id, totp_code: totpCode(secret) }
  })
  assert.strictEqual(added.status, 200, added.text)
  receiver.received.length = 0
  const half = await logIn(service, member.email, member.password)
  assert.deepInclude(events("/PASSWORD_VERIFICATION_ATTEMPT")[0] as object, { user_id: member.id, valid: true })
  const factor = (code: string, cookie: string) =>
    asMember(service, cookie, "POST /api/auth/login/factor", { body: { method: "totp", code } })
  assert.strictEqual((await factor("000000", sessionCookie(half))).status, 400)
  assert.deepInclude(events("/MFA_VERIFICATION_ATTEMPT")[0] as object, {
    user_id: member.id,
    factor_id: member.id,
    factor_type: "totp",
    valid: false
  })
  answers["/MFA_VERIFICATION_ATTEMPT"] = json({ decision: "reject", message: "Not from there" })
  const rejected = await factor(nextTotpCode(secret), sessionCookie(half))
  assert.strictEqual(refused(rejected), "403 mfa_verification_rejected Not from there")
  assert.lengthOf(await sql(service, "select 1 from svc.identity_sessions where identity_id = $1", [member.id]), 0)
  answers["/PASSWORD_VERIFICATION_ATTEMPT"] = { hang: true }
  assert.match(refused(await logIn(service, member.email, member.password)), /^502 hook_timeout /)
})

it("the hook of mails gets what a mail has, and is asked again after a failure", { timeout: 30_000 }, async () => {
  answers["/SEND_EMAIL"] = { status: 500 }
  const member = await register(service)
  const sent = () => events("/SEND_EMAIL").filter(({ email_data }) => email_data?.["recipient"] === member.email)
  await vi.waitUntil(() => sent().length > 0, { timeout: 10_000, interval: 20 })
  answers = {}
  await vi.waitUntil(() => sent().length > 1, { timeout: 20_000, interval: 20 })
  const [first, second] = sent()
  assert.deepStrictEqual(first?.["email_data"], second?.["email_data"])
  assert.deepInclude(first?.["user"], { id: member.id, email: member.email })
  const { link, text, token, token_hash, ...data } = (first?.["email_data"] ?? {}) as Record<string, string>
  assert.deepInclude(data, { email_action_type: "signup", recipient: member.email, site_url: "http://localhost:0" })
  assert.include(text, token)
  assert.include(text, link)
  assert.include(link, token_hash)
  const code = { flowId: new URL(link!).searchParams.get("flow"), code: token }
  const confirmed = await ask(service, "POST /api/auth/verification/confirm", { body: code })
  assert.strictEqual(confirmed.status, 200, confirmed.text)
})

it("an SQL function changes tokens of the pages, without the roles of Supabase, and fails closed", async () => {
  const { cookie } = await register(service)
  const token = () => asMember(service, cookie, "POST /api/auth/token")
  assert.match(refused(await token()), /^502 unexpected_failure /)
  const define = (body: string) =>
    sql(
      service,
      `create or replace function public.token_hook(event jsonb) returns jsonb language plpgsql as $$ begin ${body} end $$`
    )
  await define("return jsonb_set(event, '{claims,plan}', to_jsonb(current_user::text));")
  await sql(service, "revoke execute on function public.token_hook(jsonb) from public")
  assert.match(refused(await token()), /^502 unexpected_failure /)
  await sql(service, "grant execute on function public.token_hook(jsonb) to svc_hooks")
  const { access_token: jwt } = (await token()).json as { access_token: string }
  const claims = JSON.parse(Buffer.from(jwt.split(".")[1]!, "base64url").toString()) as Record<string, unknown>
  assert.strictEqual(claims["plan"], "svc_hooks")
  for (const name of ["sub", "session_id", "aal", "iss", "iat", "aud", "nbf", "jti", "scope"]) {
    await define(`return jsonb_set(event, '{claims,${name}}', '"other"');`)
    assert.match(refused(await token()), new RegExp(`^502 unexpected_failure .*${name}`), name)
  }
  for (const role of ["anon", "authenticated", "svc_authenticator"]) {
    const [row] = await sql(
      service,
      `select has_function_privilege('${role}', 'svc_ddl.run_hook(text, text, text)', 'execute') as may`
    )
    assert.deepStrictEqual(row, { may: false })
  }
})

it("calls are counted by hook and outcome, an answer that is not understood as a failure", async () => {
  const counts = async () => {
    const { text } = await ask({ url: operationsUrl(service) }, "GET /metrics")
    return ["answered", "failed"].map((outcome) => {
      const series = `^svc_hook_calls_total\\{hook="before-user-created",outcome="${outcome}"[^}]*\\} (\\d+)`
      return Number(new RegExp(series, "m").exec(text)?.[1] ?? Number.NaN)
    })
  }
  // What is scraped may be a second old.
  const settled = async () => {
    for (let [before, now] = ["", String(await counts())]; ; [before, now] = [now, String(await counts())]) {
      if (before === now) return now.split(",").map(Number)
      await setTimeout(1_200)
    }
  }
  const [answered = 0, failed = 0] = await settled()
  await enrol(freshEmail())
  answers["/BEFORE_USER_CREATED"] = json({ error: "no" })
  await enrol(freshEmail())
  assert.deepStrictEqual(await settled(), [answered + 1, failed + 1])
})

it("settings of hooks that can't be followed are faults", async () => {
  const uri = "https://example.com/hook"
  const signed = { SVC_HOOK_SEND_EMAIL_URI: uri, SVC_HOOK_SEND_EMAIL_SECRETS: `v1,${secrets[0]}` }
  const cases: ReadonlyArray<readonly [Record<string, string>, RegExp]> = [
    [{ SVC_HOOK_SEND_EMAIL_URI: uri }, /^SVC_HOOK_SEND_EMAIL_SECRETS must be v1,whsec_/],
    [{ ...signed, SVC_HOOK_SEND_EMAIL_SECRETS: "v1,whsec_short" }, /^SVC_HOOK_SEND_EMAIL_SECRETS must be/],
    [{ ...signed, SVC_HOOK_SEND_EMAIL_URI: "http://example.com/hook" }, /must be https:/],
    [{ ...signed, SVC_HOOK_SEND_EMAIL_URI: "https://me:secret@example.com" }, /must not contain a user/],
    [{ ...signed, SVC_HOOK_SEND_EMAIL_URI: "https://10.0.0.1/x" }, /private address.*WEBHOOK_ALLOW_PRIVATE/],
    [{ ...signed, SVC_HOOK_SEND_EMAIL_URI: "ftp://example.com" }, /must be pg-functions:/],
    [{ ...signed, IDP_PUBLIC_URL: "http://127.0.0.1:1" }, /requires accounts of this service/],
    [{ ...signed, SVC_IDENTITY: "off" }, /requires accounts of this service/],
    [{ GOTRUE_HOOK_SEND_SMS_URI: uri }, /^GOTRUE_HOOK_SEND_SMS_URI is not supported.*phone/],
    [
      { GOTRUE_HOOK_SEND_EMAIL_URI: uri, GOTRUE_HOOK_SEND_EMAIL_SECRETS: `v1,${secrets[0]}` },
      /requires SVC_SUPABASE=true/
    ]
  ]
  for (const [env, expected] of cases) {
    const fault = await serveInProcess(env).then(
      async (started) => {
        await started[Symbol.asyncDispose]()
        return "started"
      },
      (error: Error) => error.message
    )
    assert.match(/svc: (.*)/.exec(fault)?.[1] ?? fault, expected)
    assert.notInclude(fault, secrets[0]!.slice(6))
  }
})

describe.skipIf(isWithout("deno"))("a function in Deno as a hook", () => {
  it("gets the event signed, as the service, and refuses, changes claims or fails closed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "functions-"))
    const write = async (name: string, code: string) => {
      await mkdir(join(folder, name))
      await writeFile(join(folder, name, "index.ts"), code)
    }
    await write(
      "sign-up",
      `Deno.serve(async (request) => {
        const { metadata, user } = await request.json()
        const names = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => request.headers.has(name))
        if (request.headers.get("x-svc-role") !== "service_role" || names.includes(false)) return new Response(null, { status: 401 })
        if (metadata.name !== "before-user-created") return new Response(null, { status: 400 })
        return user.email.startsWith("no")
          ? Response.json({ error: { http_code: 403, message: "Not you" } })
          : Response.json({})
      })`
    )
    await write(
      "claims",
      `Deno.serve(async (request) => {
        const { claims } = await request.json()
        return Response.json({ claims: { ...claims, shop: 7, signed: request.headers.has("webhook-signature") } })
      })`
    )
    await using hooked = await serveInProcess({
      SVC_FUNCTIONS_DIR: folder,
      SVC_HOOK_BEFORE_USER_CREATED_URI: "function://sign-up",
      SVC_HOOK_BEFORE_USER_CREATED_SECRETS: `v1,${secrets[0]}`,
      SVC_HOOK_CUSTOM_ACCESS_TOKEN_URI: "function://claims",
      SVC_HOOK_AFTER_USER_CREATED_URI: "function://missing",
      SVC_HOOK_AFTER_USER_CREATED_ENABLED: "false",
      SVC_HOOK_PASSWORD_VERIFICATION_ATTEMPT_URI: "function://missing"
    })
    const enrolAt = (email: string) =>
      ask(hooked, "POST /api/auth/register", { body: { email, password, traits: {} }, headers: elsewhere() })
    assert.strictEqual(refused(await enrolAt(`no${freshEmail()}`)), "403 hook_refused Not you")
    const email = freshEmail()
    const made = await enrolAt(email)
    assert.strictEqual(made.status, 201, made.text)
    const token = await asMember(hooked, sessionCookie(made), "POST /api/auth/token")
    assert.strictEqual(token.status, 200, token.text)
    const { access_token } = token.json as { access_token: string }
    const claims = JSON.parse(Buffer.from(access_token.split(".")[1] ?? "", "base64url").toString()) as object
    assert.deepInclude(claims, { shop: 7, signed: false })
    // A function that does not exist.
    const attempt = await logIn(hooked, email, password)
    assert.strictEqual(attempt.status, 502, attempt.text)
    assert.include(hooked.output(), "Function missing does not exist")
  }, 30_000)
})
