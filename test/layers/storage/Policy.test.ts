import { assert, describe, it } from "vitest"
import { evaluatePolicy, isPublic } from "../../../src/layers/storage/endpoint/policy/Policy.ts"
import { parsePolicy } from "../../../src/layers/storage/endpoint/policy/Document.ts"
import { matchesWildcards } from "../../../src/layers/storage/endpoint/policy/Conditions.ts"

type Statement = Readonly<Record<string, unknown>>

const policy = (...statements: ReadonlyArray<Statement>) =>
  JSON.stringify({ Version: "2012-10-17", Statement: statements.map(filledIn) })

const filledIn = (statement: Statement) => ({
  Effect: "Allow",
  ...("NotPrincipal" in statement ? {} : { Principal: "*" }),
  ...statement
})

const anything = "arn:aws:s3:::b/*"

const verdict = (
  text: string,
  action = "s3:GetObject",
  resource = "arn:aws:s3:::b/k",
  context: Readonly<Record<string, string>> = {},
  by: "owner" | "anonymous" = "anonymous"
) => evaluatePolicy(parsePolicy(text, "b"), { by, action, resource, context: new Map(Object.entries(context)) })

const refusal = (text: string) => {
  try {
    parsePolicy(text, "b")
  } catch (cause) {
    const { code, message } = cause as { readonly code: string; readonly message: string }
    assert.strictEqual(code, "MalformedPolicy")
    return message
  }
  return "accepted"
}

