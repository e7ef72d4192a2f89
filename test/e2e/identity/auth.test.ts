import { URI } from "otpauth"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Authenticator } from "../../support/identity/authenticator.ts"
import { ask, assertRefused, type Reply } from "../../support/client.ts"
import {
  cookieOf,
  enrolPasskey,
  freshEmail,
  makePerson,
  messagesTo,
  setState,
  tokenOf
} from "../../support/identity/idp.ts"
import {
  as,
  cookieHeader,
  dashboard,
  type IdentityService,
  startIdentityService
} from "../../support/identity/service.ts"
import { until } from "../../support/service.ts"
import { totpCode, wrongTotpCode } from "../../support/identity/totp.ts"
import { type Credential } from "../../../src/domain/identity/Identity.ts"

let parts: IdentityService
beforeAll(async () => {
  parts = await startIdentityService({ DASHBOARD_URL: dashboard })
})
afterAll(() => parts[Symbol.asyncDispose]())

/** A new identity, signed in by a token or by the identity provider's cookie. */
const newUser = async (by: "token" | "cookie" = "token") => {
  const person = await makePerson(parts.idp, { name: "Ada" })
  const credential = await (by === "token" ? tokenOf : cookieOf)(parts.idp, person)
  const call = (line: string, body?: unknown) => as(parts.service, credential, line, body === undefined ? {} : { body })
  return { person, credential, call }
}
type Call = Awaited<ReturnType<typeof newUser>>["call"]

const goodAs = <A>(reply: Reply) => {
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as A
}
const good = (reply: Reply) => goodAs<Record<string, unknown>>(reply)

const enrolTotp = async (call: Call) => {
  const setup = good(await call("POST /api/auth/mfa/totp/setup"))
  const secret = String(setup["totp_secret"])
  good(await call("POST /api/auth/mfa/totp/verify", { flow_id: setup["flow_id"], totp_code: totpCode(secret) }))
  return secret
}

const enrolKey = async (call: Call, key: Authenticator, name?: string) => {
  const setup = goodAs<{ flow_id: string; webauthn_options: { publicKey: unknown } }>(
    await call("POST /api/auth/mfa/webauthn/setup")
  )
  const webauthn_register = key.create(setup.webauthn_options.publicKey)
  const more = name === undefined ? {} : { webauthn_register_displayname: name }
  return call("POST /api/auth/mfa/webauthn/verify", { flow_id: setup.flow_id, webauthn_register, ...more })
}

/** The name that browsers show for a new key. */
const keyOwner = async (call: Call) => {
  const setup = goodAs<{ webauthn_options: { publicKey: { user: Record<string, string> } } }>(
    await call("POST /api/auth/mfa/webauthn/setup")
  )
  const { displayName, name } = setup.webauthn_options.publicKey.user
  return { name, displayName }
}

const enrolCodes = async (call: Call) => {
  const made = goodAs<{ flow_id: string; codes: ReadonlyArray<string> }>(
    await call("POST /api/auth/mfa/recovery-codes/generate")
  )
  good(await call("POST /api/auth/mfa/recovery-codes/confirm", { flow_id: made.flow_id }))
  return made.codes
}

const nothing = {
  totp: false,
  webauthn: false,
  webauthn_credentials: [],
  lookup_secret: false,
  lookup_secrets_count: 0,
  lookup_secrets_used: 0
}

