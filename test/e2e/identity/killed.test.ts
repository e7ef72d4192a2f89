import { Client } from "pg"
import { afterAll, assert, beforeAll, it } from "vitest"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { callback } from "../../support/identity/signIn.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { elsewhere, logIn, mailTo, register, sessionCookie } from "../../support/identity/people.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { startRelyingParty } from "../../support/oauth2/relyingParty.ts"
import { startService, until } from "../../support/service.ts"

const password = "four common words"
/** The replica that is not killed. */
let survivor: InProcessService
let issuer: string
let database: Client
beforeAll(async () => {
  const port = String(await freePort())
  issuer = `http://127.0.0.1:${port}`
  survivor = await serveInProcess({ PORT: port, PUBLIC_URL: issuer })
  database = new Client({ connectionString: survivor.databaseUrl })
  await database.connect()
  await database.query(
    `create function public.wait_here() returns trigger language plpgsql security definer as
       'begin perform pg_advisory_xact_lock_shared(4711); return new; end'`
  )
})
afterAll(async () => {
  await database.end()
  await survivor[Symbol.asyncDispose]()
})

/** Kills a replica once its calls wait at inserts into a table, which then go on or fail without it. */
const killAt = async (
  table: string,
  when: string,
  calls: ReadonlyArray<(url: string) => Promise<unknown>>
): Promise<void> => {
  const replica = await startService({ env: { DATABASE_URL: survivor.databaseUrl, PUBLIC_URL: issuer } })
  await database.query("select pg_advisory_lock(4711)")
  await database.query(
    `create trigger wait before insert on svc.${table} for each row when (${when}) execute function public.wait_here()`
  )
  const waiting = async () => {
    const { rows } = await database.query("select from pg_locks where locktype = 'advisory' and not granted")
    return rows.length
  }
  const sent = calls.map((call) => call(replica.url).catch(() => "ended"))
  assert.strictEqual(await until(waiting, (count) => count === calls.length), calls.length)
  await replica.stop("SIGKILL")
  assert.deepStrictEqual(
    await Promise.all(sent),
    calls.map(() => "ended")
  )
  await database.query("select pg_advisory_unlock(4711)")
  assert.strictEqual(await until(waiting, (count) => count === 0), 0)
  await database.query(`drop trigger wait on svc.${table}`)
  await replica[Symbol.asyncDispose]()
}

const post = (path: string, body: object) => (url: string) =>
  ask({ url }, `POST /api/auth/${path}`, { body, headers: elsewhere() })

it("a replica that is killed leaves no half account", async () => {
  const email = freshEmail()
  await killAt("identity_addresses", "true", [post("register", { email, password })])
  const orphans =
    "select from svc.identities i where not exists (select from svc.identity_addresses where identity_id = i.id)"
  assert.deepStrictEqual(await sql(survivor, orphans), [])
  assert.strictEqual((await post("register", { email, password })(survivor.url)).status, 201)
  assert.strictEqual((await logIn(survivor, email, password)).status, 200)
})

it("sign-ins that a killed replica has begun work at the next try, and their codes at most once", async () => {
  const [known, recovering] = [await register(survivor), await register(survivor)]
  const email = freshEmail()
  const { id } = (await ask(survivor, "GET /api/auth/recovery")).json as { readonly id: string }
  const recover = { body: { flowId: id, email: recovering.email }, headers: elsewhere() }
  await ask(survivor, "POST /api/auth/recovery", recover)
  const { code, flowId } = await mailTo(survivor, recovering.email)
  await killAt("identity_sessions", "true", [
    post("register", { email, password }),
    post("login", { identifier: known.email, password: known.password }),
    post("recovery/confirm", { flowId, code })
  ])
  for (const [address, secret] of [
    [email, password],
    [known.email, known.password]
  ] as const) {
    const again = await logIn(survivor, address, secret)
    assert.strictEqual(again.status, 200, again.text)
    assert.isNotEmpty(sessionCookie(again))
  }
  assertRefused(await post("recovery/confirm", { flowId, code })(survivor.url), 410, "FLOW_EXPIRED")
  const next = (await ask(survivor, "GET /api/auth/recovery")).json as { readonly id: string }
  await ask(survivor, "POST /api/auth/recovery", {
    body: { flowId: next.id, email: recovering.email },
    headers: elsewhere()
  })
  const mail = await mailTo(survivor, recovering.email)
  const recovered = await post("recovery/confirm", { flowId: mail.flowId, code: mail.code })(survivor.url)
  assert.strictEqual(recovered.status, 200, recovered.text)
})

it("a code or refresh token that a killed replica was exchanging gives tokens at most once", async () => {
  const scope = "openid offline_access"
  const registered = await ask(survivor, "POST /api/oauth2/clients", {
    key: survivor.service_role,
    body: { redirect_uris: [callback], scope, grant_types: ["authorization_code", "refresh_token"], skip_consent: true }
  })
  const { client_id, client_secret } = registered.json as { readonly client_id: string; readonly client_secret: string }
  const app = await startRelyingParty(issuer, {
    clientId: client_id,
    secret: client_secret,
    method: "client_secret_basic",
    redirectUri: callback
  })
  const { cookie } = await register(survivor)
  const browser = startBrowsing()
  browser.setCookie("127.0.0.1", "idp_session", cookie.slice("idp_session=".length))
  const isApp = ({ port }: URL) => port === "5555"
  const begin = async () => {
    const attempt = await app.begin({ scope })
    return { attempt, back: (await browser.go(attempt.url, isApp)).url }
  }
  const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString("base64")}`
  const exchange = (fields: Record<string, string>) => async (url: string) => {
    const response = await fetch(`${url}/oauth2/token`, {
      method: "POST",
      headers: { authorization },
      body: new URLSearchParams(fields)
    })
    return { status: response.status, body: (await response.json()) as { readonly error?: string } }
  }
  const { attempt: first, back } = await begin()
  const tokens = await app.finish(first, back)
  const { attempt, back: interrupted } = await begin()
  const byCode = exchange({
    grant_type: "authorization_code",
    code: interrupted.searchParams.get("code") ?? "",
    redirect_uri: callback,
    code_verifier: attempt.verifier
  })
  const byRefresh = exchange({ grant_type: "refresh_token", refresh_token: tokens.refresh_token ?? "" })
  await killAt("oauth2_items", "new.kind = 'AccessToken'", [byCode, byRefresh])
  for (const again of [byCode, byRefresh]) {
    const { body, status } = await again(survivor.url)
    assert.deepStrictEqual([status, body.error], [400, "invalid_grant"])
  }
  const retried = await begin()
  const fresh = await app.finish(retried.attempt, retried.back)
  assert.isString((await app.refresh(fresh.refresh_token ?? "")).refresh_token)
})
