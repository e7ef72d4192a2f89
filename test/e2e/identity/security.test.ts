import { Redacted } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { WebSocket } from "ws"
import { Authenticator } from "../../support/identity/authenticator.ts"
import { ask, assertRefused, type Reply, talk } from "../../support/client.ts"
import { browserOf, consentChallenge, makeClient } from "../../support/oauth2/codeFlow.ts"
import { cookieOf, enrolPasskey, freshEmail, makePerson, type Person, tokenOf } from "../../support/identity/idp.ts"
import {
  as,
  cookieHeader,
  dashboard,
  type IdentityService,
  startIdentityService
} from "../../support/identity/service.ts"
import { totpCode } from "../../support/identity/totp.ts"
import { runToEnd, startService, type Service } from "../../support/service.ts"
import { type Credential } from "../../../src/domain/identity/Identity.ts"

let parts: IdentityService
let service: Service
beforeAll(async () => {
  parts = await startIdentityService({ DASHBOARD_URL: dashboard, SVC_ADMIN_IDENTITIES: "boss@example.com" })
  service = parts.service
})
afterAll(() => parts[Symbol.asyncDispose]())

const newUser = async (more: Parameters<typeof makePerson>[1] = {}) => {
  const person = await makePerson(parts.idp, more)
  return { person, credential: await cookieOf(parts.idp, person) }
}
const admin = () => newUser({ metadata_public: { svc_role: "admin" } })
const good = (reply: Reply, status = 200) => {
  assert.strictEqual(reply.status, status, reply.text)
  return reply.json as Record<string, unknown>
}

/** Every write that a session cookie permits, with a valid body. */
const flow = "0b8c7a1e-5e0e-4c3b-9a55-6f3a4a1d2c11"
const writes: ReadonlyArray<readonly [string, object | undefined]> = [
  ["POST /api/auth/mfa/totp/setup", undefined],
  ["POST /api/auth/mfa/totp/verify", { flow_id: flow, totp_code: "123456" }],
  ["DELETE /api/auth/mfa/totp", undefined],
  ["POST /api/auth/mfa/webauthn/setup", undefined],
  ["POST /api/auth/mfa/webauthn/verify", { flow_id: flow, webauthn_register: "{}" }],
  ["DELETE /api/auth/mfa/webauthn", undefined],
  ["POST /api/auth/mfa/recovery-codes/generate", undefined],
  ["POST /api/auth/mfa/recovery-codes/confirm", { flow_id: flow }],
  ["DELETE /api/auth/mfa/recovery-codes", undefined],
  ["DELETE /api/auth/sessions", undefined],
  [`DELETE /api/auth/sessions/${flow}`, undefined],
  ["POST /api/auth/logout", undefined],
  ["POST /api/auth/login/passkey", { flow_id: flow, passkey_login: "{}" }],
  ["POST /api/auth/recovery", { flowId: flow, email: "a@b.example", method: "link" }],
  ["POST /api/keys", { keyType: "anon" }],
  ["PATCH /api/keys/999999", { label: "x" }],
  ["DELETE /api/keys/999999", undefined],
  ["POST /api/storage/buckets", { name: "stolen" }],
  ["POST /api/webhooks", {}],
  ["POST /api/auth/register", { email: "x@example.com", password: "four common words" }],
  ["POST /api/auth/login", { identifier: "x@example.com", password: "x" }],
  ["POST /api/auth/login/with/github", undefined],
  ["POST /api/auth/links/github", undefined],
  ["DELETE /api/auth/links/github", undefined],
  ["POST /api/auth/login/factor", { method: "totp", code: "000000" }],
  ["POST /api/auth/reauthenticate", { password: "x" }],
  ["POST /api/auth/recovery/confirm", { flowId: "x", code: "x" }],
  ["POST /api/auth/verification", { email: "x@example.com" }],
  ["POST /api/auth/verification/confirm", { flowId: "x", code: "x" }],
  ["POST /api/auth/token", undefined],
  ["PUT /api/auth/password", { password: "x" }],
  ["PATCH /api/auth/account", { traits: {} }],
  ["DELETE /api/auth/account", undefined],
  ["POST /api/auth/account/email", { email: "x@example.com" }],
  ["POST /api/auth/passkeys/setup", undefined],
  ["POST /api/auth/passkeys/verify", { flow_id: "x", credential: "{}" }],
  ["PATCH /api/auth/passkeys/x", { display_name: "x" }],
  ["DELETE /api/auth/passkeys/x", undefined],
  ["POST /api/realtime/subscribe", { schema: "public", table: "t" }],
  ["POST /api/flags", {}],
  ["POST /api/flags/evaluate", { flagKey: "x" }],
  ["POST /api/oauth2/bridge/consent/accept", { challenge: "x", grant_scope: [] }],
  ["POST /api/oauth2/bridge/consent/reject", { challenge: "x" }],
  ["DELETE /api/oauth2/consent/somebody", undefined],
  ["PUT /api/oauth2/claims-config", { id_token_claims: {}, access_token_claims: {} }],
  ["POST /api/oauth2/claims-config/preview", { subject: "x", scope: [] }],
  ["POST /api/oauth2/clients", {}],
  ["PUT /api/oauth2/clients/x", { metadata: {} }],
  ["DELETE /api/oauth2/clients/x", undefined],
  ["POST /api/oauth2/clients/x/rotate-secret", undefined],
  ["POST /api/oauth2/keys/rotate", undefined],
  ["POST /api/oauth2/logout", { subject: "x" }]
]

