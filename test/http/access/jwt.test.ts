import { Effect, Exit, Scope } from "effect"
import { exportSPKI } from "jose"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { base64url, hs256, type Issuer, issuer, jwksServer } from "../../support/access/jwts.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

const soon = () => Math.floor(Date.now() / 1000) + 600
const scope = Scope.makeUnsafe()
let service: InProcessService
let trusted: Issuer

beforeAll(async () => {
  trusted = await issuer("RS256", "k1")
  const { url } = await Effect.runPromise(Scope.provide(jwksServer([trusted.jwk]), scope))
  service = await serveInProcess({ SVC_JWKS_URL: url, SVC_JWT_AUDIENCE: "app" })
  await sql(
    service,
    `create function whoami() returns json language sql stable as $$ select json_build_object('role', current_user,
     'sub', current_setting('request.jwt.sub', true), 'claims', current_setting('request.jwt.claims', true)) $$`
  )
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const whoami = (token?: string, key = service.anon) =>
  ask(service, "POST /v1/db/rpc/whoami", { key, body: {}, ...(token === undefined ? {} : { token }) })

const claims = () => ({ sub: "alice", aud: "app", exp: soon(), role: "postgres" })

describe("a valid token", () => {
  it("signed with the secret raises an anon key to authenticated", async () => {
    const payload = JSON.stringify(claims())
    const reply = await whoami(hs256(payload, undefined, service.jwtSecret))
    assert.deepStrictEqual(reply.json, { role: "authenticated", sub: "alice", claims: payload })
  })

  it("signed with the key set does too", async () => {
    assert.deepInclude((await whoami(await trusted.sign(claims()))).json, { role: "authenticated", sub: "alice" })
  })

  it("keeps a service key's role, and sets the claims", async () => {
    const token = await trusted.sign(claims())
    assert.deepInclude((await whoami(token, service.service_role)).json, { role: "postgres", sub: "alice" })
    const rows = await ask(service, "POST /v1/sql", {
      key: service.service_role,
      token,
      body: { sql: "select current_setting('request.jwt.sub', true) as sub" }
    })
    assert.deepInclude(rows.json, { rows: [{ sub: "alice" }] })
  })

  it("does not affect the next caller", async () => {
    const token = await trusted.sign(claims())
    for (let i = 0; i < 20; i++) {
      await whoami(token)
      assert.deepStrictEqual((await whoami()).json, { role: "anon", sub: "", claims: '{"role":"anon"}' })
      await whoami(token, service.service_role)
      const plain = await whoami(undefined, service.service_role)
      assert.deepStrictEqual(plain.json, { role: "postgres", sub: "", claims: '{"role":"service_role"}' })
    }
  })

  it("that is the key itself is ignored", async () => {
    assert.deepInclude((await whoami(service.anon)).json, { role: "anon" })
    assert.deepInclude((await whoami(service.service_role, service.service_role)).json, { role: "postgres" })
  })
})

describe("an invalid token is 401 and never `authenticated`", () => {
  const withSecret = (payload: object, header?: object) => hs256(JSON.stringify(payload), header, service.jwtSecret)
  const parts = (header: object, signature = "") =>
    `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(claims()))}.${signature}`
  const cases: Record<string, readonly [code: string, token: () => string | Promise<string>]> = {
    "another secret": ["JWT_INVALID", () => hs256(JSON.stringify(claims()), undefined, "x".repeat(40))],
    "an empty secret": ["JWT_INVALID", () => hs256(JSON.stringify(claims()), undefined, "")],
    expired: ["JWT_EXPIRED", () => withSecret({ ...claims(), exp: soon() - 1200 })],
    "not yet valid": ["JWT_NOT_YET_VALID", () => withSecret({ ...claims(), nbf: soon() })],
    "for another audience": ["JWT_AUDIENCE", () => withSecret({ ...claims(), aud: "other" })],
    "for no audience": ["JWT_AUDIENCE", () => withSecret({ sub: "alice", exp: soon() })],
    "alg none": ["JWT_INVALID", () => parts({ alg: "none" })],
    "alg nOnE": ["JWT_INVALID", () => parts({ alg: "nOnE" }, "AAAA")],
    "HS256 keyed by the public key's PEM": [
      "JWT_INVALID",
      async () => hs256(JSON.stringify(claims()), { alg: "HS256", kid: "k1" }, await exportSPKI(trusted.publicKey))
    ],
    "HS256 keyed by the public key's modulus": [
      "JWT_INVALID",
      () => hs256(JSON.stringify(claims()), { alg: "HS256", kid: "k1" }, trusted.jwk.n)
    ],
    "RS256 in the header, signed with HMAC": ["JWT_INVALID", () => withSecret(claims(), { alg: "RS256", kid: "k1" })],
    "another issuer's key with the same id": ["JWT_INVALID", async () => (await issuer("RS256", "k1")).sign(claims())],
    "a key in its own header": [
      "JWT_INVALID",
      async () => {
        const stranger = await issuer("RS256", "k2")
        return stranger.sign(claims(), { jwk: stranger.jwk, kid: undefined })
      }
    ],
    "a changed payload": [
      "JWT_INVALID",
      async () => {
        const [header, , signature] = (await trusted.sign(claims())).split(".")
        return `${header}.${base64url(JSON.stringify({ ...claims(), sub: "mallory" }))}.${signature}`
      }
    ],
    "not a token": ["JWT_INVALID", () => "undefined"]
  }
  it.each(Object.entries(cases))("%s", async (_name, [code, token]) => {
    assertRefused(await whoami(await token()), 401, code)
    assertRefused(await whoami(await token(), service.service_role), 401, code)
  })

  it("another key of the service", async () => {
    assertRefused(await whoami(service.service_role), 401, "JWT_INVALID")
  })
})

it("no /mcp without SVC_MCP", async () => {
  for (const key of [undefined, service.service_role])
    assertRefused(await ask(service, "POST /mcp", { key, body: {} }), 404)
  assertRefused(await ask(service, "GET /.well-known/oauth-protected-resource"), 404)
})
