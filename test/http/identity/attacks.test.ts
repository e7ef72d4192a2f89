import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Client } from "pg"
import { WebSocket } from "ws"
import { ask, assertRefused, type Reply, sql } from "../../support/client.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { asMember, elsewhere, logIn, mailTo, register, sessionCookie } from "../../support/identity/people.ts"
import { nextTotpCode, totpCode, wrongTotpCode } from "../../support/identity/totp.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { until } from "../../support/service.ts"

let service: InProcessService
/** Another process on the same database. */
let replica: InProcessService
/** The session of a person without a row, which a process that has read it before knows for 5 s. */
let orphan: string
beforeAll(async () => {
  service = await serveInProcess({ PUBLIC_URL: "https://id.example.com", LOG_LEVEL: "Debug" })
  replica = await serveInProcess({ PUBLIC_URL: "https://id.example.com" }, () => service.databaseUrl)
  const { cookie, id } = await register(service)
  orphan = cookie
  assert.strictEqual((await as(orphan, "GET /api/auth/session")).status, 200)
  await sql(service, "delete from svc.identities where id = $1", [id])
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

type Json = Readonly<Record<string, unknown>>
const origin = "https://id.example.com"
const as = (cookie: string, line: string, body?: unknown, at = service) =>
  asMember(at, cookie, line, { headers: { origin }, ...(body === undefined ? {} : { body }) })
const bodyOf = ({ json }: Reply) => json as Json
const statuses = (replies: ReadonlyArray<Reply>) => replies.map(({ status }) => status).toSorted()

const withTotp = async () => {
  const person = await register(service)
  const setup = bodyOf(await as(person.cookie, "POST /api/auth/mfa/totp/setup"))
  const secret = String(setup["totp_secret"])
  const body = { flow_id: setup["flow_id"], totp_code: totpCode(secret) }
  assert.strictEqual((await as(person.cookie, "POST /api/auth/mfa/totp/verify", body)).status, 200)
  const half = async () => {
    const due = await logIn(service, person.email, person.password)
    assertRefused(due, 403, "aal2_required")
    return sessionCookie(due)
  }
  return { ...person, secret, half }
}
const show = (cookie: string, code: string, method = "totp", at = service) =>
  as(cookie, "POST /api/auth/login/factor", { method, code }, at)

const beginRecovery = async (email: string, headers = elsewhere()) => {
  const { id } = bodyOf(await ask(service, "GET /api/auth/recovery")) as { id: string }
  const sent = await ask(service, "POST /api/auth/recovery", { body: { flowId: id, email }, headers })
  assert.strictEqual(sent.status, 200, sent.text)
  return id
}

describe("who has an account", () => {
  it("is not revealed by what a sign-in or recovery answers", async () => {
    const { email } = await register(service)
    const off = await register(service)
    await sql(service, "update svc.identities set state = 'inactive' where id = $1", [off.id])
    const none = await register(service)
    await sql(service, "update svc.identities set password_hash = null where id = $1", [none.id])
    const seen = ({ headers, json, status }: Reply) => {
      const { request_id: _, ...body } = json as Json
      const names = [...headers.keys()].filter((name) => name !== "date" && name !== "x-request-id").toSorted()
      return JSON.stringify({ status, body: { ...body, flowId: undefined }, names })
    }
    const names = [email, off.email, none.email, freshEmail(), "no address"]
    const signedIn = await Promise.all(names.map((name) => logIn(service, name, "wrong password")))
    assert.strictEqual(new Set(signedIn.map(seen)).size, 1, signedIn[0]!.text)
    const right = await logIn(service, off.email, off.password)
    assert.strictEqual(seen(right), seen(signedIn[0]!))
    for (const call of ["verification", "recovery"]) {
      const answers = await Promise.all(
        names.slice(0, 4).map(async (email) => {
          const { id } = bodyOf(await ask(service, "GET /api/auth/recovery")) as { id: string }
          const body = call === "recovery" ? { flowId: id, email } : { email }
          return ask(service, `POST /api/auth/${call}`, { body, headers: elsewhere() })
        })
      )
      assert.strictEqual(new Set(answers.map(seen)).size, 1, call)
    }
  })

  it("is not revealed by how long a wrong password takes", async ({ signal }) => {
    const { email } = await register(service)
    const [off, none] = [await register(service), await register(service)]
    await sql(service, "update svc.identities set state = 'inactive' where id = $1", [off.id])
    await sql(service, "update svc.identities set password_hash = null where id = $1", [none.id])
    const names = {
      known: () => email,
      unknown: freshEmail,
      disabled: () => off.email,
      "without a password": () => none.email
    }
    const kinds = Object.keys(names) as Array<keyof typeof names>
    const took = Object.fromEntries(kinds.map((kind) => [kind, [] as Array<number>])) as Record<
      keyof typeof names,
      Array<number>
    >
    const one = async (kind: keyof typeof names) => {
      // The limit of guesses is another test's.
      await sql(service, "delete from svc.identity_guesses")
      const name = names[kind]()
      const began = process.cpuUsage()
      assert.strictEqual((await logIn(service, name, "wrong password")).status, 401)
      const { system, user } = process.cpuUsage(began)
      took[kind].push((system + user) / 1000)
    }
    // Processor time of this process, which other load hardly changes, of the fastest ones. Without a hash for unknown names
    // they would differ by the 10 to 25 ms that it takes.
    const fastest = (kind: keyof typeof names) => Math.min(...took[kind])
    const areClose = () => kinds.every((kind) => Math.abs(fastest(kind) - fastest("known")) <= 4)
    for (let turn = 0; !signal.aborted && (turn < 10 || (turn < 60 && !areClose())); turn++) {
      for (const kind of turn % 2 === 0 ? kinds : kinds.toReversed()) await one(kind)
    }
    for (const kind of kinds) assert.closeTo(fastest(kind), fastest("known"), 4, kind)
  })

  it("is not revealed by registration, if addresses are confirmed first", async () => {
    await using strict = await serveInProcess({ SVC_AUTH_VERIFY: "required" })
    const email = freshEmail()
    const send = () =>
      ask(strict, "POST /api/auth/register", { body: { email, password: "four common words" }, headers: elsewhere() })
    const first = await send()
    assert.strictEqual(first.status, 202, first.text)
    assert.deepStrictEqual(await sql(strict, "select from svc.identities"), [])
    const { code, flowId, token } = await mailTo(strict, email)
    assert.strictEqual(bodyOf(first)["flowId"], flowId)
    const open = (given: object) =>
      ask(strict, "POST /api/auth/verification/confirm", { body: { flowId, token, ...given } })
    // The owner of the address clicks on the link; another person has registered.
    assertRefused(await open({}), 400, "PASSWORD_REQUIRED")
    assertRefused(await open({ password: "another password" }), 400, "INVALID_CREDENTIALS")
    assert.deepStrictEqual(await sql(strict, "select from svc.identities"), [])
    const created = await ask(strict, "POST /api/auth/verification/confirm", { body: { flowId, code } })
    assert.isNotNull(bodyOf(created)["session"])
    assert.isNotEmpty(sessionCookie(created))
    const again = await send()
    assert.deepStrictEqual([again.status, Object.keys(bodyOf(again))], [202, Object.keys(bodyOf(first))])
    assert.match((await mailTo(strict, email)).text, /has an account already/)
    assertRefused(
      await ask(strict, "POST /api/auth/verification/confirm", { body: { flowId: bodyOf(again)["flowId"], code } }),
      400,
      "INVALID_CODE"
    )
  })
})

describe("addresses", () => {
  it("have one account in all of their spellings", async () => {
    const name = freshEmail()
    await register(service, name)
    for (const spelling of [name.toUpperCase(), `${name}.`, name.replace("t", "ｔ"), name.replace("@", "＠")]) {
      const body = { email: spelling, password: "four common words" }
      assertRefused(await ask(service, "POST /api/auth/register", { body, headers: elsewhere() }), 409, "ADDRESS_TAKEN")
    }
  })

  it("are registered once, by parallel requests to two replicas", async () => {
    const email = freshEmail()
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, turn) =>
        ask(turn % 2 === 0 ? service : replica, "POST /api/auth/register", {
          body: { email: turn < 4 ? email : email.toUpperCase(), password: "four common words" },
          headers: elsewhere()
        })
      )
    )
    assert.deepStrictEqual(statuses(replies), [201, ...Array.from({ length: 7 }, () => 409)])
    assert.lengthOf(await sql(service, "select from svc.identities where traits->>'email' ilike $1", [email]), 1)
  })
})

