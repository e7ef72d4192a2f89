import { assert, describe, it } from "@effect/vitest"
import { type Identity } from "../../../src/domain/identity/Identity.ts"
import { type ClaimsConfig, claimsProblems, grantedClaims } from "../../../src/domain/oauth2/ClaimsConfig.ts"
import { type JsonObject } from "../../../src/domain/text/JsonObject.ts"

const ada = (traits: JsonObject, addresses: Identity["addresses"] = []): Identity => ({
  id: "0b8c7a1e-5e0e-4c3b-9a55-6f3a4a1d2c11",
  state: "active",
  schema_id: "default",
  traits,
  metadata_public: { plan: "pro" },
  addresses,
  created_at: null,
  updated_at: "2026-01-02T03:04:05.600Z"
})
const none: ClaimsConfig = { id_token_claims: {}, access_token_claims: {} }
const idToken = (identity: Identity, scope: string, config: Partial<ClaimsConfig> = {}) =>
  grantedClaims({ ...none, ...config }, identity, scope.split(" ")).idTokenClaims

describe("standard claims", () => {
  const full = ada({
    email: "Ada@example.com",
    name: { first: "Ada", last: "Lovelace" },
    nickname: "ada",
    locale: "",
    picture: 7,
    phone: "+44 1",
    address: { locality: "London" },
    unrelated: "x"
  })

  it.each<[string, JsonObject]>([
    ["openid", {}],
    ["openid offline_access unrelated", {}],
    ["email", { email: "Ada@example.com", email_verified: false }],
    [
      "openid profile",
      { name: "Ada Lovelace", given_name: "Ada", family_name: "Lovelace", nickname: "ada", updated_at: 1_767_323_045 }
    ],
    ["address", { address: { locality: "London" } }],
    ["phone", { phone_number: "+44 1" }]
  ])("of the scope %s", (scope, expected) => assert.deepStrictEqual(idToken(full, scope), expected))

  it("are verified only for the address of the token", () => {
    const addresses = [
      { value: "ada@EXAMPLE.com", verified: true },
      { value: "work@example.com", verified: false }
    ]
    const known = ada({ email: "Ada@example.com" }, addresses)
    assert.isTrue(idToken(known, "email")["email_verified"])
    const other = { id_token_claims: { email: "work@example.com" } }
    assert.deepStrictEqual(idToken(known, "email", other), { email: "work@example.com", email_verified: false })
    const own = { id_token_claims: { email_verified: "unknown" } }
    assert.strictEqual(idToken(known, "email", own)["email_verified"], "unknown")
  })

  it("take the e-mail address from the verifiable ones if no trait has it", () => {
    const known = ada({}, [{ value: "ada@example.com", verified: true }])
    assert.deepStrictEqual(idToken(known, "email"), { email: "ada@example.com", email_verified: true })
    assert.deepStrictEqual(idToken(ada({}), "email"), {})
  })

  it("accept an address that is a text", () => {
    assert.deepStrictEqual(idToken(ada({ address: "1 St" }), "address"), { address: { formatted: "1 St" } })
  })
})

describe("claims of one's own", () => {
  const config: ClaimsConfig = {
    id_token_claims: { plan: "{{metadata_public.plan}}", name: "{{traits.alias}}", email: "{{traits.email}}" },
    access_token_claims: { tier: "{{metadata_public.plan}}", email: "{{traits.email}}" },
    claim_scopes: { tier: "billing", email: "openid" }
  }
  const known = ada({ email: "ada@example.com", name: "Ada" })

  it("replace the standard ones, also when they have no value", () => {
    assert.deepStrictEqual(idToken(known, "openid profile", config), {
      plan: "pro",
      email: "ada@example.com",
      updated_at: 1_767_323_045
    })
  })

  it("require the scope that is configured, else that of the standard, else none", () => {
    assert.deepStrictEqual(grantedClaims(config, known, []), {
      idTokenClaims: { plan: "pro" },
      lookedUp: [],
      accessTokenClaims: {}
    })
    assert.deepStrictEqual(grantedClaims(config, known, ["openid", "billing"]).accessTokenClaims, {
      tier: "pro",
      email: "ada@example.com"
    })
    const inherited = { ...none, id_token_claims: { constructor: "x" }, claim_scopes: {} }
    assert.deepStrictEqual(grantedClaims(inherited, known, []).idTokenClaims, { constructor: "x" })
  })

  it("are checked", () => {
    assert.deepStrictEqual(claimsProblems({ ...config }), [])
    assert.deepStrictEqual(claimsProblems({ ...none, id_token_claims: { a: "" }, claim_scopes: { a: "s" } }), [])
    for (const scope of ["", "a b", 'a"', "é", "x".repeat(257), 7, null]) {
      const problems = claimsProblems({ ...none, id_token_claims: { a: "x" }, claim_scopes: { a: scope } })
      assert.match(problems.join(), /^claim_scopes\.a: a scope must/)
    }
    assert.match(claimsProblems({ ...none, claim_scopes: { b: "x" } }).join(), /^claim_scopes\.b: not a claim/)
  })
})