describe("another site can't use a session", () => {
  it("for any write of the contract", async () => {
    const { paths } = good(await ask(service, "GET /openapi.json")) as { paths: Record<string, object> }
    const tried = writes.map(([line]) =>
      line.replace(
        /(sessions|passkeys|keys|clients|consent|with|links)\/(?!accept|reject|setup|verify|rotate)[^/]+/,
        "$1/{}"
      )
    )
    for (const [path, operations] of Object.entries(paths)) {
      if (!/^\/api\/(auth|oauth2)\//.test(path)) continue
      for (const method of Object.keys(operations).filter((method) => method !== "get")) {
        assert.include(tried, `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "{}")}`)
      }
    }
  })

  it.each(writes)("%s", async (line, body) => {
    const { credential } = await admin()
    const cookie = cookieHeader(credential)
    const json = body === undefined ? {} : { body }
    for (const headers of [
      { cookie, "sec-fetch-site": "cross-site" },
      { cookie, "content-type": "application/x-www-form-urlencoded" },
      { cookie, origin: "https://evil.example" },
      { cookie, origin: "null" },
      { cookie, origin: `${dashboard}.evil.example` },
      { cookie, origin: service.url.replace(/\d+$/, "1") },
      { cookie, referer: "https://evil.example/" }
    ]) {
      assertRefused(await ask(service, line, { ...json, headers }), 403, "CSRF")
    }
    if (body !== undefined) {
      for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
        const headers = { cookie, origin: service.url, "content-type": type }
        assertRefused(await ask(service, line, { ...json, headers }), 403, "CSRF")
      }
    }
    good(await as(service, credential, "GET /api/auth/session"))
    for (const headers of [{}, { origin: service.url }, { origin: dashboard }]) {
      const reply = await ask(service, line, { ...json, headers: { cookie, ...headers } })
      assert.notInclude(reply.text, '"CSRF"', headers.origin)
      if (line.endsWith("logout")) return
    }
  })

  it("to sign a browser in to another account", async () => {
    for (const [line, body] of writes.filter(([line]) => /login\/passkey|auth\/recovery$/.test(line))) {
      assertRefused(await ask(service, line, { body, headers: { origin: "https://evil.example" } }), 403, "CSRF")
      assert.notInclude((await ask(service, line, { body })).text, '"CSRF"')
    }
  })

  it("to receive realtime events", async () => {
    const { credential } = await admin()
    const status = (headers: Record<string, string>) =>
      new Promise<number>((done) => {
        const socket = new WebSocket(`${service.url.replace("http", "ws")}/realtime`, { headers })
        socket.on("open", () => {
          socket.close()
          done(101)
        })
        socket.on("unexpected-response", (_, { statusCode }) => done(statusCode ?? 0))
        socket.on("error", () => done(0))
      })
    const cookie = cookieHeader(credential)
    assert.strictEqual(await status({ cookie, origin: "https://evil.example" }), 403)
    assert.strictEqual(await status({ cookie, origin: dashboard }), 101)
    assert.strictEqual(await status({ cookie }), 101)
    assert.strictEqual(await status({ cookie: "svc_session=nonsense" }), 401)
    assert.strictEqual(await status({}), 401)
  })
})

