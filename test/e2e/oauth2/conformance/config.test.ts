import { createPublicKey } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { standardScope } from "../../../../src/domain/oauth2/ClaimsConfig.ts"
import { startProvider } from "../../../support/oauth2/conformance.ts"

let service: Awaited<ReturnType<typeof startProvider>>
let document: Readonly<Record<string, unknown>>
beforeAll(async () => {
  service = await startProvider()
  const response = await fetch(`${service.issuer}/.well-known/openid-configuration`)
  assert.match(response.headers.get("content-type") ?? "", /^application\/json/)
  document = (await response.json()) as typeof document
})
afterAll(() => service[Symbol.asyncDispose]())

const listed = (name: string) => document[name] as ReadonlyArray<string>

/** The conditions of the plan's module oidcc-discovery-endpoint-verification. */
const conditions: Readonly<Record<string, () => void | Promise<void>>> = {
  "the issuer is the URL that the document was found at": () => {
    assert.strictEqual(document["issuer"], service.issuer)
  },
  "all endpoints are at the issuer, and have no fragment": () => {
    for (const name of ["authorization", "token", "userinfo", "revocation", "introspection", "end_session"]) {
      const url = new URL(String(document[`${name}_endpoint`]))
      assert.strictEqual(url.origin, service.issuer, name)
      assert.strictEqual(url.hash, "", name)
    }
  },
  "the code flow is listed with what it needs": () => {
    assert.include(listed("scopes_supported"), "openid")
    assert.deepStrictEqual(listed("response_types_supported"), ["code"])
    assert.include(listed("response_modes_supported"), "query")
    assert.includeMembers([...listed("grant_types_supported")], ["authorization_code", "refresh_token"])
    assert.deepStrictEqual(listed("subject_types_supported"), ["public"])
    assert.include(listed("id_token_signing_alg_values_supported"), "RS256")
    assert.notInclude(listed("id_token_signing_alg_values_supported"), "none")
    assert.includeMembers(
      [...listed("token_endpoint_auth_methods_supported")],
      ["client_secret_basic", "client_secret_post", "private_key_jwt"]
    )
    assert.deepStrictEqual(listed("code_challenge_methods_supported"), ["S256"])
  },
  "the claims of all scopes are listed": () => {
    const claims = listed("claims_supported")
    assert.includeMembers([...claims], ["sub", "iss", "auth_time", "acr", "name", "email", "email_verified", "address"])
    for (const claim of claims) {
      const scope = standardScope(claim)
      if (scope !== undefined) assert.include(listed("scopes_supported"), scope, claim)
    }
  },
  "parameters that are ignored or refused are said to be": () => {
    for (const name of ["claims_parameter", "request_uri_parameter"]) {
      assert.isFalse(document[`${name}_supported`], name)
    }
    assert.isTrue(document["authorization_response_iss_parameter_supported"])
  },
  "the keys are public, for signatures, and have names of their own": async () => {
    const response = await fetch(String(document["jwks_uri"]))
    const { keys } = (await response.json()) as {
      readonly keys: ReadonlyArray<{ readonly kid: string; readonly use: string; readonly kty: string }>
    }
    assert.isAbove(keys.length, 0)
    assert.strictEqual(new Set(keys.map(({ kid }) => kid)).size, keys.length)
    for (const key of keys) {
      assert.strictEqual(key.use, "sig")
      assert.notMatch(Object.keys(key).join(" "), /\b(?:d|p|q|dp|dq|qi|k)\b/)
      const { modulusLength } = createPublicKey({ key, format: "jwk" }).asymmetricKeyDetails ?? {}
      assert.isAtLeast(modulusLength ?? 0, 2048)
    }
  }
}

describe("OpenID Connect, plan Config OP", () => {
  it.each(Object.keys(conditions))("%s", async (name) => {
    await conditions[name]?.()
  })
})
