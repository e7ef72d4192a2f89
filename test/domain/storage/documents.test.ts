import { Exit, Schema, type SchemaIssue } from "effect"
import { assert, describe, it } from "vitest"
import { BucketPolicy, CorsRules } from "../../../src/domain/storage/Bucket.ts"
import { CompletedParts } from "../../../src/domain/storage/Object.ts"
import { issueLines } from "../../../src/http/wire/RequestErrors.ts"

/** The issues as lines; empty if valid. */
const faults = (schema: Schema.Codec<unknown, unknown>, value: unknown): string => {
  const exit = Schema.decodeUnknownExit(schema)(value)
  if (Exit.isSuccess(exit)) return ""
  const failure = exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error as { issue: SchemaIssue.Issue }
  return issueLines(failure.issue).join("\n")
}

const statement = { Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: "arn:aws:s3:::b/*" }
const policy = { Version: "2012-10-17", Statement: [statement] }

describe("bucket policies", () => {
  it.each([
    [policy],
    [{ ...policy, Id: "x", Statement: statement }],
    [{ ...policy, Statement: [{ ...statement, Sid: "1", Principal: { AWS: ["*"] }, Action: ["s3:*"] }] }],
    [{ ...policy, Statement: [{ ...statement, Condition: { Bool: { "aws:SecureTransport": "false" } } }] }]
  ])("accepts %j unchanged", (value) => {
    assert.strictEqual(faults(BucketPolicy, value), "")
    assert.deepStrictEqual(Schema.decodeUnknownSync(BucketPolicy)(value) as unknown, value)
  })

  it("keeps unknown fields for the store", () => {
    const value = { ...policy, Extra: 1, Statement: [{ ...statement, More: ["x"] }] }
    assert.deepStrictEqual(Schema.decodeUnknownSync(BucketPolicy)(value) as unknown, value)
  })

  it.each([
    [{}, /^Version: Missing key/],
    [{ ...policy, Version: "2020-01-01" }, /^Version: /],
    [{ ...policy, Statement: [] }, /^Statement: /],
    [{ ...policy, Statement: "x" }, /^Statement: /],
    [{ ...policy, Statement: [{ ...statement, Effect: "allow" }] }, /^Statement\.0\.Effect: /],
    [{ ...policy, Statement: [{ ...statement, Principal: "me" }] }, /^Statement\.0\.Principal: /],
    [{ ...policy, Statement: [{ ...statement, NotAction: "s3:*" }] }, /^Statement\.0\.Action: .*either/],
    [{ ...policy, Statement: [{ Effect: "Allow", Principal: "*", Action: "s3:*" }] }, /^Statement\.0\.Resource: /],
    [{ ...policy, Statement: [{ ...statement, Action: [] }] }, /^Statement\.0\.Action/],
    [{ ...policy, Id: "x".repeat(20 * 1024) }, /20 KiB/]
  ])("rejects %j", (value, fault) => assert.match(faults(BucketPolicy, value), fault))
})

const rule = { AllowedOrigins: ["https://*.example.com"], AllowedMethods: ["GET"] }

describe("CORS rules", () => {
  it.each([
    [[]],
    [[rule]],
    [[{ ...rule, ID: "a", AllowedHeaders: ["*"], ExposeHeaders: ["ETag"], MaxAgeSeconds: 0 }]],
    [Array.from({ length: 100 }, () => rule)]
  ])("accepts %#", (value) => assert.strictEqual(faults(CorsRules, value), ""))

  it.each([
    [Array.from({ length: 101 }, () => rule), /100/],
    [[{ ...rule, AllowedOrigins: [] }], /^0\.AllowedOrigins: /],
    [[{ AllowedMethods: ["GET"] }], /^0\.AllowedOrigins: Missing/],
    [[{ ...rule, AllowedOrigins: ["*.*"] }], /^0\.AllowedOrigins\.0: /],
    [[{ ...rule, AllowedMethods: ["get"] }], /^0\.AllowedMethods\.0: /],
    [[{ ...rule, AllowedMethods: ["PATCH"] }], /^0\.AllowedMethods\.0: /],
    [[{ ...rule, AllowedHeaders: ["a b"] }], /^0\.AllowedHeaders\.0: /],
    [[{ ...rule, MaxAgeSeconds: 1.5 }], /^0\.MaxAgeSeconds: /],
    [[{ ...rule, MaxAgeSeconds: -1 }], /^0\.MaxAgeSeconds: /]
  ])("rejects %#", (value, fault) => assert.match(faults(CorsRules, value), fault))
})

describe("parts", () => {
  it.each([
    [[{ partNumber: 1, etag: "abc" }]],
    [
      [
        { partNumber: 2, etag: '"abc"' },
        { partNumber: 10_000, etag: "x-1" }
      ]
    ]
  ])("accepts %j", (value) => assert.strictEqual(faults(CompletedParts, value), ""))

  it.each([
    [[], /at least 1/],
    [[{ partNumber: 0, etag: "a" }], /^0\.partNumber: /],
    [[{ partNumber: 10_001, etag: "a" }], /^0\.partNumber: /],
    [[{ partNumber: "1", etag: "a" }], /^0\.partNumber: /],
    [[{ partNumber: 1 }], /^0\.etag: /],
    [[{ partNumber: 1, etag: 'a"b' }], /^0\.etag: /],
    [
      [
        { partNumber: 2, etag: "a" },
        { partNumber: 1, etag: "a" }
      ],
      /^1\.partNumber: .*ascend/
    ],
    [
      [
        { partNumber: 1, etag: "a" },
        { partNumber: 1, etag: "a" }
      ],
      /^1\.partNumber: .*ascend/
    ]
  ])("rejects %j", (value, fault) => assert.match(faults(CompletedParts, value), fault))
})
