import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { URI } from "otpauth"
import { accountOf, adminVerdict, type Identity } from "../../../src/domain/identity/Identity.ts"
import { asSwitched, signInParameters } from "../../../src/domain/oauth2/OAuth2.ts"
import { isoTime } from "../../../src/domain/text/IsoTime.ts"
import { clientProblems, metadataProblems } from "../../../src/domain/oauth2/ClientRules.ts"
import { otpauthUri, webAuthnIds } from "../../../src/domain/identity/SecondFactors.ts"

const ada: Identity = {
  id: "0b8c7a1e-5e0e-4c3b-9a55-6f3a4a1d2c11",
  state: "active",
  schema_id: "default",
  traits: { email: "Ada@Example.com" },
  metadata_public: {},
  addresses: [{ value: "Ada@Example.com", verified: true }],
  created_at: null,
  updated_at: null
}
const unverified = { ...ada, addresses: [{ value: "ada@example.com", verified: false }] }

describe("adminVerdict", () => {
  const byEmail = new Set(["ada@example.com"])
  it.each<[string, ReadonlySet<string>, Identity, string]>([
    ["an id", new Set([ada.id]), ada, "admin"],
    ["a verified address, in any case", byEmail, ada, "admin"],
    ["an address that is not verified", byEmail, unverified, "unverified"],
    ["an address that is only claimed", byEmail, { ...ada, addresses: [] }, "unverified"],
    ["the role", new Set(), { ...unverified, metadata_public: { svc_role: "admin" } }, "admin"],
    ["another role", new Set(), { ...ada, metadata_public: { svc_role: ["admin"] } }, "other"],
    ["a role in the traits", new Set(), { ...ada, traits: { svc_role: "admin" } }, "other"],
    ["no administrators", new Set(), ada, "other"],
    ["an inactive identity", new Set([ada.id]), { ...ada, state: "inactive" }, "other"]
  ])("%s", (_, admins, identity, verdict) => assert.strictEqual(adminVerdict(admins, identity), verdict))
})

describe("accountOf", () => {
  it("returns the e-mail address, else the id", () => {
    assert.strictEqual(accountOf(ada), "Ada@Example.com")
    assert.strictEqual(accountOf({ ...ada, traits: { email: 3 } }), "Ada@Example.com")
    assert.strictEqual(accountOf({ ...ada, traits: {}, addresses: [] }), ada.id)
  })
})

describe("otpauthUri", () => {
  const secret = "OIISD5SSUFNTG4BYQGXJIKDDQFIHU7HF"
  it("is parsed correctly by a library", () => {
    const totp = URI.parse(otpauthUri({ issuer: "Größe & Söhne", account: "a+b@example.com", secret }))
    assert.deepInclude(totp, { issuer: "Größe & Söhne", label: "a+b@example.com", algorithm: "SHA1", digits: 6 })
    assert.deepInclude(totp, { period: 30 })
    assert.strictEqual(totp.secret.base32, secret)
  })

  it("can't be given another secret by the account's name", { timeout: 30_000 }, () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (issuer, account) => {
        const uri = new URL(otpauthUri({ issuer, account, secret }))
        assert.deepStrictEqual(uri.searchParams.getAll("secret"), [secret])
        assert.strictEqual(uri.pathname.split(":").length, 2)
        assert.strictEqual(uri.hash, "")
      })
    )
    assert.notInclude(otpauthUri({ issuer: "a:b", account: "x?secret=AAAA&y#z\r\nX: 1", secret }), "secret=AAAA")
  })
})

describe("webAuthnIds", () => {
  const bytes = new Uint8Array([0xfb, 0xff, 0, 1, 2, 3, 0xbe])
  const spelled = (encoding: BufferEncoding) => Buffer.from(bytes).toString(encoding)
  it.each([spelled("base64url"), spelled("base64"), spelled("hex"), spelled("hex").toUpperCase()])("%s", (text) =>
    assert.deepInclude(webAuthnIds(text), bytes)
  )
  it("prefers hex to base64url", () => {
    assert.deepStrictEqual(
      webAuthnIds("abcd").map((id) => id.length),
      [2, 3]
    )
  })
  it.each(["", "a b", "é", "a\0", "=", "x".repeat(4000), '{"id":1}'])("%j is not an id", (text) =>
    assert.deepStrictEqual(webAuthnIds(text), [])
  )
})

