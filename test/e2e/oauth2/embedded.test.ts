import { createRemoteJWKSet, jwtVerify } from "jose"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask } from "../../support/client.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { serveInProcess } from "../../support/inProcess.ts"
import {
  allow,
  callback,
  makeApplication,
  makeVisitor,
  manage,
  signIn,
  toConsent
} from "../../support/identity/signIn.ts"
import { type FullStage, startStage } from "../../support/oauth2/signInSetup.ts"
import { startService } from "../../support/service.ts"

let stage: FullStage
beforeAll(async () => {
  stage = await startStage({}, "embedded")
})
afterAll(() => stage[Symbol.asyncDispose]())

const at = (path: string) => `${stage.publicUrl}${path}`

describe("the endpoints of the embedded server", () => {
  it("are described by two documents", async () => {
    for (const name of ["openid-configuration", "oauth-authorization-server"]) {
      const response = await fetch(at(`/.well-known/${name}`))
      const body = (await response.json()) as Readonly<Record<string, unknown>>
      assert.strictEqual(response.status, 200)
      assert.isNotNull(response.headers.get("x-request-id"))
      assert.deepInclude(body, {
        issuer: stage.publicUrl,
        authorization_endpoint: at("/oauth2/auth"),
        token_endpoint: at("/oauth2/token"),
        jwks_uri: at("/.well-known/jwks.json"),
        end_session_endpoint: at("/oauth2/sessions/logout"),
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"]
      })
    }
  })

  it("answer failures with the fields of RFC 6749 and of this service", async () => {
    const response = await fetch(at("/oauth2/token"), {
      method: "POST",
      headers: { "x-request-id": "mine" },
      body: new URLSearchParams({ grant_type: "authorization_code", code: "x", client_id: "none" })
    })
    const body = (await response.json()) as Readonly<Record<string, unknown>>
    assert.strictEqual(response.status, 401)
    assert.deepInclude(body, { error: "invalid_client", code: "invalid_client", request_id: "mine", hint: null })
    assert.isString(body["error_description"])
    assert.isNull(response.headers.get("www-authenticate"))
  })

  it.each([
    ["JSON", "application/json", "{}"],
    ["nothing", "application/x-www-form-urlencoded", ""],
    ["100 KB", "application/x-www-form-urlencoded", `grant_type=${"x".repeat(100_000)}`],
    ["bytes that are no text", "application/x-www-form-urlencoded", "%ff%fe=%00"]
  ])("refuse a body of %s", async (_what, contentType, body) => {
    for (const name of ["token", "revoke", "introspect", "userinfo"]) {
      const response = await fetch(at(`/oauth2/${name}`), {
        method: "POST",
        headers: { "content-type": contentType },
        body
      })
      const text = await response.text()
      assert.isTrue(response.status >= 400 && response.status < 500, `${name} ${response.status} ${text}`)
      assert.isString((JSON.parse(text) as { readonly request_id?: string }).request_id, name)
    }
  })

  it("send browsers to a page with errors that they can't return to a client", async () => {
    const response = await fetch(at("/oauth2/auth?client_id=none"), { redirect: "manual" })
    assert.strictEqual(response.status, 303)
    assert.match(response.headers.get("location") ?? "", /\/oauth2\/error\?error=invalid_client/)
    const page = await fetch(response.headers.get("location") ?? "")
    assert.include(await page.text(), "The app is not registered with this service")
  })

  it("are of other methods 405", async () => {
    const { status } = await ask(stage.service, "DELETE /oauth2/token")
    assert.strictEqual(status, 405)
  })

  it("limit the requests of an address", async () => {
    await using other = await startService({ env: { PUBLIC_URL: "http://127.0.0.1:1" } })
    const replies = await Promise.all(
      Array.from({ length: 320 }, () => fetch(`${other.url}/oauth2/auth?client_id=none`, { redirect: "manual" }))
    )
    assert.strictEqual(replies.filter(({ status }) => status === 429).length, 20)
  })
})

describe("web pages", () => {
  const origin = new URL(callback).origin

  const exchanged = async (from: string) => {
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(stage, { token_endpoint_auth_method: "none" })
    const attempt = await application.begin()
    const back = await allow(stage, visitor, await toConsent(stage, visitor, attempt.url))
    return fetch(at("/oauth2/token"), {
      method: "POST",
      headers: { origin: from },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: application.id,
        code: back.searchParams.get("code") ?? "",
        redirect_uri: callback,
        code_verifier: attempt.verifier
      })
    })
  }

  it("of a client's redirect URI may exchange codes", async () => {
    const asked = await fetch(at("/oauth2/token"), {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" }
    })
    assert.strictEqual(asked.status, 204)
    assert.strictEqual(asked.headers.get("access-control-allow-origin"), origin)
    assert.strictEqual(asked.headers.get("access-control-allow-headers"), "authorization")
    assert.isNull(asked.headers.get("access-control-allow-credentials"))
    const response = await exchanged(origin)
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("access-control-allow-origin"), origin)
  })

  it.each(["https://evil.example", "null"])("of %s may not", async (from) => {
    const response = await exchanged(from)
    assert.strictEqual(response.status, 400)
    assert.isNull(response.headers.get("access-control-allow-origin"))
  })
})