describe("passwords", () => {
  it("are refused when they are weak or not text", async () => {
    for (const password of [
      "short",
      "password123",
      "aaaaaaaaaaaa",
      "a\0bcdefghij",
      "x".repeat(257),
      "ｐａｓｓｗｏｒｄ１２３",
      "\ud800abcdefgh"
    ]) {
      const body = { email: freshEmail(), password }
      const reply = await ask(service, "POST /api/auth/register", { body, headers: elsewhere() })
      assert.strictEqual(reply.status, 400, password)
    }
    const body = { email: freshEmail(), password: "x".repeat(900_000) }
    assertRefused(await ask(service, "POST /api/auth/register", { body, headers: elsewhere() }), 400)
  })

  it("can't be guessed, by whichever client, in parallel, at two replicas", async () => {
    const { email, password } = await register(service)
    const here = { "x-forwarded-for": "198.51.100.1" }
    const began = performance.now()
    const guesses = await Promise.all(
      Array.from({ length: 24 }, (_, turn) => logIn(turn % 2 === 0 ? service : replica, email, `guess ${turn}`, here))
    )
    // A slow run takes long enough for further ones, after 1, 2, 4 … s.
    const waited = Math.floor(Math.log2(1 + (performance.now() - began) / 1000))
    assert.isAtMost(guesses.filter(({ status }) => status === 401).length, 6 + waited)
    assert.isTrue(guesses.every(({ status }) => status === 401 || status === 429))
    await sql(
      service,
      "update svc.identity_guesses set until = now() + interval '1 minute' where key like 'password %' and key not like 'password of %'"
    )
    const blocked = await logIn(replica, email, password, here)
    assertRefused(blocked, 429, "TOO_MANY_GUESSES")
    assert.isAbove(Number(blocked.headers.get("retry-after")), 0)
    // Its owner is elsewhere.
    assert.strictEqual((await logIn(service, email, password)).status, 200)
  })

  it("of a person can't be guessed from many addresses, and their owner gets in at the same time", async () => {
    const { email, password } = await register(service)
    const [home, away] = [{ "x-forwarded-for": "198.51.100.2" }, { "x-forwarded-for": "198.51.100.3" }]
    const before = await logIn(service, email, password, home)
    const device = before.headers.getSetCookie().find((line) => line.startsWith("svc_device="))
    assert.match(device ?? "", /HttpOnly; Secure; SameSite=Lax/)
    const replies: Array<Reply> = []
    for (let turn = 0; turn < 8; turn++) {
      const some = Array.from({ length: 20 }, (_, n) =>
        logIn(n % 2 === 0 ? service : replica, email, "wrong password", {
          "x-forwarded-for": `192.0.2.${turn * 20 + n}`
        })
      )
      replies.push(...(await Promise.all(some)))
    }
    assert.strictEqual(replies.filter(({ status }) => status === 401).length, 100)
    assertRefused(await logIn(service, email, password, away), 429, "TOO_MANY_GUESSES")
    // From an address or by a browser that has signed in before.
    assert.strictEqual((await logIn(replica, email, password, home)).status, 200)
    const cookie = device?.split(";")[0] ?? ""
    const known = { ...away, cookie, origin }
    assert.strictEqual((await logIn(service, email, password, known)).status, 200)
    const forged = {
      ...known,
      "x-forwarded-for": "198.51.100.4",
      cookie: `svc_device=${"A".repeat(22)}.${"B".repeat(43)}`
    }
    assertRefused(await logIn(service, email, password, forged), 429, "TOO_MANY_GUESSES")
    const foreign = await register(service)
    const stolen = { "x-forwarded-for": "198.51.100.5", cookie, origin }
    assert.strictEqual((await logIn(service, foreign.email, "wrong password", stolen)).status, 401)
    // Guesses by the cookie are limited by themselves.
    const own = await Promise.all(Array.from({ length: 12 }, () => logIn(service, email, "wrong password", known)))
    assert.isAbove(own.filter(({ status }) => status === 429).length, 3)
  })

  it("that are right and come at once do not make each other wait", async () => {
    const { email, password } = await register(service)
    assert.strictEqual((await logIn(service, email, "wrong password")).status, 401)
    const other = new Client({ connectionString: service.databaseUrl })
    await other.connect()
    try {
      // A sign-in whose statement began before that of another one, and waits for its row.
      await other.query("begin; update svc.identity_guesses set count = count")
      const signingIn = logIn(replica, email, password)
      await until(
        () => other.query("select from pg_locks where not granted and transactionid = pg_current_xact_id()::xid"),
        ({ rowCount }) => rowCount === 1
      )
      await other.query("update svc.identity_guesses set until = clock_timestamp(); commit")
      const reply = await signingIn
      assert.strictEqual(reply.status, 200, reply.text)
    } finally {
      await other.end()
    }
  })

  it("of many people can't be guessed by one client", async () => {
    const headers = { "x-forwarded-for": "198.51.100.7" }
    const replies = await Promise.all(Array.from({ length: 40 }, () => logIn(service, freshEmail(), "wrong", headers)))
    assert.strictEqual(replies.filter(({ status }) => status === 429).length, 10)
  })

  it("are hashed two at a time: a flood of sign-ins leaves the service responsive", async () => {
    const floodBegan = performance.now()
    const flood = Promise.all(Array.from({ length: 300 }, () => logIn(service, freshEmail(), "wrong password")))
    let slowest = 0
    const ended = flood.then(() => true)
    const now = () => new Promise<boolean>((resolve) => setImmediate(resolve, false))
    while (!(await Promise.race([ended, now()]))) {
      const began = performance.now()
      await ask(service, "GET /healthz")
      slowest = Math.max(slowest, performance.now() - began)
    }
    const replies = await flood
    const took = performance.now() - floodBegan
    assert.isTrue(replies.every(({ status }) => [401, 429, 503].includes(status)))
    assert.isAbove(replies.filter(({ status }) => status === 503).length, 0)
    // Hashes on the event loop would delay a response until all are made. The 300 clients of this process share the loop.
    assert.isBelow(slowest, took / 2, `of ${took} ms`)
  })
})