describe.each(["token", "cookie"] as const)("second factors with a %s", (by) => {
  it("an authenticator app: set up, confirmed, listed, removed", async () => {
    const { call, person } = await newUser(by)
    assert.deepStrictEqual(good(await call("GET /api/auth/mfa/status")), nothing)
    const setup = good(await call("POST /api/auth/mfa/totp/setup"))
    assert.hasAllKeys(setup, ["flow_id", "totp_url", "totp_secret"])
    const uri = URI.parse(String(setup["totp_url"]))
    assert.strictEqual(uri.secret.base32, setup["totp_secret"])
    assert.strictEqual(uri.label, person.email)

    const verify = (totp_code: unknown) =>
      call("POST /api/auth/mfa/totp/verify", { flow_id: setup["flow_id"], totp_code })
    assertRefused(await verify(wrongTotpCode(uri.secret.base32)), 400, "INVALID_CODE")
    assert.deepStrictEqual(good(await verify(totpCode(uri.secret.base32))), { success: true })
    assert.deepStrictEqual(good(await call("GET /api/auth/mfa/status")), { ...nothing, totp: true })
    assert.deepInclude(good(await call("GET /api/auth/session")), { aal: "aal2" })
    assertRefused(await call("POST /api/auth/mfa/totp/setup"), 409, "TOTP_EXISTS")

    const removed = good(await call("DELETE /api/auth/mfa/totp"))
    assert.deepStrictEqual(removed, { success: true, recovery_codes_removed: false })
    for (const factor of ["totp", "webauthn", "recovery-codes"]) {
      assert.strictEqual((await call(`DELETE /api/auth/mfa/${factor}`)).status, 200, factor)
    }
  })

  it("security keys: registered, named, removed by any spelling of their id, or all", async () => {
    const { call, person } = await newUser(by)
    assert.deepStrictEqual(await keyOwner(call), { name: person.email, displayName: person.email })
    assertRefused(await enrolKey(call, new Authenticator("https://evil.example")), 400, "INVALID_WEBAUTHN")
    const ids: Array<string> = []
    for (const name of [undefined, "Schlüssel <b>", "Blue", ""]) {
      const key = new Authenticator(parts.idp.origin)
      assert.deepStrictEqual(good(await enrolKey(call, key, name)), { success: true })
      ids.push(key.lastId)
    }
    const listed = async () =>
      goodAs<{ webauthn_credentials: ReadonlyArray<{ id: string; display_name: string }> }>(
        await call("GET /api/auth/mfa/status")
      ).webauthn_credentials
    assert.deepStrictEqual(
      (await listed()).map(({ display_name, id }) => [id, display_name]),
      ids.map((id, index) => [id, ["Security Key", "Schlüssel <b>", "Blue", "Security Key"][index]])
    )
    const bytes = ids.map((id) => Buffer.from(id, "base64url"))
    for (const credential_id of [ids[0], bytes[1]?.toString("base64"), bytes[2]?.toString("hex")]) {
      good(await call("DELETE /api/auth/mfa/webauthn", { credential_id }))
      assertRefused(await call("DELETE /api/auth/mfa/webauthn", { credential_id }), 404, "WEBAUTHN_NOT_FOUND")
    }
    assert.lengthOf(await listed(), 1)
    for (const body of [
      { credentialId: ids[3] },
      { credential_id: 1 },
      { credential_id: "" },
      { credential_id: "a b" }
    ]) {
      assertRefused(await call("DELETE /api/auth/mfa/webauthn", body), 400)
    }
    assert.lengthOf(await listed(), 1)
    good(await call("DELETE /api/auth/mfa/webauthn"))
    assert.lengthOf(await listed(), 0)
  })

  it("recovery codes: generated, confirmed, replaced, revoked", async () => {
    const { call } = await newUser(by)
    await enrolTotp(call)
    const first = await enrolCodes(call)
    assert.lengthOf(new Set(first), 12)
    const status = good(await call("GET /api/auth/mfa/status"))
    assert.deepInclude(status, { lookup_secret: true, lookup_secrets_count: 12, lookup_secrets_used: 0 })
    const second = await enrolCodes(call)
    assert.isFalse(second.some((code) => first.includes(code)))
    good(await call("DELETE /api/auth/mfa/recovery-codes"))
    good(await call("DELETE /api/auth/mfa/recovery-codes"))
    assert.deepInclude(good(await call("GET /api/auth/mfa/status")), { totp: true, lookup_secret: false })
    // Nothing is guessed by a confirmation.
    for (let set = 0; set < 11; set++) await enrolCodes(call)
  })
})

describe("leftovers", () => {
  it("recovery codes are removed with the last factor, not before", async () => {
    const { call } = await newUser()
    await enrolTotp(call)
    good(await enrolKey(call, new Authenticator(parts.idp.origin)))
    await enrolCodes(call)
    assert.deepInclude(good(await call("DELETE /api/auth/mfa/totp")), { recovery_codes_removed: false })
    assert.deepInclude(good(await call("GET /api/auth/mfa/status")), { lookup_secret: true, webauthn: true })
    assert.deepInclude(good(await call("DELETE /api/auth/mfa/webauthn")), { recovery_codes_removed: true })
    assert.deepStrictEqual(good(await call("GET /api/auth/mfa/status")), nothing)
  })
})

