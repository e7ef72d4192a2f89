import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type ClaimSource, resolveClaims, templateProblems } from "../../../src/domain/oauth2/ClaimsTemplate.ts"
import { type JsonObject } from "../../../src/domain/text/JsonObject.ts"

const ada: ClaimSource = {
  id: "0b8c7a1e-5e0e-4c3b-9a55-6f3a4a1d2c11",
  traits: { email: "ada@example.com", name: { first: "Ada", last: "Ω <b>" }, tags: ["a", "b"], none: null, no: false },
  metadata_public: { plan: "pro", level: 3, roles: ["admin"], "with-dash": 0, limits: { rows: 10 } }
}
const of = (template: string) => resolveClaims({ claim: template }, ada)["claim"]

describe("resolveClaims", () => {
  it.each<[string, unknown]>([
    ["{{id}}", ada.id],
    ["{{traits.email}}", "ada@example.com"],
    ["{{ traits.email }}", "ada@example.com"],
    ["{{traits.name.first}}", "Ada"],
    ["{{traits.name}}", { first: "Ada", last: "Ω <b>" }],
    ["{{traits.tags}}", ["a", "b"]],
    ["{{traits.tags.1}}", "b"],
    ["{{traits.no}}", false],
    ["{{metadata_public.level}}", 3],
    ["{{metadata_public.with-dash}}", 0],
    ["{{metadata_public.roles}}", ["admin"]],
    ["user:{{id}}", `user:${ada.id}`],
    ["{{traits.name.first}} {{traits.name.last}}", "Ada Ω <b>"],
    ["{{metadata_public.plan}}-{{metadata_public.level}}-{{traits.no}}", "pro-3-false"],
    ["limits={{metadata_public.limits}}", 'limits={"rows":10}'],
    ["{{{id}}}", `{${ada.id}}`],
    ["plain text", "plain text"],
    ["", ""]
  ])("%s", (template, value) => assert.deepStrictEqual(of(template), value))

  it.each([
    "{{traits.missing}}",
    "{{traits.none}}",
    "{{traits.email.length}}",
    "{{traits.toString}}",
    "{{traits.tags.length}}",
    "{{traits.constructor}}",
    "{{metadata_public.roles.9}}",
    "Hello {{traits.missing}}"
  ])("leaves out the claim of %s", (template) => {
    assert.deepStrictEqual(resolveClaims({ gone: template, kept: "{{id}}" }, ada), { kept: ada.id })
  })

  it("does not resolve templates within values", () => {
    const eve = { ...ada, traits: { name: "{{metadata_public.plan}}" } }
    assert.deepStrictEqual(resolveClaims({ a: "{{traits.name}}", b: "x {{traits.name}}" }, eve), {
      a: "{{metadata_public.plan}}",
      b: "x {{metadata_public.plan}}"
    })
  })

  it("never throws, and returns values of the source", () => {
    fc.assert(
      fc.property(fc.string(), (template) => {
        if (templateProblems({ a: template }, "x").length > 0) return
        const value = of(template)
        if (!template.includes("{{")) assert.strictEqual(value, template)
      })
    )
  })
})

describe("templateProblems", () => {
  const problems = (templates: JsonObject) => templateProblems(templates, "id_token_claims")

  it("accepts valid templates", () => {
    assert.deepStrictEqual(
      problems({ plan: "{{metadata_public.plan}}", "https://a.example/role": "{{traits.r}}", é: "" }),
      []
    )
  })

  it.each(
    "iss sub aud exp iat nbf jti rat auth_time nonce at_hash c_hash acr amr azp sid scope scp client_id ext".split(" ")
  )("rejects the reserved %s", (name) => assert.match(problems({ [name]: "x" }).join(), /sets this claim itself/))

  it.each<[string, unknown]>([
    ["other sources", "{{traits}}"],
    ["the source itself", "{{metadata_public}}"],
    ["secrets", "{{metadata_admin.x}}"],
    ["steps into the id", "{{id.x}}"],
    ["prototypes", "{{traits.__proto__}}"],
    ["empty steps", "{{traits..a}}"],
    ["nothing", "{{}}"],
    ["code", "{{traits.a + 1}}"],
    ["an open brace", "{{traits.a"],
    ["a closing brace", "a}}"],
    ["numbers", 3],
    ["null", null],
    ["objects", { a: "b" }],
    ["NUL", "a\0b"],
    ["half surrogate pairs", "\ud800"],
    ["1,001 characters", "x".repeat(1001)]
  ])("rejects %s", (_, template) => assert.lengthOf(problems({ claim: template }), 1))

  it("rejects invalid names", () => {
    for (const name of ["", "x".repeat(101), "a\nb", "\ud800"]) assert.lengthOf(problems({ [name]: "x" }), 1, name)
    assert.lengthOf(problems(JSON.parse('{"__proto__": "x"}') as JsonObject), 1)
    assert.match(problems(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`c${i}`, "x"]))).join(), /100/)
  })

  it("reports each problem once, by name", () => {
    assert.deepStrictEqual(problems({ sub: "x", ok: "{{id}}", bad: 1 }), [
      "id_token_claims.sub: the OAuth 2.0 server sets this claim itself",
      "id_token_claims.bad: a template must be a string"
    ])
  })
})
