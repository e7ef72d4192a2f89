import { createRemoteJWKSet, jwtVerify } from "jose"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, sql } from "../../../support/client.ts"
import { callback, refused } from "../../../support/identity/signIn.ts"
import {
  ageSessions,
  makeParty,
  makePerson,
  patchPerson,
  type Person,
  startProvider
} from "../../../support/oauth2/conformance.ts"

let service: Awaited<ReturnType<typeof startProvider>>
let party: Awaited<ReturnType<typeof makeParty>>
let person: Person
beforeAll(async () => {
  service = await startProvider()
  party = await makeParty(service)
})
afterAll(() => service[Symbol.asyncDispose]())

type Parameters = Readonly<Record<string, string | undefined>>

const traits = {
  name: { first: "Ann", last: "Example" },
  nickname: "ann",
  preferred_username: "ann",
  profile: "https://ann.example.com",
  picture: "https://ann.example.com/me.png",
  website: "https://ann.example.com",
  gender: "female",
  birthdate: "1990-01-31",
  zoneinfo: "Europe/Vienna",
  locale: "de-AT",
  address: { formatted: "1 Road, Town", country: "AT" },
  phone_number: "+43 1 234567"
}
const profile = ["name", "given_name", "family_name", "nickname", "preferred_username", "profile", "picture"]
const ofScope = {
  profile: [...profile, "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at"],
  email: ["email", "email_verified"],
  address: ["address"],
  phone: ["phone_number"]
}

const userinfoOf = async (scope: string) => {
  await patchPerson(service, person.id, { traits })
  const { tokens } = await party.signIn(person, { scope })
  return (await party.userinfo(tokens.access_token)).body
}

/** A request with more parameters succeeds as one without. */
const succeeds = (more: Parameters) => async () => {
  assert.strictEqual((await party.signIn(person, more)).claims.sub, person.id)
}

const errorOf = async (more: Parameters) => {
  const { query, url } = await party.authorize(person, more)
  assert.strictEqual(`${url.origin}${url.pathname}`, callback, url.href)
  assert.isUndefined(query["code"])
  return query["error"]
}

const reused = async (ageOfUse: number) => {
  const { claims, parameters, tokens, url } = await party.signIn(person)
  assert.strictEqual((await party.userinfo(tokens.access_token)).body["sub"], claims.sub)
  await sql(
    service,
    `update svc.oauth2_items set consumed_at = consumed_at - make_interval(secs => $1::int) where consumed_at is not null`,
    [ageOfUse]
  )
  assert.strictEqual(await refused(party.exchange(url, parameters)), "invalid_grant")
  assert.strictEqual((await party.userinfo(tokens.access_token)).status, 401)
}