describe("second factors", () => {
  it("show a code once, in parallel, in sessions at two replicas", async () => {
    const { half, secret } = await withTotp()
    const sessions = await Promise.all(Array.from({ length: 5 }, half))
    const code = nextTotpCode(secret)
    const replies = await Promise.all(
      sessions.map((cookie, turn) => show(cookie, code, "totp", turn % 2 === 0 ? service : replica))
    )
    assert.deepStrictEqual(statuses(replies), [200, 400, 400, 400, 400])
    // Nor that of the step before, which the app's clock may still show.
    assertRefused(await show(await half(), totpCode(secret, Date.now() - 30_000)), 400, "INVALID_CODE")
  })

  it("that are due open nothing: no endpoint, no rows, no events", async () => {
    const { cookie, email, password } = await withTotp()
    await sql(
      service,
      `update svc.identities set metadata_public = '{"svc_role": "admin"}' where traits->>'email' = $1`,
      [email]
    )
    const half = sessionCookie(await logIn(service, email, password))
    const { paths } = (await ask(service, "GET /openapi.json")).json as {
      paths: Record<string, Record<string, object>>
    }
    const open = new Set([
      "/api/auth/login/factor",
      "/api/auth/reauthenticate",
      "/api/auth/logout",
      "/api/auth/methods"
    ])
    const forNone = /^\/api\/(?:auth\/(?:register|login|recovery|verification)|oauth2\/bridge|dashboard)/
    let tried = 0
    for (const [path, operations] of Object.entries(paths)) {
      if (!path.startsWith("/api/") || open.has(path) || forNone.test(path)) continue
      for (const method of Object.keys(operations).filter((one) => one !== "head")) {
        const line = `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, crypto.randomUUID())}`
        const reply = await as(half, line, ["get", "delete"].includes(method) ? undefined : {})
        assert.isAtLeast(reply.status, 400, line)
        // What is wrong with a request may be said first.
        if (reply.status !== 400 && reply.status !== 404) assertRefused(reply, 403, "aal2_required")
        tried++
      }
    }
    assert.isAbove(tried, 100)
    for (const line of ["GET /api/auth/account", "GET /api/keys", "GET /api/identities", "POST /api/auth/token"]) {
      assertRefused(await as(half, line), 403, "aal2_required")
    }
    assertRefused(await as(half, "GET /v1/db/none"), 401)
    const socket = (session: string) =>
      new Promise<number>((resolve) => {
        const opened = new WebSocket(`${service.url.replace("http", "ws")}/realtime`, {
          headers: { cookie: session, origin }
        })
        opened.once("open", () => {
          opened.close()
          resolve(101)
        })
        opened.once("unexpected-response", (_request, { statusCode }) => resolve(statusCode ?? 0))
        opened.once("error", () => resolve(0))
      })
    assert.deepStrictEqual([await socket(half), await socket(cookie)], [403, 101])
  })

  it("end a session after five wrong codes, also parallel ones, and the right code with it", async () => {
    const { half, secret } = await withTotp()
    const cookie = await half()
    const wrong = await Promise.all(Array.from({ length: 12 }, () => show(cookie, wrongTotpCode(secret))))
    assert.strictEqual(wrong.filter(({ status }) => status === 400).length, 5)
    assertRefused(await show(cookie, totpCode(secret)), 401, "UNAUTHENTICATED")
  })

  it("limit the codes of a person over all of their sessions", async () => {
    const { half, secret } = await withTotp()
    for (let session = 0; session < 4; session++) {
      const cookie = await half()
      for (let turn = 0; turn < 5; turn++) await show(cookie, wrongTotpCode(secret))
    }
    assertRefused(await show(await half(), totpCode(secret)), 429, "TOO_MANY_GUESSES")
  })

  it("take a recovery code once, and none of another person or set", async () => {
    const { cookie, half } = await withTotp()
    const other = await withTotp()
    const generate = async (cookie: string) => {
      const made = bodyOf(await as(cookie, "POST /api/auth/mfa/recovery-codes/generate"))
      await as(cookie, "POST /api/auth/mfa/recovery-codes/confirm", { flow_id: made["flow_id"] })
      return made["codes"] as ReadonlyArray<string>
    }
    const [code = "", later = ""] = await generate(cookie)
    const sessions = await Promise.all(Array.from({ length: 4 }, half))
    const replies = await Promise.all(sessions.map((session) => show(session, code, "lookup_secret")))
    assert.deepStrictEqual(statuses(replies), [200, 400, 400, 400])
    assertRefused(await show(await other.half(), later, "lookup_secret"), 400, "INVALID_CODE")
    await generate(cookie)
    assertRefused(await show(await half(), later, "lookup_secret"), 400, "INVALID_CODE")
  })
})

