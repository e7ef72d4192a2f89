import { CreateBucketCommand, PutObjectCommand } from "@aws-sdk/client-s3"
import { createHash } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, md5, presigned, raw, refused, type S3, type S3Call, startS3 } from "../../support/storage/s3.ts"

let s3: S3
let uploadId = ""
beforeAll(async () => {
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket: "headers" }))
  await call(s3, { method: "PUT", path: "/headers/there", body: "there" })
  const { text } = await call(s3, { method: "POST", path: "/headers/parts", query: { uploads: "" } })
  uploadId = /<UploadId>(\w+)/.exec(text)?.[1] ?? ""
})
afterAll(() => s3.stop())

const md5Base64 = (text: string) => Buffer.from(md5(text), "hex").toString("base64")
const of = (key: string) => `/headers/${key}`
const copied = { "x-amz-copy-source": "headers/there" }
const operations: Readonly<Record<string, () => S3Call>> = {
  PutObject: () => ({ method: "PUT", path: of("new"), body: "new" }),
  GetObject: () => ({ path: of("there") }),
  HeadObject: () => ({ method: "HEAD", path: of("there") }),
  CopyObject: () => ({ method: "PUT", path: of("new"), headers: copied }),
  DeleteObject: () => ({ method: "DELETE", path: of("there") }),
  DeleteObjects: () => ({
    method: "POST",
    path: "/headers",
    query: { delete: "" },
    body: "<Delete><Object><Key>there</Key></Object></Delete>"
  }),
  GetObjectAttributes: () => ({
    path: of("there"),
    query: { attributes: "" },
    headers: { "x-amz-object-attributes": "ETag" }
  }),
  CreateMultipartUpload: () => ({ method: "POST", path: of("new"), query: { uploads: "" } }),
  UploadPart: () => ({ method: "PUT", path: of("parts"), query: { uploadId, partNumber: "1" }, body: "x" }),
  UploadPartCopy: () => ({
    method: "PUT",
    path: of("parts"),
    query: { uploadId, partNumber: "1" },
    headers: copied
  }),
  CompleteMultipartUpload: () => ({
    method: "POST",
    path: of("parts"),
    query: { uploadId },
    body: "<CompleteMultipartUpload/>"
  }),
  AbortMultipartUpload: () => ({ method: "DELETE", path: of("parts"), query: { uploadId } }),
  ListParts: () => ({ path: of("parts"), query: { uploadId } }),
  ListObjectsV2: () => ({ path: "/headers", query: { "list-type": "2" } }),
  HeadBucket: () => ({ method: "HEAD", path: "/headers" }),
  CreateBucket: () => ({ method: "PUT", path: "/another" }),
  DeleteBucket: () => ({ method: "DELETE", path: "/headers" }),
  GetBucketPolicy: () => ({ path: "/headers", query: { policy: "" } }),
  PutBucketPolicy: () => ({ method: "PUT", path: "/headers", query: { policy: "" }, body: "{}" }),
  GetBucketVersioning: () => ({ path: "/headers", query: { versioning: "" } })
}

/** The status, and the code unless the response has no body. */
const send = async (given: S3Call, headers: Readonly<Record<string, string>>) => {
  const { code, status } = await call(s3, { ...given, headers: { ...given.headers, ...headers } })
  return code === undefined ? String(status) : `${status} ${code}`
}

const customerKey = {
  "x-amz-server-side-encryption-customer-algorithm": "AES256",
  "x-amz-server-side-encryption-customer-key": Buffer.alloc(32, 1).toString("base64"),
  "x-amz-server-side-encryption-customer-key-md5": createHash("md5").update(Buffer.alloc(32, 1)).digest("base64")
}
const unknown: ReadonlyArray<readonly [name: string, value: string]> = [
  ...Object.entries(customerKey),
  ...Object.entries(customerKey).map(([name, value]) => [name.replace("x-amz-", "x-amz-copy-source-"), value] as const),
  ["x-amz-server-side-encryption", "AES256"],
  ["x-amz-server-side-encryption-aws-kms-key-id", "key"],
  ["x-amz-server-side-encryption-context", "e30="],
  ["x-amz-server-side-encryption-bucket-key-enabled", "true"],
  ["x-amz-object-lock-mode", "GOVERNANCE"],
  ["x-amz-object-lock-retain-until-date", "2030-01-01T00:00:00Z"],
  ["x-amz-object-lock-legal-hold", "ON"],
  ["x-amz-website-redirect-location", "/"],
  ["x-amz-write-offset-bytes", "0"],
  ["x-amz-mfa", "1 2"],
  ["x-amz-invented", "1"]
]