/** The modules of the plan, by their names; each with a person who is not signed in. */
const modules: Readonly<Record<string, () => Promise<void>>> = {
  "oidcc-server": async () => {
    const { claims, query, tokens } = await party.signIn(person)
    const now = Date.now() / 1000
    assert.strictEqual(query["iss"], service.issuer)
    assert.deepInclude(claims, { iss: service.issuer, sub: person.id, aud: party.id })
    assert.closeTo(claims.iat, now, 60)
    assert.isAbove(claims.exp, now)
    assert.strictEqual(tokens.token_type.toLowerCase(), "bearer")
    assert.isDefined(tokens.expires_in)
  },
  "oidcc-response-type-missing": async () => {
    const { query, url } = await party.authorize(person, { response_type: undefined })
    assert.include([callback, `${service.issuer}/oauth2/error`], `${url.origin}${url.pathname}`)
    assert.include(["invalid_request", "unsupported_response_type"], query["error"])
  },
  "oidcc-userinfo-get": async () => {
    const { tokens } = await party.signIn(person)
    assert.strictEqual((await party.userinfo(tokens.access_token)).body["sub"], person.id)
  },
  "oidcc-userinfo-post-header": async () => {
    const { tokens } = await party.signIn(person)
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    const response = await fetch(`${service.issuer}/oauth2/userinfo`, { method: "POST", headers })
    assert.strictEqual(((await response.json()) as { readonly sub: string }).sub, person.id)
  },
  "oidcc-userinfo-post-body": async () => {
    const { tokens } = await party.signIn(person)
    const body = new URLSearchParams({ access_token: tokens.access_token })
    const response = await fetch(`${service.issuer}/oauth2/userinfo`, { method: "POST", body })
    assert.strictEqual(((await response.json()) as { readonly sub: string }).sub, person.id)
  },
  "oidcc-idtoken-signature": async () => {
    const { tokens } = await party.signIn(person)
    const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`))
    const { protectedHeader } = await jwtVerify(tokens.id_token ?? "", keys, {
      issuer: service.issuer,
      audience: party.id
    })
    assert.strictEqual(protectedHeader.alg, "RS256")
    assert.isDefined(protectedHeader.kid)
  },
  "oidcc-ensure-request-without-nonce-succeeds-for-code-flow": async () => {
    const { claims } = await party.signIn(person, { nonce: undefined })
    assert.isUndefined(claims.nonce)
  },
  ...Object.fromEntries(
    Object.entries(ofScope).map(([scope, names]) => [
      `oidcc-scope-${scope}`,
      async () => {
        const claims = await userinfoOf(`openid ${scope}`)
        assert.sameMembers(Object.keys(claims), ["sub", ...names])
      }
    ])
  ),
  "oidcc-scope-all": async () => {
    const claims = await userinfoOf("openid profile email address phone")
    assert.sameMembers(Object.keys(claims), ["sub", ...Object.values(ofScope).flat()])
    assert.deepInclude(claims, {
      email: person.email,
      email_verified: false,
      name: "Ann Example",
      address: traits.address,
      phone_number: traits.phone_number
    })
  },
  "oidcc-display-page": succeeds({ display: "page" }),
  "oidcc-display-popup": succeeds({ display: "popup" }),
  "oidcc-prompt-login": async () => {
    const first = await party.signIn(person)
    const second = await party.signIn(person, { prompt: "login" })
    assert.include(second.seen, "/auth/login")
    assert.strictEqual(second.claims.sub, first.claims.sub)
    assert.isAtLeast(Number(second.claims.auth_time), Number(first.claims.auth_time))
    assert.closeTo(Number(second.claims.auth_time), Date.now() / 1000, 20)
  },
  "oidcc-prompt-none-not-logged-in": async () => {
    assert.strictEqual(await errorOf({ prompt: "none" }), "login_required")
  },
  "oidcc-prompt-none-logged-in": async () => {
    const first = await party.signIn(person)
    const second = await party.signIn(person, { prompt: "none" })
    assert.deepStrictEqual(second.seen, [])
    assert.deepStrictEqual([second.claims.sub, second.claims.auth_time], [first.claims.sub, first.claims.auth_time])
  },
  "oidcc-max-age-1": async () => {
    const first = await party.signIn(person)
    // Another session of the same person, which the service has not seen yet.
    await ageSessions(service, person, 30)
    person.browser.setCookie("127.0.0.1", "idp_session", person.cookie.slice(person.cookie.indexOf("=") + 1))
    const second = await party.signIn(person, { max_age: "1" })
    assert.include(second.seen, "/auth/login")
    assert.isAtLeast(Number(second.claims.auth_time), Number(first.claims.auth_time))
    assert.closeTo(Number(second.claims.auth_time), Date.now() / 1000, 20)
  },
  "oidcc-max-age-10000": async () => {
    const first = await party.signIn(person)
    const second = await party.signIn(person, { max_age: "10000" })
    assert.notInclude(second.seen, "/auth/login")
    assert.deepStrictEqual([second.claims.sub, second.claims.auth_time], [first.claims.sub, first.claims.auth_time])
  },
  "oidcc-ensure-request-with-unknown-parameter-succeeds": succeeds({ extra: "foobar" }),
  "oidcc-id-token-hint": async () => {
    const { tokens } = await party.signIn(person)
    const second = await party.signIn(person, { prompt: "none", id_token_hint: tokens.id_token })
    assert.strictEqual(second.claims.sub, person.id)
  },
  "oidcc-login-hint": succeeds({ login_hint: "buffy@example.com" }),
  "oidcc-ui-locales": succeeds({ ui_locales: "se" }),
  "oidcc-claims-locales": succeeds({ claims_locales: "se" }),
  "oidcc-ensure-request-with-acr-values-succeeds": succeeds({ acr_values: "1 2" }),
  "oidcc-codereuse": () => reused(0),
  "oidcc-codereuse-30seconds": () => reused(31),
  "oidcc-ensure-registered-redirect-uri": async () => {
    const { page, url } = await party.authorize(person, { redirect_uri: `${callback}/not-registered` })
    assert.strictEqual(`${url.origin}${url.pathname}`, `${service.issuer}/oauth2/error`)
    assert.strictEqual(page.status, 400)
  },
  "oidcc-ensure-post-request-succeeds": async () => {
    assert.strictEqual((await party.signIn(person, {}, true)).claims.sub, person.id)
    const silent = await party.signIn(person, { prompt: "none" }, true)
    assert.deepStrictEqual(silent.seen, [])
  },
  "oidcc-server-client-secret-post": async () => {
    const posting = await makeParty(service, { token_endpoint_auth_method: "client_secret_post" })
    assert.strictEqual((await posting.signIn(person)).claims.sub, person.id)
  },
  "oidcc-request-uri-unsigned (not supported)": async () => {
    assert.strictEqual(await errorOf({ request_uri: "https://rp.example.com/request" }), "request_uri_not_supported")
  },
  "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported": async () => {
    assert.strictEqual(await errorOf({ request: unsigned({ response_type: "code" }) }), "request_not_supported")
  },
  "oidcc-ensure-request-object-with-redirect-uri (not supported)": async () => {
    const request = unsigned({ redirect_uri: "https://evil.example.com/cb", client_id: party.id })
    assert.strictEqual(await errorOf({ request }), "request_not_supported")
  },
  // Ignored, as the discovery document says; the claim belongs to a scope.
  "oidcc-claims-essential": async () => {
    const { tokens } = await party.signIn(person, { claims: '{"userinfo":{"name":{"essential":true}}}' })
    assert.deepStrictEqual((await party.userinfo(tokens.access_token)).body, { sub: person.id })
  },
  "oidcc-refresh-token": async () => {
    const scope = "openid offline_access"
    const { claims, tokens } = await party.signIn(person, { scope, prompt: "consent" })
    const [stranger, old] = [await makeParty(service), tokens.refresh_token ?? ""]
    assert.strictEqual(await refused(stranger.refresh(old)), "invalid_grant")
    const renewed = await party.refresh(old)
    const { aud, auth_time, iss, nonce, sub } = renewed.claims() ?? {}
    assert.deepStrictEqual([iss, sub, aud, auth_time], [claims.iss, claims.sub, claims.aud, claims.auth_time])
    assert.include([undefined, claims.nonce], nonce)
    assert.notStrictEqual(renewed.access_token, tokens.access_token)
    assert.strictEqual((await party.userinfo(renewed.access_token)).body["sub"], person.id)
  }
}

/** A request object with `alg` none. */
const unsigned = (payload: object) =>
  `${[{ alg: "none" }, payload].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.`

describe("OpenID Connect, plan Basic OP", () => {
  it.each(Object.keys(modules))("%s", async (name) => {
    person = await makePerson(service)
    await modules[name]?.()
  })

  it("says which parameters it ignores or refuses", async () => {
    const { json } = await ask(service, "GET /.well-known/openid-configuration")
    // By default, it is not supported.
    assert.notProperty(json, "request_parameter_supported")
    assert.deepInclude(json, {
      claims_parameter_supported: false,
      request_uri_parameter_supported: false
    })
  })
})

const endpoint = (path: string) => `${service.issuer}${path}`

/** An answer of the token endpoint to a form. */
const tokenAnswer = async (form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(endpoint("/oauth2/token"), { method: "POST", headers, body: new URLSearchParams(form) })
  const body = (await response.json()) as Readonly<Record<string, unknown>>
  return { status: response.status, headers: response.headers, error: body["error"], body }
}
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`
})

describe("authorization errors", () => {
  beforeAll(async () => {
    person = await makePerson(service)
    await party.signIn(person)
  })

  it.each<[string, Parameters, string]>([
    ["prompt=none with another value", { prompt: "none login" }, "invalid_request"],
    ["an unknown prompt", { prompt: "create" }, "invalid_request"],
    ["a negative max_age", { max_age: "-1" }, "invalid_request"],
    ["a max_age that is no number", { max_age: "soon" }, "invalid_request"],
    ["prompt=none that max_age=0 makes impossible", { prompt: "none", max_age: "0" }, "login_required"],
    ["a forged id_token_hint", { id_token_hint: "a.b.c" }, "invalid_request"],
    ["an unknown response type", { response_type: "none" }, "unsupported_response_type"],
    ["a scope that is not the client's", { scope: "openid orders:read" }, "invalid_scope"],
    ["PKCE with plain", { code_challenge: "a".repeat(43), code_challenge_method: "plain" }, "invalid_request"],
    ["a PKCE method without a challenge", { code_challenge_method: "S256" }, "invalid_request"],
    ["a resource that is not the client's", { resource: "https://other.example" }, "invalid_target"],
    ["a registration", { registration: "{}" }, "registration_not_supported"]
  ])("return %s to the client with state and iss", async (_name, more, error) => {
    const { parameters, query, url } = await party.authorize(person, more)
    assert.strictEqual(`${url.origin}${url.pathname}`, callback, url.href)
    assert.deepInclude(query, { error, state: parameters.get("state") ?? "", iss: service.issuer })
    assert.notProperty(query, "code")
  })

  it("use the response mode of the request, whichever part of the service answers", async () => {
    for (const prompt of ["none", "none login"]) {
      const stranger = await makePerson(service)
      const { page, url } = await party.authorize(stranger, { prompt, response_mode: "fragment" })
      assert.strictEqual(url.search, "", url.href)
      assert.isString(new URLSearchParams(url.hash.slice(1)).get("error"), page.text.slice(0, 200))
    }
  })

  it.each<[string, Parameters]>([
    ["an unknown client", { client_id: "unknown" }],
    ["no client", { client_id: undefined }],
    ["no redirect_uri", { redirect_uri: undefined, client_id: "unknown" }],
    ["a redirect_uri with a fragment", { redirect_uri: `${callback}#x` }],
    ["a redirect_uri of a client with another case", { redirect_uri: callback.replace("callback", "Callback") }]
  ])("stay at the service with %s", async (_name, more) => {
    const { page, url } = await party.authorize(person, more)
    assert.strictEqual(`${url.origin}${url.pathname}`, endpoint("/oauth2/error"))
    assert.strictEqual(page.status, 400)
  })

  it("refuse a parameter that is given twice", async () => {
    const { parameters } = await party.authorize(person)
    for (const name of ["state", "nonce", "scope", "prompt"]) {
      const query = new URLSearchParams(parameters)
      query.append(name, "one")
      query.append(name, "two")
      const { headers, status } = await fetch(`${endpoint("/oauth2/auth")}?${query}`, { redirect: "manual" })
      const location = new URL(headers.get("location") ?? "")
      assert.strictEqual(status, 303, name)
      assert.strictEqual(location.searchParams.get("error"), "invalid_request", `${name} ${location.href}`)
    }
  })
})

describe("a request", () => {
  it("with max_age=0 asks for a new sign-in, as prompt=login does", async () => {
    person = await makePerson(service)
    await party.signIn(person)
    const { claims, seen } = await party.signIn(person, { max_age: "0" })
    assert.include(seen, "/auth/login")
    assert.isDefined(claims.auth_time)
  })

  it("with prompt=select_account lets the person choose, and with prompt=consent asks for consent each time", async () => {
    person = await makePerson(service)
    await party.signIn(person)
    assert.include((await party.signIn(person, { prompt: "consent" })).seen, "/oauth2/consent")
    assert.include((await party.signIn(person, { prompt: "select_account" })).seen, "/auth/login")
  })

  it("that was answered before ends with an error in the response mode of the request", async () => {
    person = await makePerson(service)
    const { parameters } = await party.authorize(person)
    const places = { query: callback, fragment: callback, form_post: endpoint("/oauth2/error") }
    for (const [mode, place] of Object.entries(places)) {
      parameters.set("response_mode", mode)
      let last: URL | undefined
      const isApp = (to: URL) => {
        if (to.searchParams.has("verifier")) last = to
        return to.port === "5555"
      }
      await person.browser.go(`${endpoint("/oauth2/auth")}?${parameters}`, isApp)
      assert.isDefined(last)
      const { url } = await person.browser.go(last!, isApp)
      assert.strictEqual(`${url.origin}${url.pathname}`, place, `${mode} ${url.href}`)
      const answer = new URLSearchParams(mode === "fragment" ? url.hash.slice(1) : url.search)
      assert.isString(answer.get("error"), url.href)
      assert.strictEqual(url.search === "", mode === "fragment", url.href)
    }
  })

  it("gets the code in the fragment, if it asks for that", async () => {
    person = await makePerson(service)
    const { url, parameters } = await party.authorize(person, { response_mode: "fragment" })
    const back = new URLSearchParams(url.hash.slice(1))
    assert.isString(back.get("code"))
    assert.deepStrictEqual([back.get("state"), back.get("iss")], [parameters.get("state"), service.issuer])
  })
})

describe("the token endpoint", () => {
  it("refuses what the standard refuses, with its errors, and lets nobody keep the answer", async () => {
    person = await makePerson(service)
    const form = { grant_type: "authorization_code", code: "unknown", redirect_uri: callback }
    const own = basic(party.id, party.secret)
    const wrong = await tokenAnswer(form, basic(party.id, "wrong"))
    assert.deepStrictEqual([wrong.status, wrong.error], [401, "invalid_client"])
    assert.match(wrong.headers.get("www-authenticate") ?? "", /^Basic realm=/)
    assert.match(wrong.headers.get("cache-control") ?? "", /no-store/)
    const refusals: ReadonlyArray<
      readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, number, string]
    > = [
      ["an unknown code", form, own, 400, "invalid_grant"],
      [
        "an unknown grant type",
        { grant_type: "password", username: "a", password: "b" },
        own,
        400,
        "unsupported_grant_type"
      ],
      ["no grant type", { code: "x" }, own, 400, "invalid_request"],
      ["client credentials", { grant_type: "client_credentials" }, own, 400, "unsupported_grant_type"],
      [
        "two methods at once",
        { ...form, client_id: party.id, client_secret: party.secret },
        own,
        400,
        "invalid_request"
      ],
      ["no client", form, {}, 400, "invalid_request"],
      ["a client without its secret", { ...form, client_id: party.id }, {}, 401, "invalid_client"]
    ]
    for (const [name, given, headers, status, error] of refusals) {
      const answer = await tokenAnswer(given, headers)
      assert.deepStrictEqual([answer.status, answer.error], [status, error], `${name}: ${JSON.stringify(answer.body)}`)
    }
    const { url } = await party.authorize(person)
    const code = url.searchParams.get("code") ?? ""
    const other = await tokenAnswer({ ...form, code, redirect_uri: `${callback}/other` }, own)
    assert.deepStrictEqual([other.status, other.error], [400, "invalid_grant"])
    const right = await tokenAnswer({ ...form, code }, own)
    assert.strictEqual(right.status, 200, JSON.stringify(right.body))
    assert.match(right.headers.get("cache-control") ?? "", /no-store/)
    assert.isString(right.body["id_token"])
  })
})