describe("administrators", () => {
  it("use the management API with a session, other users do not", async () => {
    const [administrator, other] = [await admin(), await newUser()]
    for (const line of [
      "GET /api/keys",
      "GET /api/webhooks",
      "GET /api/storage/buckets",
      "GET /api/realtime/tables",
      "GET /api/oauth2/clients"
    ]) {
      assert.strictEqual((await as(service, administrator.credential, line)).status, 200, line)
      assertRefused(await as(service, other.credential, line), 403, "FORBIDDEN")
      assertRefused(await ask(service, line, { headers: { cookie: "svc_session=nonsense" } }), 401, "UNAUTHENTICATED")
      // A key takes precedence over the session.
      assertRefused(await as(service, administrator.credential, line, { key: service.anon }), 403)
      assertRefused(await as(service, administrator.credential, line, { key: "svc_sk_nonsense" }), 401)
      assert.strictEqual((await as(service, other.credential, line, { key: service.service_role })).status, 200)
    }
    const made = good(
      await as(service, administrator.credential, "POST /api/keys", {
        body: { keyType: "anon", label: "by a session" }
      }),
      201
    )
    good(await as(service, administrator.credential, `DELETE /api/keys/${(made["key"] as { id: number }).id}`))
    assert.deepInclude(good(await as(service, administrator.credential, "GET /api/auth/session")), { admin: true })
    assert.deepInclude(good(await as(service, other.credential, "GET /api/auth/session")), { admin: false })
    assertRefused(await as(service, administrator.credential, "GET /v1/keys"), 401)
  })

  it("must have verified their address", async () => {
    // Anyone can sign up with any address; it is not verified.
    const response = await fetch(`${parts.idp.adminUrl}/admin/identities`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        schema_id: "default",
        traits: { email: "boss@example.com" },
        credentials: { password: { config: { password: "correct horse 1" } } }
      })
    })
    const { id } = (await response.json()) as { id: string }
    const person: Person = { id, email: "boss@example.com", password: "correct horse 1" }
    const credential = await tokenOf(parts.idp, person)
    assertRefused(await as(service, credential, "GET /api/keys"), 403, "FORBIDDEN")
    assert.match(
      service.output(),
      new RegExp(`${id} is not an administrator: its e-mail address in SVC_ADMIN_IDENTITIES is not verified`)
    )
    assert.notInclude(service.output(), "boss@example.com")
  })

  it("are recorded in the history of flags; any session reads and evaluates flags", async () => {
    const [administrator, other] = [await admin(), await newUser()]
    const body = { key: "by-session", type: "boolean", variants: { on: true, off: false }, defaultVariant: "on" }
    good(await as(service, administrator.credential, "POST /api/flags", { body }), 201)
    const history = good(await as(service, other.credential, "GET /api/flags/by-session/history"))
    assert.deepStrictEqual((history as unknown as ReadonlyArray<{ actor: object }>)[0]?.actor, {
      type: "identity",
      id: administrator.person.id,
      label: administrator.person.email
    })
    const context = { flagKey: "by-session", context: { targetingKey: "u1" } }
    assert.deepInclude(good(await as(service, other.credential, "POST /api/flags/evaluate", { body: context })), {
      value: true
    })
    const remote = { body: { context: { targetingKey: "u1" } } }
    const at = "POST /ofrep/v1/evaluate/flags/by-session"
    assert.deepInclude(good(await as(service, other.credential, at, remote)), { value: true })
    assert.strictEqual((await ask(service, at, remote)).status, 401)
    assertRefused(await as(service, other.credential, "DELETE /api/flags/by-session"), 403, "FORBIDDEN")
  })
})