describe.each(Object.keys(operations))("%s", (name) => {
  const operation = () => operations[name]?.() ?? { path: "/" }
  const bodiless = operation().method === "HEAD"

  it("refuses headers that it does not honour", async () => {
    for (const [header, value] of unknown) {
      assert.strictEqual(await send(operation(), { [header]: value }), bodiless ? "501" : "501 NotImplemented", header)
    }
    assert.strictEqual(
      await send(operation(), { "x-amz-checksum-invented": "AAAA" }),
      bodiless ? "400" : "400 InvalidRequest"
    )
    if (name !== "CreateBucket") {
      assert.strictEqual(
        await send(operation(), { "x-amz-expected-bucket-owner": "123456789012" }),
        bodiless ? "403" : "403 AccessDenied"
      )
    }
  })
})

it("headers that were refused changed nothing", async () => {
  assert.strictEqual((await call(s3, { path: of("there") })).text, "there")
  assert.strictEqual((await call(s3, { path: of("new") })).code, "NoSuchKey")
  assert.strictEqual((await call(s3, { path: "/another" })).code, "NoSuchBucket")
  assert.strictEqual(await send({ path: of("parts"), query: { uploadId } }, {}), "200")
})

it("Content-Encoding is kept as sent, without the coding of the transfer", async () => {
  for (const [sent, kept] of [
    ["gzip, br", "gzip, br"],
    ["aws-chunked,gzip", "gzip"],
    ["gzip, aws-chunked", "gzip"],
    ["aws-chunked", undefined]
  ] as const) {
    const headers = { "content-encoding": sent }
    assert.strictEqual((await call(s3, { method: "PUT", path: of("coded"), body: "x", headers })).status, 200)
    assert.strictEqual((await call(s3, { method: "HEAD", path: of("coded") })).headers["content-encoding"], kept)
  }
})

it("browsers may not guess the type of any response", async () => {
  const { headers } = await call(s3, { path: of("there") })
  const answers = [
    { status: 200, headers },
    await call(s3, { path: of("there"), headers: { "if-none-match": String(headers["etag"]) } }),
    await call(s3, { path: of("there"), headers: { range: "bytes=0-1" } }),
    await call(s3, { path: of("none") }),
    await raw(s3, "GET", of("there")),
    await raw(s3, "GET", of("there"), { "x-long": "x".repeat(20_000) })
  ]
  assert.deepStrictEqual(
    answers.map(({ status }) => status),
    [200, 304, 206, 404, 403, 400]
  )
  for (const answer of answers)
    assert.strictEqual(answer.headers["x-content-type-options"], "nosniff", `${answer.status}`)
})

it("messages that clients compare are those of S3", async () => {
  for (const [path, message] of [
    ["/no-such-bucket-here/k", "The specified bucket does not exist"],
    [of("none"), "The specified key does not exist."]
  ] as const) {
    assert.include((await call(s3, { path })).text, `<Message>${message}</Message>`)
  }
  const { text } = await raw(s3, "GET", of("there"))
  assert.include(text, "<Message>Access Denied</Message>")
})