describe("evaluating a policy", () => {
  it("matches actions and resources with wildcards", () => {
    const read = policy({ Action: ["s3:Get*"], Resource: "arn:aws:s3:::b/public/*" })
    assert.strictEqual(verdict(read, "s3:GetObject", "arn:aws:s3:::b/public/a/b"), "Allow")
    assert.strictEqual(verdict(read, "s3:getobjectacl", "arn:aws:s3:::b/public/"), "Allow")
    assert.isUndefined(verdict(read, "s3:GetObject", "arn:aws:s3:::b/Public/a"))
    assert.isUndefined(verdict(read, "s3:PutObject", "arn:aws:s3:::b/public/a"))
    assert.strictEqual(verdict(policy({ Action: "s3:*", Resource: "*" }), "s3:ListBucket", "arn:aws:s3:::b"), "Allow")
    const question = policy({ Action: "s3:GetObject", Resource: "arn:aws:s3:::b/?.txt" })
    assert.strictEqual(verdict(question, "s3:GetObject", "arn:aws:s3:::b/a.txt"), "Allow")
    assert.isUndefined(verdict(question, "s3:GetObject", "arn:aws:s3:::b/ab.txt"))
  })

  it("takes several statements with an empty Sid, as clients write them", () => {
    const everyone = { Sid: "", Principal: { AWS: ["*"] } }
    const download = policy(
      { ...everyone, Action: ["s3:GetBucketLocation", "s3:ListBucket"], Resource: ["arn:aws:s3:::b"] },
      { ...everyone, Action: ["s3:GetObject"], Resource: [anything] }
    )
    assert.strictEqual(verdict(download), "Allow")
    assert.strictEqual(verdict(download, "s3:ListBucket", "arn:aws:s3:::b"), "Allow")
    assert.isUndefined(verdict(download, "s3:PutObject"))
  })

  it("gives Deny precedence in any order, even for the owner", () => {
    const allow = { Action: "s3:*", Resource: anything }
    const deny = { Effect: "Deny", Action: "s3:DeleteObject", Resource: anything }
    for (const text of [policy(allow, deny), policy(deny, allow)]) {
      assert.strictEqual(verdict(text, "s3:DeleteObject"), "Deny")
      assert.strictEqual(verdict(text, "s3:DeleteObject", undefined, {}, "owner"), "Deny")
      assert.strictEqual(verdict(text, "s3:PutObject"), "Allow")
    }
  })

  it("supports NotAction, NotResource and NotPrincipal", () => {
    const not = { Effect: "Deny", NotAction: "s3:GetObject", NotResource: "arn:aws:s3:::b/open/*" }
    assert.strictEqual(verdict(policy(not), "s3:PutObject", "arn:aws:s3:::b/x"), "Deny")
    assert.isUndefined(verdict(policy(not), "s3:GetObject", "arn:aws:s3:::b/x"))
    assert.isUndefined(verdict(policy(not), "s3:PutObject", "arn:aws:s3:::b/open/x"))
    const others = {
      Effect: "Deny",
      NotPrincipal: { AWS: "arn:aws:iam::000000000000:root" },
      Action: "s3:*",
      Resource: anything
    }
    assert.strictEqual(verdict(policy(others)), "Deny")
    assert.isUndefined(verdict(policy(others), undefined, undefined, {}, "owner"))
  })

  it("supports all spellings of the principal *, and the owner", () => {
    for (const Principal of ["*", { AWS: "*" }, { AWS: ["*"] }]) {
      assert.strictEqual(verdict(policy({ Principal, Action: "s3:GetObject", Resource: anything })), "Allow")
    }
    const mine = policy({ Principal: { AWS: ["000000000000"] }, Action: "s3:GetObject", Resource: anything })
    assert.isUndefined(verdict(mine))
    assert.strictEqual(verdict(mine, undefined, undefined, {}, "owner"), "Allow")
  })

  it.each<[string, string, unknown, Readonly<Record<string, string>>, boolean]>([
    ["StringEquals", "s3:prefix", ["a/", "b/"], { "s3:prefix": "b/" }, true],
    ["StringEquals", "s3:prefix", "a/", {}, false],
    ["StringEqualsIfExists", "s3:prefix", "a/", {}, true],
    ["StringNotEquals", "s3:prefix", ["a/", "b/"], { "s3:prefix": "b/" }, false],
    ["StringNotEquals", "s3:prefix", "a/", {}, true],
    ["StringLike", "aws:Referer", "https://*.example.com/*", { "aws:referer": "https://a.example.com/x" }, true],
    ["StringNotLike", "aws:Referer", "https://*", { "aws:referer": "http://a" }, true],
    ["StringEqualsIgnoreCase", "aws:UserAgent", "CURL", { "aws:useragent": "curl" }, true],
    ["IpAddress", "aws:SourceIp", ["10.0.0.0/8", "2001:db8::/32"], { "aws:sourceip": "::ffff:10.1.2.3" }, true],
    ["IpAddress", "aws:SourceIp", "10.0.0.1", { "aws:sourceip": "10.0.0.2" }, false],
    ["NotIpAddress", "aws:SourceIp", "10.0.0.0/8", { "aws:sourceip": "2001:db8::1" }, true],
    ["Bool", "aws:SecureTransport", false, { "aws:securetransport": "false" }, true],
    ["Bool", "aws:SecureTransport", "true", { "aws:securetransport": "false" }, false],
    ["NumericLessThanEquals", "s3:max-keys", 10, { "s3:max-keys": "10" }, true],
    ["NumericGreaterThan", "s3:max-keys", "10", { "s3:max-keys": "9" }, false],
    ["DateGreaterThan", "aws:CurrentTime", "2026-01-01T00:00:00Z", { "aws:currenttime": "2026-01-02T00:00:00Z" }, true],
    ["Null", "aws:Referer", "true", {}, true],
    ["Null", "aws:Referer", "false", {}, false],
    ["ArnLike", "aws:PrincipalArn", "arn:aws:iam::*:root", { "aws:principalarn": "arn:aws:iam::0:root" }, true]
  ])("%s %s %j with %j: %s", (operator, key, value, context, holds) => {
    const text = policy({ Action: "s3:GetObject", Resource: anything, Condition: { [operator]: { [key]: value } } })
    assert.strictEqual(verdict(text, undefined, undefined, context), holds ? "Allow" : undefined)
  })
})