describe("userinfo", () => {
  it("says by WWW-Authenticate why it refuses a token", async () => {
    const ask = (headers: Readonly<Record<string, string>>, query = "") =>
      fetch(`${endpoint("/oauth2/userinfo")}${query}`, { headers })
    const none = await ask({})
    assert.match(none.headers.get("www-authenticate") ?? "", /^Bearer/)
    const wrong = await ask({ authorization: "Bearer wrong" })
    assert.strictEqual(wrong.status, 401)
    assert.match(wrong.headers.get("www-authenticate") ?? "", /^Bearer .*error="invalid_token"/)
    person = await makePerson(service)
    const { tokens } = await party.signIn(person)
    const queried = await ask({}, `?access_token=${tokens.access_token}`)
    assert.isAtLeast(queried.status, 400)
    const right = await ask({ authorization: `Bearer ${tokens.access_token}` })
    assert.match(right.headers.get("content-type") ?? "", /^application\/json/)
    const idToken = await ask({ authorization: `Bearer ${tokens.id_token ?? ""}` })
    assert.strictEqual(idToken.status, 401)
  })
})

describe("a rotation of keys", () => {
  it("signs with a new key at once, and the old one still verifies tokens and hints", async () => {
    person = await makePerson(service)
    const before = await party.signIn(person)
    const rotated = await ask(service, "POST /api/oauth2/keys/rotate", { key: service.service_role })
    assert.strictEqual(rotated.status, 200, rotated.text)
    // Clients keep the keys that they have read for a while.
    const fresh = await makeParty(service)
    const after = await fresh.signIn(person)
    const keys = createRemoteJWKSet(new URL(endpoint("/.well-known/jwks.json")))
    const kids = await Promise.all(
      [before, after].map(async ({ claims, tokens }) => {
        const { protectedHeader } = await jwtVerify(tokens.id_token ?? "", keys, {
          issuer: service.issuer,
          audience: claims.aud
        })
        return protectedHeader.kid
      })
    )
    assert.lengthOf(new Set(kids), 2)
    const { query } = await party.authorize(person, { prompt: "none", id_token_hint: before.tokens.id_token })
    assert.isString(query["code"], JSON.stringify(query))
    assert.strictEqual((await party.userinfo(before.tokens.access_token)).status, 200)
  })
})