describe("step-ups", () => {
  const target = (reply: Reply) => new URL(String((reply.json as Record<string, unknown>)["redirect_to"]))

  it("a session without its second factor is redirected to use it, and back", async () => {
    const { call, person } = await newUser()
    await enrolTotp(call)
    const poor = await cookieOf(parts.idp, person)
    for (const line of [
      "GET /api/auth/session",
      "GET /api/auth/mfa/status",
      "POST /api/auth/mfa/totp/setup",
      "DELETE /api/auth/mfa/totp",
      "DELETE /api/auth/mfa/recovery-codes",
      "POST /api/auth/mfa/webauthn/setup",
      "GET /api/keys",
      "GET /api/flags"
    ]) {
      const reply = await as(parts.service, poor, line)
      assertRefused(reply, 403, "aal2_required")
      const { origin, searchParams } = target(reply)
      assert.strictEqual(origin, parts.idp.publicUrl)
      assert.strictEqual(searchParams.get("aal"), "aal2", line)
      assert.strictEqual(searchParams.get("return_to"), dashboard, line)
    }
  })

  it("only return to pages of the service and the dashboard", async () => {
    const { call, person } = await newUser()
    await enrolTotp(call)
    const poor = await cookieOf(parts.idp, person)
    const back = async (to: string) =>
      target(
        await as(parts.service, poor, `GET /api/auth/session?return_to=${encodeURIComponent(to)}`)
      ).searchParams.get("return_to")
    for (const ours of [`${dashboard}/account?tab=mfa#x`, `${parts.service.url}/a`]) {
      assert.strictEqual(await back(ours), ours)
    }
    for (const other of [
      "https://evil.example/",
      `${dashboard}.evil.example`,
      "//evil.example",
      "javascript:alert(1)",
      ""
    ]) {
      assert.strictEqual(await back(other), dashboard, other)
    }
  })

  it("an old sign-in must be repeated", async () => {
    const { call } = await newUser()
    const setup = good(await call("POST /api/auth/mfa/totp/setup"))
    const privileged = parts.idp.settings.privilegedSeconds
    parts.idp.settings.privilegedSeconds = -1
    const reply = await call("POST /api/auth/mfa/totp/verify", {
      flow_id: setup["flow_id"],
      totp_code: totpCode(String(setup["totp_secret"]))
    })
    parts.idp.settings.privilegedSeconds = privileged
    assertRefused(reply, 403, "reauthentication_required")
    assert.strictEqual(target(reply).searchParams.get("refresh"), "true")
    assert.strictEqual(target(reply).searchParams.get("return_to"), dashboard)
  })
})