describe("messages", () => {
  it("lead to PUBLIC_URL, whatever the request says", async () => {
    const { email } = await register(service)
    const { id } = bodyOf(await ask(service, "GET /api/auth/recovery")) as { id: string }
    const evil = { host: "evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" }
    const body = { flowId: id, email }
    await ask(service, "POST /api/auth/recovery", { body, headers: { ...evil, ...elsewhere() } })
    const { link } = await mailTo(service, email)
    assert.match(link, /^https:\/\/id\.example\.com\/auth\/recovery\?/)
  })

  it("are limited, and nobody is told", async () => {
    const { email } = await register(service)
    await sql(service, "delete from svc.mails where recipient = $1", [email])
    for (let turn = 0; turn < 4; turn++) {
      // The limits of services/identity/SignIn.ts are in memory and lower.
      const reply = await ask(service, "POST /api/auth/verification", { body: { email }, headers: elsewhere() })
      assert.deepInclude(bodyOf(reply), { state: "sent_email" })
    }
    const [row] = await sql(service, "select count(*)::int as n from svc.mails where recipient = $1", [email])
    assert.isAtMost(Number(row?.["n"]), 4)
  })

  it("of an owner are sent, whatever others have requested", async () => {
    const { email } = await register(service)
    await sql(service, "update svc.identity_addresses set verified_at = now() where value = $1", [email])
    const from = { "x-forwarded-for": "198.51.100.20" }
    for (let turn = 0; turn < 12; turn++) {
      await ask(service, "POST /api/auth/verification", { body: { email }, headers: from })
    }
    const count = async () =>
      (await sql(service, "select from svc.mails where recipient = $1 and subject like 'Recover%'", [email])).length
    await beginRecovery(email)
    assert.strictEqual(await count(), 1)
    const others = await Promise.all([register(service), register(service), register(service)])
    // A stranger requests one, and then others in the same flow: the link that the owner has is still valid.
    const flowId = await beginRecovery(email, { "x-forwarded-for": "198.51.100.21" })
    const theirs = await mailTo(service, email)
    for (const other of others) {
      const body = { flowId, email: other.email }
      const headers = { "x-forwarded-for": `198.51.100.${22 + others.indexOf(other)}` }
      await ask(service, "POST /api/auth/recovery", { body, headers })
    }
    const { code } = await mailTo(service, others[2].email)
    const used = await ask(service, "POST /api/auth/recovery/confirm", { body: { flowId, code } })
    assert.strictEqual(used.status, 200, used.text)
    const body = { flowId: theirs.flowId, token: theirs.token }
    const back = await ask(service, "POST /api/auth/recovery/confirm", { body })
    assert.strictEqual(back.status, 200, back.text)
  })

  it("have codes of which five may be wrong, in parallel, at two replicas", async () => {
    const { email } = await register(service)
    const flowId = await beginRecovery(email)
    const { code } = await mailTo(service, email)
    const wrong = code === "12345678" ? "12345679" : "12345678"
    const confirm = (code: string, at = service) =>
      ask(at, "POST /api/auth/recovery/confirm", { body: { flowId, code } })
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, turn) => confirm(wrong, turn % 2 === 0 ? service : replica))
    )
    assert.strictEqual(replies.filter(({ status }) => status === 400).length, 5)
    assertRefused(await confirm(code), 410, "FLOW_EXPIRED")
  })

  it("recover once, by parallel requests, and not in another flow", async () => {
    const { email } = await register(service)
    const flowId = await beginRecovery(email)
    const { token } = await mailTo(service, email)
    const another = await beginRecovery(freshEmail())
    const confirm = (flowId: string, at = service) =>
      ask(at, "POST /api/auth/recovery/confirm", { body: { flowId, token } })
    assertRefused(await confirm(another), 410, "FLOW_EXPIRED")
    const replies = await Promise.all([
      confirm(flowId),
      confirm(flowId, replica),
      confirm(flowId),
      confirm(flowId, replica)
    ])
    assert.deepStrictEqual(statuses(replies), [200, 410, 410, 410])
  })

  it("recover nothing once the password has been changed", async () => {
    const { cookie, email } = await register(service)
    const flowId = await beginRecovery(email)
    const { code, token } = await mailTo(service, email)
    assert.strictEqual(
      (await as(cookie, "PUT /api/auth/password", { password: "five other common words" })).status,
      200
    )
    for (const proof of [{ code }, { token }]) {
      assertRefused(await ask(service, "POST /api/auth/recovery/confirm", { body: { flowId, ...proof } }), 410)
    }
    assert.strictEqual((await logIn(service, email, "five other common words")).status, 200)
  })

  it("confirm an address once, by parallel requests to two replicas", async () => {
    const { email, id } = await register(service)
    const { code, flowId } = await mailTo(service, email)
    const body = { flowId, code }
    const replies = await Promise.all(
      [service, replica, service, replica].map((at) => ask(at, "POST /api/auth/verification/confirm", { body }))
    )
    assert.deepStrictEqual(statuses(replies), [200, 410, 410, 410])
    const found = await sql(
      service,
      "select verified_at is not null as ok from svc.identity_addresses where identity_id = $1",
      [id]
    )
    assert.deepStrictEqual(found, [{ ok: true }])
  })
})