describe("an invalid policy", () => {
  const good = { Action: "s3:GetObject", Resource: anything }
  it.each<[string, string | ReadonlyArray<Statement>, RegExp]>([
    ["invalid JSON", "{", /valid JSON/],
    ["a list", "[]", /valid JSON/],
    ["no statement", "{}", /Statement/],
    ["no statements", '{"Statement":[]}', /Statement/],
    ["another version", '{"Version":"2020-01-01","Statement":[{}]}', /version/],
    ["an unknown field", [{ ...good, Actions: "x" }], /Unknown field Actions/],
    ["no effect", [{ ...good, Effect: "allow" }], /Invalid effect/],
    ["no action", [{ Resource: anything }], /Missing required field Action/],
    ["both kinds of action", [{ ...good, NotAction: "s3:*" }], /mutually exclusive/],
    ["an unknown action", [{ ...good, Action: "s3:GetObjects" }], /invalid action: s3:getobjects/],
    ["another service's action", [{ ...good, Action: "ec2:Start" }], /invalid action/],
    ["another bucket", [{ ...good, Resource: "arn:aws:s3:::c/*" }], /invalid resource/],
    ["a bucket instead of an object", [{ ...good, Resource: "arn:aws:s3:::b" }], /does not apply/],
    [
      "an object where a bucket is meant",
      [{ ...good, Action: "s3:ListBucket", Resource: "arn:aws:s3:::b/k" }],
      /does not apply/
    ],
    ["an unknown user", [{ ...good, Principal: { AWS: "arn:aws:iam::1:user/x" } }], /Invalid principal/],
    ["an unknown kind of principal", [{ ...good, Principal: { Service: "x" } }], /Invalid principal/],
    ["an unknown operator", [{ ...good, Condition: { Equals: { "aws:SourceIp": "1.1.1.1" } } }], /Condition type/],
    [
      "a prototype's operator",
      [{ ...good, Condition: { constructor: { "aws:SourceIp": "1.1.1.1" } } }],
      /Condition type/
    ],
    ["an unknown key", [{ ...good, Condition: { StringEquals: { "aws:Foo": "1" } } }], /condition key/],
    ["a bad network", [{ ...good, Condition: { IpAddress: { "aws:SourceIp": "10.0.0.0/99" } } }], /Invalid value/],
    ["a variable", [{ ...good, Resource: "arn:aws:s3:::b/${aws:username}/*" }], /invalid resource/],
    [
      "the same Sid twice",
      [
        { ...good, Sid: "a" },
        { ...good, Sid: "a" }
      ],
      /unique/
    ],
    ["Allow for all but one", [{ ...good, NotPrincipal: "*" }], /NotPrincipal/]
  ])("%s", (_, given, message) => {
    assert.match(refusal(typeof given === "string" ? given : policy(...given)), message)
  })

  it("more than 20 KiB", () => {
    const statement = (count: number) =>
      policy({ ...good, Resource: Array.from({ length: count }, (_, i) => `arn:aws:s3:::b/${i}/*`) })
    assert.strictEqual(refusal(statement(500)), "accepted")
    assert.match(refusal(statement(1500)), /maximum allowed document size/)
  })
})

describe("wildcards", () => {
  it("match whole texts, fast for any pattern", () => {
    for (const [pattern, text, match] of [
      ["", "", true],
      ["*", "", true],
      ["a*", "a", true],
      ["*a", "ba", true],
      ["a?c*e", "abcde", true],
      ["a?c", "ac", false],
      ["a*b*c", "axxbyyc", true],
      ["a*b*c", "axxbyy", false]
    ] as const) {
      assert.strictEqual(matchesWildcards(pattern, text), match, `${pattern} ${text}`)
    }
    assert.isFalse(matchesWildcards(`${"*a".repeat(200)}b`, "a".repeat(1000)))
  })
  it("recognizes public policies", () => {
    const open = { Action: "s3:GetObject", Resource: anything }
    assert.isTrue(isPublic(parsePolicy(policy(open), "b")))
    const near = { ...open, Condition: { IpAddress: { "aws:SourceIp": "10.0.0.0/8" } } }
    assert.isFalse(isPublic(parsePolicy(policy(near), "b")))
  })
})