describe("flows", () => {
  const verify = (call: Call, flow_id: unknown) =>
    call("POST /api/auth/mfa/totp/verify", { flow_id, totp_code: "123456" })

  it("are rejected if unknown, of another user, or expired", async () => {
    const [one, other] = [await newUser(), await newUser()]
    assertRefused(await verify(one.call, "0b8c7a1e-5e0e-4c3b-9a55-6f3a4a1d2c11"), 404, "FLOW_NOT_FOUND")
    const theirs = good(await other.call("POST /api/auth/mfa/totp/setup"))
    assertRefused(await verify(one.call, theirs["flow_id"]), 403, "FLOW_FORBIDDEN")
    parts.idp.settings.flowSeconds = 0
    const old = good(await one.call("POST /api/auth/mfa/totp/setup"))
    parts.idp.settings.flowSeconds = 3600
    assertRefused(await verify(one.call, old["flow_id"]), 410, "FLOW_EXPIRED")
  })

  it("count once if completed twice concurrently", async () => {
    const { call } = await newUser()
    const setup = good(await call("POST /api/auth/mfa/totp/setup"))
    const body = { flow_id: setup["flow_id"], totp_code: totpCode(String(setup["totp_secret"])) }
    const both = await Promise.all([1, 2].map(() => call("POST /api/auth/mfa/totp/verify", body)))
    assert.include(
      both.map(({ status }) => status),
      200
    )
    for (const { status, text } of both) assert.include([200, 403, 409, 410], status, text)
    assert.deepInclude(good(await call("GET /api/auth/mfa/status")), { totp: true })
    const made = await Promise.all([1, 2].map(() => call("POST /api/auth/mfa/recovery-codes/generate")))
    for (const reply of made) good(reply)
  })

  it("are rejected with invalid bodies", async () => {
    const { call } = await newUser()
    const flow_id = "0b8c7a1e-5e0e-4c3b-9a55-6f3a4a1d2c11"
    for (const body of [
      {},
      [],
      null,
      "x",
      { flow_id },
      { flow_id, totp_code: 123456 },
      { flow_id, totp_code: "12345" },
      { flow_id, totp_code: "1234567" },
      { flow_id, totp_code: "12345６" },
      { flow_id, totp_code: "123456\n" },
      { flow_id: 7, totp_code: "123456" },
      { flow_id: "", totp_code: "123456" },
      { flow_id: "a\u0000b", totp_code: "123456" },
      { flow_id: "x".repeat(101), totp_code: "123456" }
    ]) {
      assertRefused(await call("POST /api/auth/mfa/totp/verify", body), 400)
    }
    for (const flow of ["../../admin", "%00", "?flow=1&x", "é", "a b"]) {
      const reply = await verify(call, flow)
      assert.include([400, 404], reply.status, flow)
    }
    assertRefused(await call("POST /api/auth/mfa/webauthn/verify", { flow_id, webauthn_register: { id: "x" } }), 400)
    const long = { flow_id, webauthn_register: "x".repeat(200_000) }
    assertRefused(await call("POST /api/auth/mfa/webauthn/verify", long), 400)
    const huge = { flow_id, webauthn_register: "x".repeat(1_100_000) }
    assertRefused(await call("POST /api/auth/mfa/webauthn/verify", huge), 413)
    for (const name of ["a\u0000b", "a\r\nSet-Cookie: x=1", "\ud800", "x".repeat(101), 7]) {
      const body = { flow_id, webauthn_register: "{}", webauthn_register_displayname: name }
      assertRefused(await call("POST /api/auth/mfa/webauthn/verify", body), 400)
    }
  })
})

describe("passkeys", () => {
  const begin = async () =>
    goodAs<{ flow_id: string; passkey_options: { publicKey: unknown } }>(
      await ask(parts.service, "GET /api/auth/login/passkey")
    )

  it("sign a user in, with the identity provider's cookie", async () => {
    const { person, credential } = await newUser("cookie")
    const key = new Authenticator(parts.idp.origin)
    await enrolPasskey(parts.idp, credential, key)
    const { flow_id, passkey_options } = await begin()
    const body = { flow_id, passkey_login: key.get(passkey_options.publicKey) }
    const reply = await ask(parts.service, "POST /api/auth/login/passkey", { body })
    const { session } = goodAs<{ session: { aal: string; methods: Array<string>; identity: { id: string } } }>(reply)
    assert.strictEqual(session.identity.id, person.id)
    assert.notInclude(reply.text, "metadata_admin")
    const cookie = reply.headers
      .getSetCookie()
      .find((line) => line.startsWith("idp_session="))
      ?.split(";")[0]
    const me = await ask(parts.service, "GET /api/auth/session", { headers: { cookie: cookie ?? "" } })
    assert.deepInclude(goodAs<{ identity: object }>(me).identity, { id: person.id })
    assertRefused(await ask(parts.service, "POST /api/auth/login/passkey", { body }), 410, "FLOW_EXPIRED")
  })

  it("are rejected if unknown, or of another page", async () => {
    const { credential } = await newUser("cookie")
    const key = new Authenticator(parts.idp.origin)
    await enrolPasskey(parts.idp, credential, key)
    const { flow_id, passkey_options } = await begin()
    const assertion = JSON.parse(key.get(passkey_options.publicKey)) as { response: Record<string, string> }
    const forged = { ...assertion, response: { ...assertion.response, signature: "MEUCIQDx" } }
    for (const passkey_login of [JSON.stringify(forged), "{}", "nonsense"]) {
      const reply = await ask(parts.service, "POST /api/auth/login/passkey", { body: { flow_id, passkey_login } })
      assert.include([400, 401], reply.status, reply.text)
      assertRefused(reply, reply.status)
      assert.deepStrictEqual(
        reply.headers.getSetCookie().filter((line) => line.startsWith("idp_session=")),
        []
      )
    }
  })

  it("set the cookie for a user with a second factor, and require the factor", async () => {
    const { call, credential } = await newUser("cookie")
    const key = new Authenticator(parts.idp.origin)
    await enrolPasskey(parts.idp, credential, key)
    await enrolTotp(call)
    const { flow_id, passkey_options } = await begin()
    const reply = await ask(parts.service, "POST /api/auth/login/passkey", {
      body: { flow_id, passkey_login: key.get(passkey_options.publicKey) }
    })
    const body = assertRefused(reply, 403, "aal2_required")
    assert.strictEqual(new URL(String(body["redirect_to"])).searchParams.get("return_to"), dashboard)
    assert.isTrue(
      reply.headers.getSetCookie().some((line) => line.startsWith("idp_session=") && !/max-age=0/i.test(line))
    )
  })
})