describe("sessions", () => {
  it("are new at every sign-in, whatever was planted before", async () => {
    const thief = await register(service)
    const { email, password } = await register(service)
    const planted = thief.cookie.slice("idp_session=".length)
    const reply = await ask(service, "POST /api/auth/login", {
      body: { identifier: email, password },
      headers: { cookie: `svc_session=${planted}; idp_session=${planted}`, origin, ...elsewhere() }
    })
    assert.strictEqual(reply.status, 200, reply.text)
    assert.notStrictEqual(sessionCookie(reply), thief.cookie)
    const lines = reply.headers.getSetCookie()
    assert.isTrue(
      lines.some((line) => /^svc_session=;.*Max-Age=0/.test(line)),
      lines.join("\n")
    )
    assert.isTrue(
      lines.some((line) => /^idp_session=\S+;.*Path=\/;.*HttpOnly.*Secure.*SameSite=Lax/.test(line)),
      lines.join("\n")
    )
  })

  it("of this host win over those that a sibling domain has planted", async () => {
    const thief = await register(service)
    const { email, password } = await register(service)
    const signedIn = await logIn(service, email, password)
    const line = signedIn.headers.getSetCookie().find((one) => one.startsWith("__Host-idp_session="))
    assert.match(line ?? "", /; Path=\/; .*HttpOnly; Secure; SameSite=Lax$/)
    assert.notInclude(line, "Domain")
    const planted = thief.cookie.slice("idp_session=".length)
    const token = bodyOf(
      await ask(service, "POST /api/auth/login", {
        body: { identifier: thief.email, password: thief.password, token: true },
        headers: elsewhere()
      })
    )["session_token"]
    const cookie = `svc_session=${String(token)}; idp_session=${planted}; ${line!.split(";")[0]}`
    const reply = await as(cookie, "GET /api/auth/session")
    assert.strictEqual((bodyOf(reply)["identity"] as { traits: { email: string } }).traits.email, email)
    const out = await as(cookie, "POST /api/auth/logout")
    assert.isTrue(out.headers.getSetCookie().some((one) => /^__Host-idp_session=;.*Max-Age=0/.test(one)))
  })

  it("for cookies are no tokens", async () => {
    const { cookie } = await register(service)
    const value = cookie.slice("idp_session=".length)
    assertRefused(await as(`svc_session=${value}`, "GET /api/auth/session"), 401, "UNAUTHENTICATED")
  })

  it("do not survive an account that is deleted during sign-ins", async () => {
    const { cookie, email, id, password } = await register(service)
    const signIns = Array.from({ length: 6 }, (_, turn) => logIn(turn % 2 === 0 ? service : replica, email, password))
    const removed = as(cookie, "DELETE /api/auth/account")
    const replies = await Promise.all(signIns)
    assert.strictEqual((await removed).status, 200)
    for (const { status, text } of replies) assert.oneOf(status, [200, 401, 429], text)
    assert.deepStrictEqual(await sql(service, "select from svc.identity_sessions where identity_id = $1", [id]), [])
    await sql(service, "delete from svc.identity_guesses")
    assertRefused(await logIn(service, email, password), 401, "INVALID_CREDENTIALS")
  })

  it("of a deleted person end, in other replicas within seconds", async () => {
    const session = () => as(orphan, "GET /api/auth/session")
    assertRefused(await until(session, ({ status }) => status === 401), 401, "UNAUTHENTICATED")
    assertRefused(await as(orphan, "POST /api/auth/token"), 401, "UNAUTHENTICATED")
  })

  it("work at every replica, and so do flows", async () => {
    const { cookie } = await register(service)
    const setup = bodyOf(await as(cookie, "POST /api/auth/mfa/totp/setup"))
    const body = { flow_id: setup["flow_id"], totp_code: totpCode(String(setup["totp_secret"])) }
    assert.strictEqual((await as(cookie, "POST /api/auth/mfa/totp/verify", body, replica)).status, 200)
    const token = bodyOf(await as(cookie, "POST /api/auth/token", undefined, replica))["access_token"]
    const used = await ask(service, "GET /v1/db/none", { key: service.anon, token: String(token) })
    assertRefused(used, 404, "PGRST205")
  })
})

