import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketLifecycleCommand,
  DeleteBucketOwnershipControlsCommand,
  DeletePublicAccessBlockCommand,
  GetBucketEncryptionCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketOwnershipControlsCommand,
  GetObjectCommand,
  GetPublicAccessBlockCommand,
  HeadObjectCommand,
  type LifecycleRule,
  PutBucketEncryptionCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketOwnershipControlsCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
  type ServerSideEncryption
} from "@aws-sdk/client-s3"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, raw, refused, type S3, startS3 } from "../../support/storage/s3.ts"

const Bucket = "settings"
let s3: S3
beforeAll(async () => {
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket }))
})
afterAll(() => s3.stop())

describe("lifecycle rules", () => {
  const get = () => s3.client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))
  const put = (...Rules: ReadonlyArray<LifecycleRule>) =>
    s3.client.send(
      new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules: [...Rules] } })
    )
  const base = { ID: "r", Status: "Enabled", Filter: { Prefix: "" } } as const
  const days = { Expiration: { Days: 3 } }

  it("are stored as they were sent, with an ID", async () => {
    assert.strictEqual(await refused(get()), "404 NoSuchLifecycleConfiguration")
    const rules: ReadonlyArray<LifecycleRule> = [
      { ...base, ...days },
      {
        ID: "both",
        Status: "Disabled",
        Filter: { And: { Prefix: "logs/", Tags: [{ Key: "a", Value: "1" }], ObjectSizeGreaterThan: 5 } },
        Expiration: { Date: new Date("2030-01-01T00:00:00Z") }
      },
      { ID: "uploads", Status: "Enabled", Prefix: "old/", AbortIncompleteMultipartUpload: { DaysAfterInitiation: 2 } },
      { ID: "versions", Status: "Enabled", Filter: {}, NoncurrentVersionExpiration: { NoncurrentDays: 1 } }
    ]
    await put(...rules)
    const found = await get()
    assert.deepStrictEqual(found.Rules?.slice(0, 3), rules.slice(0, 3))
    assert.strictEqual(found.TransitionDefaultMinimumObjectSize, "all_storage_classes_128K")
    const { ID: _, ...unnamed } = base
    await put({ ...unnamed, ...days })
    assert.match((await get()).Rules?.[0]?.ID ?? "", /^[\w-]{30,}$/)
    await s3.client.send(new DeleteBucketLifecycleCommand({ Bucket }))
    assert.strictEqual(await refused(get()), "404 NoSuchLifecycleConfiguration")
  })

  it("are refused if they are invalid, or ask for more than there is", async () => {
    const tag = { Key: "a", Value: "1" }
    const cases: ReadonlyArray<readonly [LifecycleRule, string]> = [
      [{ ...base }, "400 InvalidRequest"],
      [{ ...base, Expiration: { Days: 0 } }, "400 InvalidArgument"],
      [{ ...base, Expiration: { Days: -1 } }, "400 InvalidArgument"],
      [{ ...base, Expiration: { Days: 1, Date: new Date(0) } }, "400 MalformedXML"],
      [{ ...base, Expiration: {} }, "400 MalformedXML"],
      [{ ...base, Expiration: { Date: new Date("2030-01-01T10:00:00Z") } }, "400 InvalidArgument"],
      [{ ...base, ...days, Prefix: "a" }, "400 MalformedXML"],
      [{ ID: "r", Status: "Enabled", ...days }, "400 MalformedXML"],
      [{ ...base, ...days, Status: "On" as "Enabled" }, "400 MalformedXML"],
      [{ ...base, ...days, ID: "i".repeat(256) }, "400 InvalidArgument"],
      [{ ...base, ...days, Filter: { Prefix: "a", Tag: tag } }, "400 MalformedXML"],
      [{ ...base, ...days, Filter: { Prefix: "é".repeat(513) } }, "400 InvalidRequest"],
      [{ ...base, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 0 } }, "400 InvalidArgument"],
      [
        { ...base, Filter: { Tag: tag }, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
        "400 InvalidRequest"
      ],
      [{ ...base, Transitions: [{ Days: 1, StorageClass: "GLACIER" }] }, "501 NotImplemented"]
    ]
    for (const [rule, error] of cases) {
      const given = await refused(put(rule)).catch(() => "accepted")
      assert.strictEqual(given, error, JSON.stringify(rule))
    }
    assert.strictEqual(await refused(put({ ...base, ...days }, { ...base, ...days })), "400 InvalidArgument")
    const many = Array.from({ length: 1001 }, (_, n) => ({ ...base, ...days, ID: `${n}` }))
    assert.strictEqual(await refused(put(...many)), "400 MalformedXML")
    for (const body of [
      "",
      "<LifecycleConfiguration/>",
      "<LifecycleConfiguration><Rule>x</Rule></LifecycleConfiguration>"
    ]) {
      const { code } = await call(s3, { method: "PUT", path: `/${Bucket}`, query: { lifecycle: "" }, body })
      assert.strictEqual(code, "MalformedXML", body)
    }
    assert.strictEqual(await refused(get()), "404 NoSuchLifecycleConfiguration")
    assert.strictEqual((await raw(s3, "GET", `/${Bucket}?lifecycle`)).status, 403)
  })
})