describe("recovery", () => {
  it("sends a link", async () => {
    const { person } = await newUser()
    const flow = good(await ask(parts.service, "GET /api/auth/recovery"))
    assert.hasAllKeys(flow, ["id", "state", "expires_at"])
    const body = { flowId: flow["id"], email: person.email, method: "link" }
    const reply = await ask(parts.service, "POST /api/auth/recovery", { body })
    assert.deepStrictEqual(good(reply), { success: true, state: "sent_email" })
    assert.match((await messagesTo(parts.idp, person.email)).join(), /self-service\/recovery\?/)
  })

  it.each([
    [{ email: "no address" }],
    [{ email: "a@b\r\nBcc: x@y.example" }],
    [{ email: `${"x".repeat(320)}@y.example` }],
    [{ email: ["a@b.example"] }],
    [{ method: "code" }],
    [{ flowId: 1 }]
  ])("rejects %j", async (wrong) => {
    const flow = good(await ask(parts.service, "GET /api/auth/recovery"))
    const body = { flowId: flow["id"], email: freshEmail(), method: "link", ...wrong }
    assertRefused(await ask(parts.service, "POST /api/auth/recovery", { body }), 400, "INVALID_REQUEST")
  })
})

describe("sessions", () => {
  const idsOf = async (call: Call) =>
    goodAs<ReadonlyArray<{ id: string; current: boolean; aal: string }>>(await call("GET /api/auth/sessions"))

  it("are listed, ended one by one, and all but the current one", async () => {
    const { call, person } = await newUser()
    const others: ReadonlyArray<Credential> = [
      await tokenOf(parts.idp, person),
      await cookieOf(parts.idp, person),
      await tokenOf(parts.idp, person)
    ]
    const me = good(await call("GET /api/auth/session"))
    const all = await idsOf(call)
    assert.lengthOf(all, 4)
    assert.deepInclude(all[0], { id: String(me["id"]), current: true, aal: "aal1" })
    assertRefused(await call(`DELETE /api/auth/sessions/${String(me["id"])}`), 400, "CURRENT_SESSION")
    good(await call(`DELETE /api/auth/sessions/${all[1]!.id}`))
    assertRefused(await call(`DELETE /api/auth/sessions/${all[1]!.id}`), 404, "SESSION_NOT_FOUND")
    assert.deepStrictEqual(good(await call("DELETE /api/auth/sessions")), { success: true, revoked: 2 })
    assert.lengthOf(await idsOf(call), 1)
    for (const other of others) assertRefused(await as(parts.service, other, "GET /api/auth/session"), 401)
  })

  it("can't be ended by another user", async () => {
    const [one, other] = [await newUser(), await newUser()]
    const theirs = good(await other.call("GET /api/auth/session"))
    assertRefused(await one.call(`DELETE /api/auth/sessions/${String(theirs["id"])}`), 404, "SESSION_NOT_FOUND")
    good(await other.call("GET /api/auth/session"))
  })

  it("end with a logout, immediately, and their cookies are cleared", async () => {
    for (const by of ["token", "cookie"] as const) {
      const { call, credential } = await newUser(by)
      good(await call("GET /api/auth/session"))
      const reply = await call("POST /api/auth/logout")
      assert.deepStrictEqual(good(reply), { success: true })
      const cleared = reply.headers.getSetCookie()
      for (const name of ["svc_session", "idp_session"]) {
        assert.isTrue(cleared.some((line) => line.startsWith(`${name}=;`) && /max-age=0/i.test(line)))
      }
      assertRefused(await as(parts.service, credential, "GET /api/auth/session"), 401, "UNAUTHENTICATED")
      good(await call("POST /api/auth/logout"))
    }
  })

  it("both end when a browser has two", async () => {
    const [one, other] = [await newUser("token"), await newUser("cookie")]
    const headers = {
      cookie: `${cookieHeader(one.credential)}; ${cookieHeader(other.credential)}`,
      origin: parts.service.url
    }
    good(await ask(parts.service, "POST /api/auth/logout", { headers }))
    for (const { call } of [one, other]) assertRefused(await call("GET /api/auth/session"), 401)
  })

  it("are required", async () => {
    for (const cookie of [
      "",
      "svc_session=",
      "svc_session=nonsense",
      "idp_session=nonsense",
      "svc_session=a; idp_session=b"
    ]) {
      for (const line of ["GET /api/auth/session", "GET /api/auth/sessions", "GET /api/auth/mfa/status"]) {
        assertRefused(await ask(parts.service, line, { headers: { cookie } }), 401, "UNAUTHENTICATED")
      }
      for (const line of ["POST /api/auth/mfa/totp/setup", "DELETE /api/auth/mfa/recovery-codes"]) {
        const headers = { cookie, origin: parts.service.url }
        assertRefused(await ask(parts.service, line, { headers }), 401, "UNAUTHENTICATED")
      }
    }
    for (const line of [
      "POST /api/auth/mfa/totp/verify",
      "POST /api/auth/mfa/webauthn/verify",
      "DELETE /api/auth/mfa/webauthn",
      "POST /api/auth/mfa/recovery-codes/confirm",
      "GET /api/auth/mfa/status?return_to=1&return_to=2"
    ]) {
      for (const body of [{}, { nonsense: 1 }, "{"]) {
        const request = line.startsWith("GET") ? {} : { body }
        assertRefused(await ask(parts.service, line, request), 401, "UNAUTHENTICATED")
      }
    }
  })

  it("are found by the cookie when the token is stale", async () => {
    const { person, credential } = await newUser("cookie")
    const cookie = `svc_session=ory_st_gone; ${cookieHeader(credential)}`
    const me = goodAs<{ identity: object }>(await ask(parts.service, "GET /api/auth/session", { headers: { cookie } }))
    assert.deepInclude(me.identity, { id: person.id })
  })

  it("end when the identity is deactivated", async () => {
    const { call, person } = await newUser()
    good(await call("GET /api/auth/mfa/status"))
    await setState(parts.idp, person, "inactive")
    // Within the second for which sessions are cached.
    const refused = await until(
      () => call("GET /api/auth/mfa/status"),
      ({ status }) => status !== 200
    )
    assertRefused(refused, 401, "UNAUTHENTICATED")
  })
})