describe("secrets", () => {
  it("are in no row, log line or error", async () => {
    const { cookie, email, password, secret } = await withTotp()
    const flowId = await beginRecovery(email)
    const mail = await mailTo(service, email)
    await sql(service, "update svc.mails set body = null")
    const token = String(bodyOf(await as(cookie, "POST /api/auth/token"))["access_token"])
    await ask(service, "POST /api/auth/recovery/confirm", { body: { flowId, code: "1", token: mail.token } })
    const tables = await sql(
      service,
      "select query_to_xml(format('select * from svc.%I', relname), true, true, '')::text as rows from pg_class where relnamespace = 'svc'::regnamespace and relkind = 'r'"
    )
    const dump = tables.map(({ rows }) => String(rows)).join("\n")
    assert.include(dump, email)
    const secrets = {
      password,
      secret,
      session: cookie.slice("idp_session=".length),
      link: mail.token,
      code: mail.code,
      token
    }
    for (const [name, value] of Object.entries(secrets)) {
      assert.isNotEmpty(value, name)
      assert.notInclude(dump, value, name)
      assert.notInclude(service.output(), value, name)
    }
    const documents = await Promise.all(["/openapi.json", "/docs"].map((path) => ask(service, `GET ${path}`)))
    for (const { text } of documents) assert.notInclude(text, "identity_secret")
  })

  it("and people are not in /v1/db", async () => {
    const { cookie, email } = await register(service)
    const token = String(bodyOf(await as(cookie, "POST /api/auth/token"))["access_token"])
    for (const profile of ["svc", "public"]) {
      const headers = { "accept-profile": profile }
      for (const table of ["identities", "identity_sessions", "signing_keys", "mails"]) {
        const reply = await ask(service, `GET /v1/db/${table}`, { key: service.anon, token, headers })
        assert.isAtLeast(reply.status, 400)
        assert.notInclude(reply.text, email)
      }
    }
  })
})