describe("signing keys", () => {
  it("can be replaced, and old tokens stay valid", async () => {
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(stage)
    const before = await signIn(stage, visitor, application)
    assert.strictEqual(
      (await ask(stage.service, "POST /api/oauth2/keys/rotate", { key: stage.service.anon })).status,
      403
    )
    const { body, status } = await manage(stage, "POST", "/keys/rotate")
    assert.strictEqual(status, 200, JSON.stringify(body))
    const after = await signIn(stage, visitor, application)
    const keys = createRemoteJWKSet(new URL(at("/.well-known/jwks.json")))
    const options = { issuer: stage.publicUrl, audience: application.id }
    const [old, young] = await Promise.all([
      jwtVerify(before.id_token ?? "", keys, options),
      jwtVerify(after.id_token ?? "", keys, options)
    ])
    assert.strictEqual(young.protectedHeader.kid, body["kid"])
    assert.notStrictEqual(old.protectedHeader.kid, young.protectedHeader.kid)
    const set = await (await fetch(at("/.well-known/jwks.json"))).json()
    assert.lengthOf((set as { readonly keys: ReadonlyArray<object> }).keys, 2)
    assert.notMatch(JSON.stringify(set), /"(?:d|p|q|dp|dq|qi|oth)":/)
    // An ID token tells an app who signed in; it opens no rows.
    const { status: rows } = await ask(stage.service, "GET /v1/db/none", {
      key: stage.service.anon,
      headers: { authorization: `Bearer ${after.id_token}` }
    })
    assert.strictEqual(rows, 401)
  })
})

describe("two replicas on one database", () => {
  it("complete each other's sign-ins, and honour a code and a refresh token once", async () => {
    const [port, otherPort] = [await freePort(), await freePort()]
    const PUBLIC_URL = `http://127.0.0.1:${port}`
    const { adminUrl, publicUrl } = stage.idp
    const env = {
      PUBLIC_URL,
      IDP_PUBLIC_URL: publicUrl,
      IDP_ADMIN_URL: adminUrl ?? "",
      DASHBOARD_URL: "http://127.0.0.1:24656"
    }
    await using one = await serveInProcess({ ...env, PORT: String(port) })
    await using two = await startService({ env: { ...env, PORT: String(otherPort), DATABASE_URL: one.databaseUrl } })
    const pair = { ...stage, service: { ...one, output: one.output }, publicUrl: PUBLIC_URL }
    const visitor = await makeVisitor(stage)
    const application = await makeApplication(pair)
    const attempt = await application.begin()
    const elsewhere = (url: string | URL) => String(url).replace(`:${port}`, `:${otherPort}`)
    // The first request reaches the one replica, all others the other one.
    const begun = await visitor.browser.once(attempt.url)
    const challenge = await toConsent(pair, visitor, elsewhere(begun.headers.get("location") ?? ""))
    const back = await allow({ ...pair, service: two }, visitor, challenge)
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code: back.searchParams.get("code") ?? "",
      redirect_uri: callback,
      code_verifier: attempt.verifier
    })
    const authorization = `Basic ${Buffer.from(`${application.id}:${application.secret}`).toString("base64")}`
    const statuses = await Promise.all(
      [one, two, one, two].map(async ({ url }) => {
        const { status } = await fetch(`${url}/oauth2/token`, { method: "POST", headers: { authorization }, body })
        return status
      })
    )
    assert.isAtMost(statuses.filter((status) => status === 200).length, 1)
    assert.includeMembers([200, 400], statuses)

    const tokens = await signIn(pair, visitor, application)
    const renew = async (url: string, refresh_token: string) => {
      const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token })
      const response = await fetch(`${url}/oauth2/token`, { method: "POST", headers: { authorization }, body })
      return { status: response.status, ...((await response.json()) as { readonly refresh_token?: string }) }
    }
    const renewed = await Promise.all(
      [one, two, one, two, one, two].map(({ url }) => renew(url, tokens.refresh_token ?? ""))
    )
    assert.deepStrictEqual(renewed.map(({ status }) => status).toSorted(), [200, 400, 400, 400, 400, 400])
    // The client stays signed in, at every replica.
    const next = renewed.find(({ status }) => status === 200)?.refresh_token ?? ""
    assert.strictEqual((await renew(two.url, next)).status, 200)
  })
})

describe("SVC_IDENTITY=off", () => {
  it("turns the server off", async () => {
    await using off = await startService({ env: { SVC_IDENTITY: "off" } })
    const { json, status } = await ask(off, "GET /api/oauth2/clients", { key: off.service_role })
    assert.deepStrictEqual([status, (json as { readonly code: string }).code], [503, "NOT_CONFIGURED"])
    for (const path of ["/oauth2/auth", "/.well-known/openid-configuration"]) {
      assert.strictEqual((await ask(off, `GET ${path}`)).status, 404, path)
    }
    assert.deepStrictEqual((await ask(off, "GET /.well-known/jwks.json")).json, { keys: [] })
  })
})