describe("signInParameters", () => {
  const parameters = (query: string) => signInParameters(`https://auth.example/oauth2/auth?client_id=a&${query}`)
  it("reads prompt and max_age", () => {
    assert.deepStrictEqual(parameters(""), { silent: false, reauthenticate: false, maxAge: undefined })
    assert.deepStrictEqual(parameters("prompt=login+consent"), {
      silent: false,
      reauthenticate: true,
      maxAge: undefined
    })
    assert.isTrue(parameters("prompt=select_account").reauthenticate)
    assert.deepStrictEqual(parameters("prompt=none&max_age=0"), { silent: true, reauthenticate: false, maxAge: 0 })
    for (const maxAge of ["-1", "1e3", "x", "1".repeat(30)]) {
      assert.isUndefined(parameters(`max_age=${maxAge}`).maxAge, maxAge)
    }
    assert.deepStrictEqual(signInParameters("not a URL"), { silent: false, reauthenticate: false, maxAge: undefined })
  })
})

it("asSwitched marks a request whose prompt=login is not the client's", () => {
  const switched = asSwitched("https://auth.example/oauth2/auth?client_id=a&prompt=login")
  assert.isFalse(signInParameters(switched).reauthenticate)
})

describe("clientProblems", () => {
  it("accepts a complete client", () => {
    assert.deepStrictEqual(
      clientProblems({
        client_name: "Shop",
        logo_uri: "https://shop.example/l.png",
        tos_uri: "",
        redirect_uris: ["https://shop.example/cb", "com.example.shop:/cb", "http://127.0.0.1:5000/cb"],
        grant_types: ["authorization_code"],
        scope: "openid offline",
        allowed_cors_origins: ["https://shop.example", "http://localhost:5000"],
        token_endpoint_auth_method: "none",
        skip_consent: true,
        metadata: { skip_consent: true, any: [1, { a: null }] }
      }),
      []
    )
  })
  it.each<[string, unknown]>([
    ["client_secret", "mine"],
    ["owner", "me"],
    ["constructor", "x"],
    ["client_name", 3],
    ["client_name", "a\u0000"],
    ["client_name", "x".repeat(2001)],
    ["client_id", "a b"],
    ["logo_uri", "javascript:alert(1)"],
    ["policy_uri", "ftp://a.example/"],
    ["redirect_uris", "https://a.example/"],
    ["redirect_uris", ["javascript:alert(1)"]],
    ["redirect_uris", ["data:text/html,x"]],
    ["redirect_uris", ["/relative"]],
    ["redirect_uris", ["https://a.example/#x"]],
    ["redirect_uris", Array.from({ length: 101 }, () => "https://a.example/")],
    ["allowed_cors_origins", ["https://a.example/path"]],
    ["allowed_cors_origins", ["*"]],
    ["grant_types", [1]],
    ["token_endpoint_auth_method", "magic"],
    ["token_endpoint_auth_signing_alg", "none"],
    ["token_endpoint_auth_signing_alg", "HS256"],
    ["skip_consent", "yes"],
    ["metadata", []],
    ["metadata", { skip_consent: "yes" }],
    ["jwks", "{}"]
  ])("rejects %s: %j", (name, value) => assert.lengthOf(clientProblems({ [name]: value }), 1))
})

describe("metadataProblems", () => {
  it("accepts null, which removes a name", () => {
    assert.deepStrictEqual(metadataProblems({ skip_consent: null, "a/b~c": null }), [])
  })
  it("rejects metadata that can't be stored", () => {
    assert.lengthOf(metadataProblems({ "": 1 }), 1)
    assert.lengthOf(metadataProblems({ "a\n": 1 }), 1)
    assert.lengthOf(metadataProblems({ a: "\0" }), 1)
    assert.lengthOf(metadataProblems({ a: "x".repeat(17_000) }), 1)
    const deep = JSON.parse("[".repeat(200_000) + "]".repeat(200_000)) as unknown
    assert.lengthOf(metadataProblems({ deep }), 1)
    assert.lengthOf(clientProblems({ jwks: { deep } }), 1)
  })
})

describe("isoTime", () => {
  it("includes milliseconds", () => {
    assert.strictEqual(isoTime("2026-11-21T17:01:30.891387909Z"), "2026-11-21T17:01:30.891Z")
    assert.strictEqual(isoTime("2026-11-21T17:01:30+01:00"), "2026-11-21T16:01:30.000Z")
    assert.strictEqual(isoTime("soon"), "soon")
    assert.isNull(isoTime(null))
  })
})
