import {
  CreateBucketCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand
} from "@aws-sdk/client-s3"
import { getSignedUrl } from "@aws-sdk/s3-request-presigner"
import { createHash, createHmac } from "node:crypto"
import { crc32 } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, presigned, raw, refused, type S3, type S3Call, signed, startS3 } from "../../support/storage/s3.ts"

let s3: S3
beforeAll(async () => {
  s3 = await startS3()
  for (const Bucket of ["mine", "open"]) await s3.client.send(new CreateBucketCommand({ Bucket }))
  for (const Key of ["public/a", "private/a"]) {
    await s3.client.send(new PutObjectCommand({ Bucket: "open", Key, Body: Key }))
  }
  await call(s3, { method: "PUT", path: "/mine/k", body: "content" })
})
afterAll(() => s3.stop())

const put: S3Call = { method: "PUT", path: "/mine/p", body: "hello" }

describe("signatures in the header", () => {
  it.each<[string, S3Call, string | undefined]>([
    ["a valid signature", put, undefined],
    ["any region", { ...put, region: "eu-west-9" }, undefined],
    ["an unsigned payload", { ...put, payload: "UNSIGNED-PAYLOAD" }, undefined],
    ["ten minutes late", { ...put, skew: -600_000 }, undefined],
    ["twenty minutes late", { ...put, skew: -1_200_000 }, "403 RequestTimeTooSkewed"],
    ["twenty minutes early", { ...put, skew: 1_200_000 }, "403 RequestTimeTooSkewed"],
    ["another secret", { ...put, secret: "wrong" }, "403 SignatureDoesNotMatch"],
    ["another body", { ...put, payload: "0".repeat(64) }, "400 XAmzContentSHA256Mismatch"],
    ["an invalid payload hash", { ...put, payload: "nonsense" }, "400 InvalidArgument"],
    [
      "streaming without its length",
      { ...put, payload: "STREAMING-UNSIGNED-PAYLOAD-TRAILER" },
      "411 MissingContentLength"
    ],
    ["odd queries", { path: "/mine", query: { prefix: "a b+c/é~*'()", "x-empty": "" } }, undefined]
  ])("%s", async (_, given, refusal) => {
    const { code, status } = await call(s3, given)
    assert.strictEqual(code === undefined ? undefined : `${status} ${code}`, refusal)
    if (refusal === undefined) assert.strictEqual(status, 200)
  })

  it.each<[string, (headers: Record<string, string>) => void, string]>([
    [
      "a header changed",
      (headers) => (headers["x-amz-date"] = headers["x-amz-date"]!.replace(/\d\dZ$/, "00Z")),
      "SignatureDoesNotMatch"
    ],
    ["a header added", (headers) => (headers["x-amz-meta-more"] = "1"), "AccessDenied"],
    ["no hash", (headers) => delete headers["x-amz-content-sha256"], "InvalidRequest"],
    ["no date", (headers) => delete headers["x-amz-date"], "AccessDenied"],
    [
      "another key",
      (headers) => (headers["authorization"] = headers["authorization"]!.replace(/=\w+\//, "=NOBODY/")),
      "InvalidAccessKeyId"
    ],
    [
      "another service",
      (headers) => (headers["authorization"] = headers["authorization"]!.replace("/s3/", "/ec2/")),
      "AuthorizationHeaderMalformed"
    ],
    [
      "another day",
      (headers) => (headers["authorization"] = headers["authorization"]!.replace(/\/\d{8}\//, "/20200101/")),
      "AuthorizationHeaderMalformed"
    ],
    [
      "half a header",
      (headers) => (headers["authorization"] = "AWS4-HMAC-SHA256 Credential=x"),
      "AuthorizationHeaderMalformed"
    ],
    ["signature version 2", (headers) => (headers["authorization"] = "AWS key:signature"), "InvalidRequest"],
    ["another scheme", (headers) => (headers["authorization"] = "Bearer x"), "InvalidArgument"],
    ["a session token", (headers) => (headers["x-amz-security-token"] = "x"), "InvalidToken"]
  ])("are rejected with %s", async (_, change, code) => {
    const headers = { ...(await signed(s3, put)) }
    change(headers)
    const response = await raw(s3, "PUT", "/mine/p", headers, "hello")
    if (code !== "SignatureDoesNotMatch" || response.status !== 200) assert.strictEqual(response.code, code)
  })
})

describe("chunk signatures", () => {
  const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()
  const hash = (text: string) => createHash("sha256").update(text).digest("hex")

  /** A PUT in two signed chunks, with the CRC-32 `trailer` if given. */
  const stream = async (parts: readonly [string, string], trailer?: string, change = (body: string) => body) => {
    const payload = `STREAMING-AWS4-HMAC-SHA256-PAYLOAD${trailer === undefined ? "" : "-TRAILER"}`
    const headers = {
      "x-amz-decoded-content-length": String(parts.join("").length),
      "content-encoding": "aws-chunked,gzip",
      ...(trailer === undefined ? {} : { "x-amz-trailer": "x-amz-checksum-crc32" })
    }
    const head = await signed(s3, { method: "PUT", path: "/mine/chunks", payload, headers })
    const date = head["x-amz-date"] ?? ""
    const scope = `${date.slice(0, 8)}/us-east-1/s3/aws4_request`
    const key = scope.split("/").reduce(hmac, `AWS4${s3.credentials.secretAccessKey}` as string | Buffer)
    let previous = /Signature=(\w+)/.exec(head["authorization"] ?? "")?.[1] ?? ""
    const sign = (kind: string, ...rest: ReadonlyArray<string>) =>
      (previous = hmac(key as Buffer, [`AWS4-HMAC-SHA256-${kind}`, date, scope, previous, ...rest].join("\n")).toString(
        "hex"
      ))
    let body = ""
    for (const part of [...parts, ""]) {
      body += `${part.length.toString(16)};chunk-signature=${sign("PAYLOAD", hash(""), hash(part))}\r\n${part}`
      if (part !== "") body += "\r\n"
    }
    if (trailer !== undefined) {
      body += `x-amz-checksum-crc32:${trailer}\r\n`
      body += `x-amz-trailer-signature:${sign("TRAILER", hash(`x-amz-checksum-crc32:${trailer}\n`))}\r\n`
    }
    return raw(s3, "PUT", "/mine/chunks", head, change(`${body}\r\n`))
  }

  it("are verified, and that of the trailer too", async () => {
    const parts = ["a".repeat(70_000), "tail"] as const
    const crc = Buffer.alloc(4)
    crc.writeUInt32BE(crc32(parts.join("")))
    assert.strictEqual((await stream(parts)).status, 200)
    const { headers, text } = await call(s3, { path: "/mine/chunks" })
    assert.strictEqual(text, parts.join(""))
    assert.strictEqual(headers["content-encoding"], "gzip")
    const summed = await stream(parts, crc.toString("base64"))
    assert.strictEqual(summed.headers["x-amz-checksum-crc32"], crc.toString("base64"))
    assert.strictEqual((await stream(parts, "AAAAAA==")).code, "BadDigest")
    assert.strictEqual((await stream(parts, "x")).code, "InvalidRequest")
    const altered = await stream(parts, undefined, (body) => body.replace("tail", "tale"))
    assert.strictEqual(altered.code, "SignatureDoesNotMatch")
    const cut = await stream(parts, undefined, (body) => body.slice(0, 70_000))
    assert.strictEqual(cut.code, "IncompleteBody")
  })
})

describe("presigned URLs", () => {
  it("allow what they were signed for", async () => {
    assert.strictEqual((await raw(s3, "GET", await presigned(s3, { path: "/mine/k" }))).text, "content")
    const query = { "response-content-type": "text/x", "response-content-disposition": 'attachment; filename="é"' }
    const changed = await raw(s3, "GET", await presigned(s3, { path: "/mine/k", query }))
    assert.strictEqual(changed.headers["content-type"], "text/x")
    assert.strictEqual(
      Buffer.from(String(changed.headers["content-disposition"]), "latin1").toString(),
      'attachment; filename="é"'
    )
    const url = await presigned(s3, { method: "PUT", path: "/mine/up", headers: { "content-type": "text/a" } })
    assert.strictEqual((await raw(s3, "PUT", url, { "content-type": "text/a" }, "up")).status, 200)
    assert.strictEqual((await raw(s3, "PUT", url, { "content-type": "text/b" }, "up")).code, "SignatureDoesNotMatch")
  })

  it("of the SDK accept any body", async () => {
    const at = (link: string) => link.slice(s3.endpoint.length)
    const link = await getSignedUrl(
      s3.client,
      new PutObjectCommand({ Bucket: "mine", Key: "sdk", Metadata: { a: "b" } })
    )
    assert.strictEqual((await raw(s3, "PUT", at(link), {}, "body")).status, 200)
    const { headers, text } = await call(s3, { path: "/mine/sdk" })
    assert.deepStrictEqual([text, headers["x-amz-meta-a"]], ["body", "b"])
    const { text: begun } = await call(s3, { method: "POST", path: "/mine/parts", query: { uploads: "" } })
    const UploadId = /<UploadId>(.*)<\/UploadId>/.exec(begun)?.[1]
    const part = new UploadPartCommand({ Bucket: "mine", Key: "parts", UploadId, PartNumber: 1 })
    assert.strictEqual((await raw(s3, "PUT", at(await getSignedUrl(s3.client, part)), {}, "part")).status, 200)
  })

  it("allow nothing else", async () => {
    const good = await presigned(s3, { path: "/mine/k" })
    const code = async (target: string, method = "GET") => (await raw(s3, method, target)).code
    assert.strictEqual(await code(good.replace("/mine/k", "/mine/p")), "SignatureDoesNotMatch")
    assert.strictEqual(await code(good, "DELETE"), "SignatureDoesNotMatch")
    assert.strictEqual(await code(`${good}&versionId=null`), "SignatureDoesNotMatch")
    assert.strictEqual(await code(good.replace(/Signature=\w{4}/, "Signature=0000")), "SignatureDoesNotMatch")
    assert.strictEqual(await code(good.replace("X-Amz-Expires=60", "X-Amz-Expires=600")), "SignatureDoesNotMatch")
    for (const wrong of ["0", "604801", "-1", "x"]) {
      const url = good.replace("X-Amz-Expires=60", `X-Amz-Expires=${wrong}`)
      assert.strictEqual(await code(url), "AuthorizationQueryParametersError")
    }
    assert.strictEqual(await code(good.replace(/&X-Amz-Date=[^&]*/, "")), "AuthorizationQueryParametersError")
    const old = await raw(s3, "GET", await presigned(s3, { path: "/mine/k", skew: -61_000 }))
    assert.match(old.text, /<Message>Request has expired<\/Message>/)
    assert.strictEqual(old.status, 403)
    assert.strictEqual(await code(await presigned(s3, { path: "/mine/k", skew: 1_000_000 })), "AccessDenied")
    const both = await raw(s3, "GET", good, await signed(s3, { path: "/mine/k" }))
    assert.strictEqual(both.code, "InvalidArgument")
    assert.strictEqual(await code("/mine/k?AWSAccessKeyId=a&Signature=b&Expires=1"), "InvalidAccessKeyId")
  })
})

describe("policies", () => {
  const anonymous = () =>
    new S3Client({
      endpoint: s3.endpoint,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: { accessKeyId: "", secretAccessKey: "" },
      signer: { sign: async (request) => request }
    })
  const statement = (...Statement: ReadonlyArray<object>) =>
    s3.client.send(new PutBucketPolicyCommand({ Bucket: "open", Policy: JSON.stringify({ Statement }) }))
  const allow = (Action: string, Resource: string) => ({ Effect: "Allow", Principal: "*", Action, Resource })
  const arn = "arn:aws:s3:::open"

  it("allow nothing by default", async () => {
    for (const [method, path] of [
      ["GET", "/"],
      ["GET", "/open"],
      ["GET", "/open/public/a"],
      ["PUT", "/open/x"],
      ["DELETE", "/open"]
    ] as const) {
      assert.strictEqual(
        (await raw(s3, method, path, {}, method === "PUT" ? "x" : undefined)).code,
        "AccessDenied",
        path
      )
    }
  })

  it("allow what they name", async () => {
    await statement(allow("s3:GetObject", `${arn}/public/*`), allow("s3:PutObject", `${arn}/drop/*`))
    assert.strictEqual((await raw(s3, "GET", "/open/public/a")).text, "public/a")
    assert.strictEqual((await raw(s3, "GET", "/open/private/a")).code, "AccessDenied")
    // Callers without permission to list don't learn which keys exist.
    assert.strictEqual((await raw(s3, "GET", "/open/public/none")).code, "AccessDenied")
    assert.strictEqual((await raw(s3, "GET", "/open/public/a?response-content-type=a")).code, "InvalidRequest")
    const client = anonymous()
    await client.send(new PutObjectCommand({ Bucket: "open", Key: "drop/x", Body: "dropped" }))
    assert.strictEqual(
      await refused(client.send(new GetObjectCommand({ Bucket: "open", Key: "drop/x" }))),
      "403 AccessDenied"
    )
    await statement(allow("s3:GetObject", `${arn}/*`), allow("s3:ListBucket", arn))
    assert.strictEqual((await raw(s3, "GET", "/open/public/none")).code, "NoSuchKey")
    assert.strictEqual((await raw(s3, "GET", "/open?list-type=2")).status, 200)
    for (const document of ["policy", "cors", "acl"]) {
      assert.strictEqual((await raw(s3, "GET", `/open?${document}`)).code, "AccessDenied")
    }
  })

  it("can deny the owner, who can still change them", async () => {
    const deny = { Effect: "Deny", Principal: "*", Action: "s3:*", Resource: [arn, `${arn}/private/*`] }
    await statement(allow("s3:*", `${arn}/*`), deny)
    assert.strictEqual((await call(s3, { path: "/open/private/a" })).code, "AccessDenied")
    assert.strictEqual((await call(s3, { path: "/open" })).code, "AccessDenied")
    assert.strictEqual((await call(s3, { path: "/open/public/a" })).status, 200)
    const copy = { "x-amz-copy-source": "/open/private/a" }
    assert.strictEqual((await call(s3, { method: "PUT", path: "/mine/copy", headers: copy })).code, "AccessDenied")
    const { Deleted, Errors } = await s3.client.send(
      new DeleteObjectsCommand({ Bucket: "open", Delete: { Objects: [{ Key: "private/a" }, { Key: "other" }] } })
    )
    assert.deepStrictEqual(
      [Deleted?.map(({ Key }) => Key), Errors?.map(({ Code }) => Code)],
      [["other"], ["AccessDenied"]]
    )
    assert.strictEqual((await call(s3, { path: "/open", query: { policy: "" } })).status, 200)
    assert.strictEqual((await call(s3, { method: "DELETE", path: "/open", query: { policy: "" } })).status, 204)
    assert.strictEqual((await call(s3, { path: "/open/private/a" })).status, 200)
    assert.strictEqual((await call(s3, { path: "/open", query: { policy: "" } })).code, "NoSuchBucketPolicy")
  })

  it("are rejected with a reason if invalid", async () => {
    const response = await call(s3, { method: "PUT", path: "/open", query: { policy: "" }, body: '{"Statement":[{}]}' })
    assert.deepStrictEqual([response.status, response.code], [400, "MalformedPolicy"])
  })
})