describe("headers that are honoured", () => {
  it("x-amz-expected-bucket-owner and that of the source", async () => {
    const owner = { "x-amz-expected-bucket-owner": "000000000000" }
    assert.strictEqual(await send({ path: of("there") }, owner), "200")
    const copy = { method: "PUT", path: of("copy"), headers: copied }
    assert.strictEqual(await send(copy, { ...owner, "x-amz-source-expected-bucket-owner": "000000000000" }), "200")
    assert.strictEqual(await send(copy, { "x-amz-source-expected-bucket-owner": "123456789012" }), "403 AccessDenied")
  })

  it("x-amz-object-ownership", async () => {
    const create = (value: string) => send({ method: "PUT", path: "/owned" }, { "x-amz-object-ownership": value })
    assert.strictEqual(await create("ObjectWriter"), "501 NotImplemented")
    assert.strictEqual(await create("BucketOwnerEnforced"), "200")
  })

  it("grants, by saying that there are no ACLs", async () => {
    const grant = { "x-amz-grant-read": 'uri="http://acs.amazonaws.com/groups/global/AllUsers"' }
    for (const path of ["/granted", of("granted")]) {
      assert.strictEqual(await send({ method: "PUT", path, body: "" }, grant), "400 AccessControlListNotSupported")
    }
  })

  it("those that signers move into the query of a presigned URL", async () => {
    const query = { "x-amz-server-side-encryption-context": "e30=" }
    const url = await presigned(s3, { method: "PUT", path: of("signed"), query })
    assert.strictEqual((await raw(s3, "PUT", url, {}, "x")).code, "NotImplemented")
  })

  it("a security token, also of an anonymous request", async () => {
    assert.strictEqual(await send({ path: of("there") }, { "x-amz-security-token": "token" }), "400 InvalidToken")
    assert.strictEqual((await raw(s3, "GET", of("there"), { "x-amz-security-token": "token" })).code, "AccessDenied")
  })

  // The algorithms that S3 has had since 2026, of "abc".
  it.each([
    [
      "sha512",
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ],
    ["md5", "900150983cd24fb0d6963f7d28e17f72"],
    ["xxhash64", "44bc2cf5ad770999"],
    ["xxhash3", "78af5f94892f3950"],
    ["xxhash128", "06b05ab6733a618578af5f94892f3950"]
  ])("a checksum by %s", async (algorithm, hex) => {
    const value = Buffer.from(hex, "hex").toString("base64")
    const header = `x-amz-checksum-${algorithm}`
    const write = (key: string, text: string) => send({ method: "PUT", path: of(key), body: "abc" }, { [header]: text })
    assert.strictEqual(await write("sum", value), "200")
    assert.strictEqual(
      await write("wrong", value.replace(/^../, value.startsWith("AA") ? "BB" : "AA")),
      "400 BadDigest"
    )
    assert.strictEqual(await write("wrong", "nonsense"), "400 InvalidRequest")
    assert.strictEqual((await call(s3, { path: of("wrong") })).code, "NoSuchKey")
    const { headers } = await call(s3, { path: of("sum"), headers: { "x-amz-checksum-mode": "ENABLED" } })
    assert.strictEqual(headers[header], value)

    const start = await call(s3, {
      method: "POST",
      path: of("sums"),
      query: { uploads: "" },
      headers: { "x-amz-checksum-algorithm": algorithm.toUpperCase() }
    })
    const upload = { path: of("sums"), query: { uploadId: /<UploadId>(\w+)/.exec(start.text)?.[1] ?? "" } }
    const query = { ...upload.query, partNumber: "1" }
    const part = await call(s3, { ...upload, method: "PUT", query, body: "abc", headers: { [header]: value } })
    assert.strictEqual(part.headers[header], value)
    const element = `Checksum${algorithm.toUpperCase()}`
    const complete = (text: string) =>
      send(
        {
          ...upload,
          method: "POST",
          body: `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${md5("abc")}</ETag><${element}>${text}</${element}></Part></CompleteMultipartUpload>`
        },
        { "x-amz-checksum-type": "COMPOSITE" }
      )
    assert.strictEqual(await complete("AAAA"), "400 InvalidPart")
    assert.strictEqual(await complete(value), "200")
  })

  it("an MD5 as AWS's SDK sends it", async () => {
    const write = { Bucket: "headers", Key: "md5", Body: "abc", ChecksumAlgorithm: "MD5" } as const
    await s3.client.send(new PutObjectCommand(write))
    const wrong = s3.client.send(new PutObjectCommand({ ...write, ContentMD5: md5Base64("other") }))
    assert.strictEqual(await refused(wrong), "400 BadDigest")
  })

  it("a trailer that cannot come", async () => {
    const put = { method: "PUT", path: of("wrong"), body: "x" }
    assert.strictEqual(await send(put, { "x-amz-trailer": "x-amz-checksum-crc32" }), "400 InvalidRequest")
  })
})