describe("the block of public access", () => {
  const get = () => s3.client.send(new GetPublicAccessBlockCommand({ Bucket }))
  const block = (given: object) =>
    s3.client.send(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration: given }))
  const publish = () =>
    s3.client.send(
      new PutBucketPolicyCommand({
        Bucket,
        Policy: JSON.stringify({
          Version: "2012-10-17",
          Statement: [{ Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: `arn:aws:s3:::${Bucket}/*` }]
        })
      })
    )
  const anonymous = async () => (await raw(s3, "GET", `/${Bucket}/k`)).status

  it("is not there at first, and holds once it is set", async () => {
    await s3.client.send(new PutObjectCommand({ Bucket, Key: "k", Body: "x" }))
    assert.strictEqual(await refused(get()), "404 NoSuchPublicAccessBlockConfiguration")
    await publish()
    assert.strictEqual(await anonymous(), 200)
    await block({ RestrictPublicBuckets: true })
    assert.strictEqual(await anonymous(), 403)
    assert.strictEqual((await s3.client.send(new GetObjectCommand({ Bucket, Key: "k" }))).ContentLength, 1)
    await publish()
    await block({ BlockPublicPolicy: true, BlockPublicAcls: true, IgnorePublicAcls: true })
    assert.deepStrictEqual((await get()).PublicAccessBlockConfiguration, {
      BlockPublicAcls: true,
      IgnorePublicAcls: true,
      BlockPublicPolicy: true,
      RestrictPublicBuckets: false
    })
    assert.strictEqual(await refused(publish()), "403 AccessDenied")
    assert.strictEqual(await anonymous(), 200, "the policy from before")
    await s3.client.send(new DeletePublicAccessBlockCommand({ Bucket }))
    await publish()
    const body =
      "<PublicAccessBlockConfiguration><BlockPublicAcls>maybe</BlockPublicAcls></PublicAccessBlockConfiguration>"
    const { code } = await call(s3, { method: "PUT", path: `/${Bucket}`, query: { publicAccessBlock: "" }, body })
    assert.strictEqual(code, "MalformedXML")
  })
})

it("the only object ownership is BucketOwnerEnforced", async () => {
  const get = async () =>
    (await s3.client.send(new GetBucketOwnershipControlsCommand({ Bucket }))).OwnershipControls?.Rules
  const put = (ObjectOwnership: "BucketOwnerEnforced" | "ObjectWriter") =>
    s3.client.send(
      new PutBucketOwnershipControlsCommand({ Bucket, OwnershipControls: { Rules: [{ ObjectOwnership }] } })
    )
  await put("BucketOwnerEnforced")
  assert.strictEqual(await refused(put("ObjectWriter")), "501 NotImplemented")
  await s3.client.send(new DeleteBucketOwnershipControlsCommand({ Bucket }))
  assert.deepStrictEqual(await get(), [{ ObjectOwnership: "BucketOwnerEnforced" }])
})

describe("encryption", () => {
  const calls = (s3: S3) => ({
    get: () => s3.client.send(new GetBucketEncryptionCommand({ Bucket })),
    set: (SSEAlgorithm: ServerSideEncryption) =>
      s3.client.send(
        new PutBucketEncryptionCommand({
          Bucket,
          ServerSideEncryptionConfiguration: { Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm } }] }
        })
      ),
    put: (ServerSideEncryption?: ServerSideEncryption) =>
      s3.client.send(new PutObjectCommand({ Bucket, Key: "e", Body: "x", ServerSideEncryption }))
  })

  it("is not claimed", async () => {
    const { get, put, set } = calls(s3)
    assert.isUndefined((await put()).ServerSideEncryption)
    assert.strictEqual(await refused(put("AES256")), "501 NotImplemented")
    assert.strictEqual(await refused(set("AES256")), "501 NotImplemented")
    assert.strictEqual(await refused(get()), "404 ServerSideEncryptionConfigurationNotFoundError")
  })

  it("is answered as S3 does by default, when the operator says that the disk is encrypted", async () => {
    const encrypted = await startS3({ S3_EMBEDDED_ENCRYPTED: "true" })
    try {
      await encrypted.client.send(new CreateBucketCommand({ Bucket }))
      const { get, put, set } = calls(encrypted)
      assert.strictEqual((await put()).ServerSideEncryption, "AES256")
      assert.strictEqual((await put("AES256")).ServerSideEncryption, "AES256")
      assert.strictEqual(await refused(put("aws:kms")), "501 NotImplemented")
      const of = { Bucket, Key: "e" }
      for (const command of [
        new HeadObjectCommand(of),
        new GetObjectCommand(of),
        new CreateMultipartUploadCommand({ ...of, ServerSideEncryption: "AES256" })
      ]) {
        const reply = (await encrypted.client.send(command as HeadObjectCommand)) as { ServerSideEncryption?: string }
        assert.strictEqual(reply.ServerSideEncryption, "AES256")
      }
      await set("AES256")
      assert.strictEqual(await refused(set("aws:kms")), "501 NotImplemented")
      const [rule] = (await get()).ServerSideEncryptionConfiguration?.Rules ?? []
      assert.strictEqual(rule?.ApplyServerSideEncryptionByDefault?.SSEAlgorithm, "AES256")
    } finally {
      await encrypted.stop()
    }
  })
})
