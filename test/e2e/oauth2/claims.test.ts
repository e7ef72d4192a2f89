import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { makePerson } from "../../support/identity/idp.ts"
import { type Application, makeApplication, manage, signIn } from "../../support/identity/signIn.ts"
import { type FullStage, startStage } from "../../support/oauth2/signInSetup.ts"

let stage: FullStage
let application: Application
beforeAll(async () => {
  stage = await startStage()
  application = await makeApplication(stage, { scope: "openid offline email profile billing" })
})
afterAll(() => stage[Symbol.asyncDispose]())

const asked = "openid offline email profile billing"

/** Signs a new user in; returns the claims of the ID token, of userinfo, and of the access token. */
const claimsOf = async (scope: ReadonlyArray<string>, { requested = asked, verified = false } = {}) => {
  const person = await makePerson(stage.idp, {
    name: "Ada Lovelace",
    metadata_public: { plan: "pro", level: 3 },
    verified
  })
  const visitor = { person, browser: startBrowsing() }
  const tokens = await signIn(stage, visitor, application, { parameters: { scope: requested }, scope })
  const idToken: Readonly<Record<string, unknown>> = tokens.idClaims ?? {}
  const userinfo: Readonly<Record<string, unknown>> = await application.userinfo(tokens.access_token, person.id)
  const { ext } = await stage.introspect(tokens.access_token, application)
  return { person, idToken, userinfo, ext, tokens }
}

const about = new Set(["email", "email_verified", "name", "updated_at", "plan", "level", "tier"])
const only = (claims: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => about.has(name)))

describe("claims follow the granted scopes", () => {
  it.each([true, false])("with the default configuration (address verified: %s)", async (verified) => {
    const { idToken, person, userinfo } = await claimsOf(["openid", "email"], { verified })
    const expected = { email: person.email, email_verified: verified }
    assert.deepStrictEqual(only(idToken), expected)
    assert.deepStrictEqual(only(userinfo), expected)
  })

  it("with all that was requested", async () => {
    const { idToken, person } = await claimsOf(["openid", "email", "profile"])
    assert.deepInclude(only(idToken), { email: person.email, email_verified: false, name: "Ada Lovelace" })
    assert.isNumber(idToken["updated_at"])
  })

  it("without the scopes that the user deselected, or that were not requested", async () => {
    for (const how of [{}, { requested: "openid" }]) {
      const { idToken, userinfo } = await claimsOf(["openid"], how)
      assert.deepStrictEqual([only(idToken), only(userinfo)], [{}, {}])
    }
  })

  it("with claims and scopes of one's own", async () => {
    const config = {
      id_token_claims: {
        plan: "{{metadata_public.plan}}",
        level: "{{metadata_public.level}}",
        name: "Dr. {{traits.name}}"
      },
      access_token_claims: { tier: "{{metadata_public.plan}}", email: "{{traits.email}}" },
      claim_scopes: { plan: "billing", tier: "billing" }
    }
    assert.deepStrictEqual(await manage(stage, "PUT", "/claims-config", config), { status: 200, body: config })
    const few = await claimsOf(["openid"])
    assert.deepStrictEqual(only(few.idToken), { level: 3 })
    // Servers may leave out what is empty.
    assert.deepStrictEqual(few.ext ?? {}, {})
    const { ext, idToken, person } = await claimsOf(["openid", "billing", "profile", "email"], { verified: true })
    assert.deepInclude(only(idToken), {
      plan: "pro",
      level: 3,
      name: "Dr. Ada Lovelace",
      email: person.email,
      email_verified: true
    })
    assert.deepStrictEqual(ext, { tier: "pro", email: person.email })
  })
})

it("only the access token gives access to the user's rows", async () => {
  const { person, tokens } = await claimsOf(["openid"])
  const who = (token = "") =>
    ask(stage.service, "POST /v1/sql", {
      key: stage.service.service_role,
      token,
      body: { sql: "select current_setting('request.jwt.sub', true) as sub" }
    })
  assertRefused(await who(tokens.id_token), 401, "JWT_NOT_ACCESS_TOKEN")
  assert.deepInclude((await who(tokens.access_token)).json, { rows: [{ sub: person.id }] })
})