describe("cookies", () => {
  const lines = (reply: Reply) => reply.headers.getSetCookie()

  it("set by the service are HttpOnly and SameSite, and Secure with https", async () => {
    for (const [proto, secure] of [
      ["http", false],
      ["https", true]
    ] as const) {
      const { credential } = await newUser()
      const headers = { "x-forwarded-proto": proto, origin: dashboard }
      const set = lines(await as(service, credential, "POST /api/auth/logout", { headers }))
      assert.lengthOf(set, secure ? 3 : 2)
      for (const line of set) {
        assert.match(line, /; HttpOnly/i)
        assert.match(line, /; SameSite=Lax/i)
        assert.match(line, /; Path=\//i)
        assert.strictEqual(/; Secure/i.test(line), secure, line)
      }
    }
  })

  it("of the identity provider only reach clients that use its cookie", async () => {
    for (const [of, count] of [
      [cookieOf, 1],
      [tokenOf, 0]
    ] as const) {
      const credential = await of(parts.idp, await makePerson(parts.idp))
      const setup = good(await as(service, credential, "POST /api/auth/mfa/totp/setup"))
      const body = { flow_id: setup["flow_id"], totp_code: totpCode(String(setup["totp_secret"])) }
      const set = lines(await as(service, credential, "POST /api/auth/mfa/totp/verify", { body }))
      assert.lengthOf(set, count)
      for (const line of set) assert.match(line, /^idp_session=[^;]+;.*HttpOnly.*SameSite/i)
    }
  })

  it("of another user are removed by a sign-in", async () => {
    const [victim, attacker] = [await newUser(), await tokenOf(parts.idp, await makePerson(parts.idp))]
    const key = new Authenticator(parts.idp.origin)
    await enrolPasskey(parts.idp, victim.credential, key)
    const begun = good(await ask(service, "GET /api/auth/login/passkey")) as {
      flow_id: string
      passkey_options: { publicKey: unknown }
    }
    // The attacker has put their own session into the victim's browser.
    const planted = browserOf(attacker)
    const reply = await planted.once(`${service.url}/api/auth/login/passkey`, {
      method: "POST",
      headers: { origin: service.url, "content-type": "application/json" },
      body: JSON.stringify({ flow_id: begun.flow_id, passkey_login: key.get(begun.passkey_options.publicKey) })
    })
    assert.strictEqual(reply.status, 200, reply.text)
    assert.isUndefined(planted.cookie("127.0.0.1", "svc_session"))
    const me = await planted.once(`${service.url}/api/auth/session`)
    assert.strictEqual((JSON.parse(me.text) as { identity: { id: string } }).identity.id, victim.person.id)
    assert.notStrictEqual(planted.cookie("127.0.0.1", "idp_session"), Redacted.value(victim.credential.value))
  })

  it("are rejected without a call if malformed", async () => {
    for (const value of ["a b", "é", '"x"', "x".repeat(5000), "a,b", "a\\b"]) {
      const raw = `GET /api/auth/session HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: svc_session=${value}\r\n\r\n`
      assert.match(await talk(service, Buffer.from(raw, "latin1")), /^HTTP\/1.1 401 /, value.slice(0, 10))
    }
  })
})

describe("challenges of another user", () => {
  it("are rejected in every step", async () => {
    const clientId = await makeClient(parts)
    const [owner, other] = [await newUser(), await newUser()]
    const challenge = await consentChallenge(parts, browserOf(owner.credential), clientId)
    const query = `consent_challenge=${encodeURIComponent(challenge)}`
    for (const [line, body] of [
      [`GET /api/oauth2/bridge/consent?${query}`, undefined],
      [`GET /api/oauth2/bridge/consent/info?${query}`, undefined],
      ["POST /api/oauth2/bridge/consent/accept", { challenge, grant_scope: ["openid"] }],
      ["POST /api/oauth2/bridge/consent/reject", { challenge }]
    ] as const) {
      const reply = await as(service, other.credential, line, body === undefined ? {} : { body })
      assertRefused(reply, 403, "CHALLENGE_FORBIDDEN")
    }
    good(await as(service, owner.credential, `GET /api/oauth2/bridge/consent/info?${query}`))
  })
})

describe("attempts", () => {
  it("at codes are limited to ten a minute for each session", async () => {
    const [one, other] = [await newUser(), await newUser()]
    const guess = async (credential: Credential, flow_id: unknown) =>
      as(service, credential, "POST /api/auth/mfa/totp/verify", { body: { flow_id, totp_code: "000000" } })
    const setup = good(await as(service, one.credential, "POST /api/auth/mfa/totp/setup"))
    for (let i = 0; i < 10; i++) assert.notStrictEqual((await guess(one.credential, setup["flow_id"])).status, 429)
    const refused = await guess(one.credential, setup["flow_id"])
    assertRefused(refused, 429, "TOO_MANY_GUESSES")
    assert.match(refused.headers.get("retry-after") ?? "", /^([1-9]|[1-5]\d|60)$/)
    const right = { flow_id: setup["flow_id"], totp_code: totpCode(String(setup["totp_secret"])) }
    assertRefused(await as(service, one.credential, "POST /api/auth/mfa/totp/verify", { body: right }), 429)
    assert.notStrictEqual((await guess(other.credential, flow)).status, 429)
  })

  it("at passkeys and addresses are limited to ten a minute for each client", async () => {
    const from = (address: string) => ({ "x-forwarded-for": `6.6.6.6, ${address}` })
    for (const [line, body] of [
      ["POST /api/auth/login/passkey", () => ({ flow_id: flow, passkey_login: "{}" })],
      ["POST /api/auth/recovery", () => ({ flowId: flow, email: freshEmail() })]
    ] as const) {
      const guess = (address: string) => ask(service, line, { body: body(), headers: from(address) })
      await Promise.all(Array.from({ length: 10 }, (_, i) => guess(`2001:db8:1:2::${i}`)))
      assertRefused(await guess("2001:db8:1:2:ffff::1"), 429, "TOO_MANY_GUESSES")
      assert.notStrictEqual((await guess("203.0.113.9")).status, 429)
    }
  })
})

describe("recovery", () => {
  it("of one address is limited, from whatever clients", async () => {
    const email = freshEmail()
    const send = async (of: string, client: number) =>
      ask(service, "POST /api/auth/recovery", {
        body: { flowId: good(await ask(service, "GET /api/auth/recovery"))["id"], email: of, method: "link" },
        headers: { "x-forwarded-for": `198.51.100.${client}` }
      })
    for (let client = 100; client < 103; client++) good(await send(email, client))
    assertRefused(await send(email.toUpperCase(), 103), 429, "TOO_MANY_GUESSES")
    good(await send(freshEmail(), 103))
  })

  it("does not reveal which addresses exist", async () => {
    const times: Record<"known" | "unknown", Array<number>> = { known: [], unknown: [] }
    const texts = new Set<string>()
    for (let round = 0; round < 5; round++) {
      // Recoveries of one address are limited.
      const { person } = await newUser()
      for (const [kind, email] of [
        ["known", person.email],
        ["unknown", freshEmail()]
      ] as const) {
        const { id } = good(await ask(service, "GET /api/auth/recovery"))
        const began = performance.now()
        const headers = { "x-forwarded-for": `198.51.100.${round}` }
        const reply = await ask(service, "POST /api/auth/recovery", {
          body: { flowId: id, email, method: "link" },
          headers
        })
        times[kind].push(performance.now() - began)
        texts.add(`${reply.status} ${reply.text} ${[...reply.headers.keys()].join()}`)
      }
    }
    assert.lengthOf([...texts], 1, [...texts].join("\n"))
    const median = (all: ReadonlyArray<number>) => all.toSorted((a, b) => a - b)[2] ?? 0
    assert.isAtLeast(Math.min(...times.known, ...times.unknown), 245)
    const medians = [median(times.known), median(times.unknown)]
    assert.isBelow(Math.max(...medians), 1.2 * Math.min(...medians), medians.join(" and "))
  })
})

describe("hostile text", () => {
  it("in names does not reach headers, and is escaped in markup", async () => {
    const { credential } = await newUser({ name: "a\r\nSet-Cookie: evil=1 <script>" })
    const reply = await as(service, credential, "GET /api/auth/session")
    good(reply)
    assert.notInclude([...reply.headers].join(), "evil")
    const clientId = await makeClient(parts, {
      client_name: `"><script>alert(1)</script>`,
      logo_uri: `https://x.example/"onerror="x`
    })
    const challenge = await consentChallenge(parts, browserOf(credential), clientId)
    const page = await as(
      service,
      credential,
      `GET /oauth2/consent?consent_challenge=${encodeURIComponent(challenge)}`,
      {
        headers: { accept: "text/html" }
      }
    )
    assert.strictEqual(page.status, 200)
    assert.notMatch(page.text, /<script/i)
    assert.notInclude(page.text, `"onerror="`)
    assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'; style-src 'sha256-/)
    assert.strictEqual(page.headers.get("x-frame-options"), "DENY")
  })

  it("in a Host header is rejected", async () => {
    for (const host of ["evil.example/x?", "a b", "user@evil.example"]) {
      const raw = `GET /api/oauth2/bridge/status HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
      assert.match(await talk(service, raw), /^HTTP\/1.1 400 /)
    }
  })
})

describe("the servers", () => {
  it("return 503 if identity is turned off, and bridge/status reports it", async () => {
    await using bare = await startService({ env: { SVC_IDENTITY: "off" } })
    assert.deepInclude(good(await ask(bare, "GET /api/oauth2/bridge/status")), {
      oauth2_configured: false,
      idp_configured: false,
      bridge_ready: false
    })
    const headers = { cookie: "svc_session=x", origin: bare.url }
    const key = bare.service_role
    for (const [line, request] of [
      ["GET /api/auth/login/passkey", {}],
      ["GET /api/auth/recovery", {}],
      ["GET /api/auth/session", { headers }],
      ["GET /api/auth/mfa/status", { headers }],
      ["POST /api/auth/mfa/totp/setup", { headers }],
      ["GET /api/auth/session", {}],
      ["GET /api/auth/methods", {}],
      ["POST /api/auth/token", { headers }],
      ["GET /api/auth/mfa/status", {}],
      ["POST /api/auth/mfa/totp/setup", {}],
      ["DELETE /api/auth/mfa/webauthn", {}],
      ["GET /v1/auth/identities", { key }],
      ["GET /api/oauth2/bridge/login?login_challenge=x", {}],
      ["GET /api/oauth2/bridge/consent?consent_challenge=x", {}],
      ["GET /api/oauth2/bridge/logout?logout_challenge=x", {}],
      ["GET /api/oauth2/clients", { key }],
      ["GET /api/oauth2/consent/x", { key }],
      ["POST /api/oauth2/logout", { key, body: { subject: "x" } }]
    ] as const) {
      assertRefused(await ask(bare, line, request), 503, "NOT_CONFIGURED")
    }
    assert.strictEqual((await ask(bare, "GET /api/oauth2/claims-config", { key })).status, 200)
    assertRefused(await ask(bare, "GET /api/keys", { headers }), 401, "INVALID_API_KEY")
  })

  it("return 502 when down, while everything else keeps working", async () => {
    await using dead = await startIdentityService()
    const credential = await tokenOf(dead.idp, await makePerson(dead.idp))
    good(await as(dead.service, credential, "GET /api/auth/session"))
    await dead.idp.close()
    await dead.oauth2[Symbol.asyncDispose]()
    await sleep(5_100)
    const key = dead.service.service_role
    assertRefused(await as(dead.service, credential, "GET /api/auth/session"), 502, "IDP_UNAVAILABLE")
    assertRefused(await as(dead.service, credential, "GET /api/keys"), 502, "IDP_UNAVAILABLE")
    assertRefused(await ask(dead.service, "GET /api/auth/recovery"), 502, "IDP_UNAVAILABLE")
    assertRefused(await ask(dead.service, "GET /v1/auth/identities", { key }), 502, "IDP_UNAVAILABLE")
    assertRefused(await ask(dead.service, "GET /api/oauth2/clients", { key }), 502, "OAUTH2_UNAVAILABLE")
    assertRefused(await ask(dead.service, "GET /api/oauth2/bridge/login?login_challenge=x"), 502, "OAUTH2_UNAVAILABLE")
    assert.deepInclude(good(await ask(dead.service, "GET /api/oauth2/bridge/status")), {
      oauth2_configured: true,
      idp_configured: true,
      bridge_ready: false
    })
    assert.strictEqual((await ask(dead.service, "GET /api/keys", { key })).status, 200)
  })
})

it.each([
  ["PUBLIC_URL", "api.example.com"],
  ["PUBLIC_URL", "ftp://api.example.com"],
  ["PUBLIC_URL", "https://api.example.com/?a=b"],
  ["DASHBOARD_URL", "javascript:alert(1)"],
  ["SVC_AUTH_REQUIRED", "yes"],
  ["SVC_ADMIN_IDENTITIES", "a@b.example,,c@d.example"]
])("%s %s fails the start", async (name, value) => {
  const { code, output } = await runToEnd({ [name]: value })
  assert.strictEqual(code, 1)
  assert.match(output, new RegExp(`${name} must be `))
})

it("PUBLIC_URL is the service's URL, whatever the Host header", async () => {
  await using behind = await startService({ env: { PUBLIC_URL: "https://api.example.com/svc/" } })
  const status = good(await ask(behind, "GET /api/oauth2/bridge/status"))
  assert.strictEqual(status["login_url"], "https://api.example.com/svc/api/oauth2/bridge/login")
  const logout = (origin: string) =>
    ask(behind, "POST /api/auth/logout", { headers: { origin, cookie: "svc_session=x" } })
  assertRefused(await logout(behind.url), 403, "CSRF")
  assert.strictEqual((await logout("https://api.example.com")).status, 200)
})

it("no secrets are logged", async () => {
  const person = await makePerson(parts.idp)
  const credential = await cookieOf(parts.idp, person)
  const token = await tokenOf(parts.idp, person)
  const setup = good(await as(service, credential, "POST /api/auth/mfa/totp/setup"))
  const code = totpCode(String(setup["totp_secret"]))
  await as(service, credential, "POST /api/auth/mfa/totp/verify", {
    body: { flow_id: setup["flow_id"], totp_code: code }
  })
  const codes = good(await as(service, credential, "POST /api/auth/mfa/recovery-codes/generate"))[
    "codes"
  ] as Array<string>
  const made = good(
    await ask(service, "POST /api/oauth2/clients", {
      key: service.service_role,
      body: { redirect_uris: ["https://a.example"] }
    }),
    201
  )
  await as(service, token, "GET /api/auth/session")
  // Failures are logged: cause one that involves all secrets.
  parts.oauth2.intercept = () => ({ status: 500, headers: {}, body: "boom" })
  await ask(service, "GET /api/oauth2/bridge/login?login_challenge=SECRETCHALLENGE", {
    headers: { cookie: cookieHeader(credential) }
  })
  parts.oauth2.intercept = () => undefined
  const log = service.output()
  for (const secret of [
    Redacted.value(credential.value),
    Redacted.value(token.value),
    String(setup["totp_secret"]),
    ...codes,
    String(made["client_secret"]),
    "SECRETCHALLENGE",
    person.email
  ]) {
    assert.isAbove(secret.length, 5)
    assert.notInclude(log, secret)
  }
  assert.notMatch(log, new RegExp(`\\b${code}\\b`))
})