describe("/v1/auth/identities", () => {
  it("lists the identities of the identity provider in pages, with a service key", async () => {
    const people = [await newUser(), await newUser(), await newUser()]
    const key = parts.service.service_role
    const page = async (query: string) =>
      goodAs<{ identities: ReadonlyArray<{ id: string; traits: object }>; next_page_token: string | null }>(
        await ask(parts.service, `GET /v1/auth/identities?${query}`, { key })
      )
    const found = new Set<string>()
    for (let token: string | null = ""; token !== null;) {
      const { identities, next_page_token } = await page(`page_size=2${token === "" ? "" : `&page_token=${token}`}`)
      assert.isAtMost(identities.length, 2)
      for (const { id } of identities) found.add(id)
      token = next_page_token
    }
    for (const { person } of people) assert.isTrue(found.has(person.id))
    const email = people[1]?.person.email ?? ""
    const [one, ...none] = (await page(`identifier=${encodeURIComponent(email)}`)).identities
    assert.deepInclude(one?.traits, { email })
    assert.lengthOf(none, 0)
    assertRefused(await ask(parts.service, "GET /v1/auth/identities", { key: parts.service.anon }), 403)
    for (const query of ["page_size=0", "page_size=251", "page_size=x", "identifier=%00", "identifier="]) {
      assertRefused(await ask(parts.service, `GET /v1/auth/identities?${query}`, { key }), 400)
    }
  })
})
