import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { configOf, newRow, problemOf, rowsOf } from "../../dashboard/src/oauth/claims.ts"
import { changesOf, draftOf, fieldsOf, newClient, problemsOf } from "../../dashboard/src/oauth/fields.ts"
import { type OAuth2Client } from "../../src/domain/oauth2/OAuth2.ts"
import { claimsProblems } from "../../src/domain/oauth2/ClaimsConfig.ts"
import { clientProblems } from "../../src/domain/oauth2/ClientRules.ts"

const client: OAuth2Client = {
  client_id: "shop",
  client_name: "Shop",
  logo_uri: "",
  tos_uri: "",
  policy_uri: "",
  redirect_uris: ["https://a.example/cb", "com.example.app:/cb"],
  post_logout_redirect_uris: [],
  allowed_cors_origins: [],
  grant_types: ["authorization_code"],
  response_types: ["code"],
  scope: "openid email",
  audience: [],
  token_endpoint_auth_method: "client_secret_basic",
  skip_consent: false,
  metadata: {},
  created_at: null,
  updated_at: null
}

describe("the form of a client", () => {
  it("changes only what was changed", () => {
    const draft = draftOf(client)
    assert.deepStrictEqual(changesOf(client, draft), {})
    assert.deepStrictEqual(
      changesOf(client, { ...draft, redirects: " https://a.example/cb \n\ncom.example.app:/cb\n" }),
      {}
    )
    assert.deepStrictEqual(
      changesOf(client, { ...draft, name: "Other", redirects: "https://b.example/cb", scope: "openid  email profile" }),
      { client_name: "Other", redirect_uris: ["https://b.example/cb"], scope: "openid email profile" }
    )
    // A field that is emptied is a change.
    assert.deepStrictEqual(changesOf({ ...client, logo_uri: "https://a.example/l.png" }, draft), { logo_uri: "" })
  })

  it("registers what the service accepts, of every kind, without what is not filled in", () => {
    const draft = { ...draftOf(undefined), redirects: "https://a.example/cb" }
    for (const kind of ["server", "public", "machine"] as const) {
      const fields = newClient(kind, draft)
      assert.deepStrictEqual(clientProblems(fields as never), [])
      assert.notProperty(fields, "logo_uri")
      assert.notProperty(fields, "post_logout_redirect_uris")
    }
    assert.property(problemsOf("server", draftOf(undefined)), "redirects")
    assert.deepStrictEqual(problemsOf("machine", draftOf(undefined)), {})
    assert.deepStrictEqual(problemsOf("public", draft), {})
    assert.strictEqual(fieldsOf(draft).scope, "openid email profile")
  })
})

describe("the rows of claims", () => {
  /** Not one that the OAuth 2.0 server sets itself, such as `aud`. */
  const name = fc
    .stringMatching(/^[a-z]{1,6}$/)
    .filter(
      (claim) =>
        claimsProblems({ id_token_claims: { [claim]: "x" }, access_token_claims: { [claim]: "x" } }).length === 0
    )
  const claims = fc.dictionary(name, fc.constantFrom("{{id}}", "x", "{{traits.name}}"), { maxKeys: 5 })
  it("keep a configuration as it is", () => {
    fc.assert(
      fc.property(
        claims,
        claims,
        fc.constantFrom("billing", "email"),
        (id_token_claims, access_token_claims, scope) => {
          const first = Object.keys({ ...id_token_claims, ...access_token_claims })[0]
          const config = {
            id_token_claims,
            access_token_claims,
            ...(first === undefined ? {} : { claim_scopes: { [first]: scope } })
          }
          const rows = rowsOf(config)
          assert.deepStrictEqual(configOf(rows), config)
          assert.isUndefined(problemOf(rows))
          assert.deepStrictEqual(claimsProblems(configOf(rows)), [])
        }
      )
    )
  })
  it("are refused where a configuration would lose one", () => {
    const row = { ...newRow("id"), name: "plan", template: "x" }
    assert.include(problemOf([newRow("access")]), "no name")
    assert.include(problemOf([row, { ...row, name: " plan" }]), "twice")
    assert.include(problemOf([row, { ...row, token: "access", scope: "billing" }]), "same scope")
    assert.isUndefined(problemOf([row, { ...row, token: "access" }]))
  })
})
