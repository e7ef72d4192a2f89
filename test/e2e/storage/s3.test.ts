import {
  type ChecksumAlgorithm,
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand
} from "@aws-sdk/client-s3"
import { Upload } from "@aws-sdk/lib-storage"
import { createHash, randomBytes } from "node:crypto"
import { Readable } from "node:stream"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, md5, refused, type S3, startS3 } from "../../support/storage/s3.ts"

let s3: S3
beforeAll(async () => {
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket: "first" }))
})
afterAll(() => s3.stop())

const Bucket = "first"
const put = (Key: string, Body: string | Uint8Array, rest: object = {}) =>
  s3.client.send(new PutObjectCommand({ Bucket, Key, Body, ...rest }))
const get = async (Key: string, rest: object = {}) => {
  const response = await s3.client.send(new GetObjectCommand({ Bucket, Key, ...rest }))
  return { ...response, bytes: Buffer.from((await response.Body?.transformToByteArray()) ?? []) }
}
const odd = [
  "a//b",
  "/leading",
  "with space",
  "a+b",
  "100%",
  "%2F",
  "ключ",
  "😀/🚀",
  "a/../b",
  "x&y<z>\"'",
  "\u0001\t",
  "."
]

describe("buckets", () => {
  it("are created, listed and deleted", async () => {
    await s3.client.send(new CreateBucketCommand({ Bucket: "second" }))
    const { Buckets } = await s3.client.send(new ListBucketsCommand({}))
    assert.deepStrictEqual(
      Buckets?.map(({ Name }) => Name),
      ["first", "second"]
    )
    const { BucketRegion } = await s3.client.send(new HeadBucketCommand({ Bucket: "second" }))
    assert.strictEqual(BucketRegion, "us-east-1")
    assert.isUndefined((await s3.client.send(new GetBucketLocationCommand({ Bucket }))).LocationConstraint)
    assert.isUndefined((await s3.client.send(new GetBucketVersioningCommand({ Bucket }))).Status)
    const again = s3.client.send(new CreateBucketCommand({ Bucket: "second" }))
    assert.strictEqual(await refused(again), "409 BucketAlreadyOwnedByYou")
    await s3.client.send(new DeleteBucketCommand({ Bucket: "second" }))
    assert.strictEqual(await refused(s3.client.send(new DeleteBucketCommand({ Bucket: "second" }))), "404 NoSuchBucket")
    assert.strictEqual(await refused(s3.client.send(new HeadBucketCommand({ Bucket: "second" }))), "404 NotFound")
  })

  it.each(["ab", "Upper", "a..b", "1.2.3.4", "-a-", "xn--abc", "a".repeat(64), "a_b"])(
    "%s is no name",
    async (name) => {
      const response = await call(s3, { method: "PUT", path: `/${name}` })
      assert.deepStrictEqual([response.status, response.code], [400, "InvalidBucketName"])
    }
  )
})

describe("objects", () => {
  it("are returned unchanged, with their metadata", async () => {
    const body = randomBytes(100_000)
    const options = {
      ContentType: "image/x-test",
      CacheControl: "max-age=5",
      ContentDisposition: 'attachment; filename="a b.txt"',
      ContentEncoding: "gzip",
      ContentLanguage: "de",
      Metadata: { who: "me", empty: "" }
    }
    const { ETag } = await put("a/b", body, options)
    assert.strictEqual(ETag, `"${md5(body)}"`)
    const found = await get("a/b", { ChecksumMode: "ENABLED" })
    assert.deepStrictEqual(found.bytes, body)
    const { CacheControl, ContentDisposition, ContentEncoding, ContentLanguage, ContentType, Metadata } = found
    assert.deepStrictEqual(
      { CacheControl, ContentDisposition, ContentEncoding, ContentLanguage, ContentType, Metadata },
      options
    )
    assert.isString(found.ChecksumCRC32)
    const head = await s3.client.send(new HeadObjectCommand({ Bucket, Key: "a/b" }))
    assert.deepStrictEqual([head.ContentLength, head.ETag, head.Metadata], [body.length, ETag, options.Metadata])
    await s3.client.send(new DeleteObjectCommand({ Bucket, Key: "a/b" }))
    await s3.client.send(new DeleteObjectCommand({ Bucket, Key: "a/b" }))
    assert.strictEqual(await refused(get("a/b")), "404 NoSuchKey")
    assert.strictEqual(await refused(s3.client.send(new HeadObjectCommand({ Bucket, Key: "a/b" }))), "404 NotFound")
  })

  it("can be empty, and of unknown length", async () => {
    await put("empty", new Uint8Array())
    assert.strictEqual((await get("empty")).bytes.length, 0)
    const chunks = [randomBytes(70_000), randomBytes(1)]
    await new Upload({ client: s3.client, params: { Bucket, Key: "stream", Body: Readable.from(chunks) } }).done()
    assert.deepStrictEqual((await get("stream")).bytes, Buffer.concat(chunks))
  })

  it.each(odd)("can have the key %j", async (key) => {
    await put(key, key)
    assert.strictEqual((await get(key)).bytes.toString(), key)
    await s3.client.send(
      new CopyObjectCommand({ Bucket, Key: "copy", CopySource: `${Bucket}/${encodeURIComponent(key)}` })
    )
    assert.strictEqual((await get("copy")).bytes.toString(), key)
    const { Contents } = await s3.client.send(new ListObjectsV2Command({ Bucket, Prefix: key, EncodingType: "url" }))
    assert.include(
      (Contents ?? []).map(({ Key = "" }) => decodeURIComponent(Key.replaceAll("+", " "))),
      key
    )
    const { Errors } = await s3.client.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: "copy" }] } })
    )
    assert.isUndefined(Errors)
    await s3.client.send(new DeleteObjectCommand({ Bucket, Key: key }))
  })

  it("have keys of at most 1024 bytes", async () => {
    assert.strictEqual(await refused(put("ä".repeat(512), "x")), "accepted")
    assert.strictEqual(await refused(put(`${"ä".repeat(512)}a`, "x")), "400 KeyTooLongError")
  })

  it("have metadata of at most 2 KiB", async () => {
    assert.strictEqual(await refused(put("meta", "x", { Metadata: { a: "x".repeat(2047) } })), "accepted")
    assert.strictEqual(await refused(put("meta", "x", { Metadata: { a: "x".repeat(2048) } })), "400 MetadataTooLarge")
  })

  it.each<ChecksumAlgorithm>(["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])(
    "are checked by %s",
    async (algorithm) => {
      const body = randomBytes(200_000)
      const sent = await put("sum", body, { ChecksumAlgorithm: algorithm })
      const found = await get("sum", { ChecksumMode: "ENABLED" })
      const name = `Checksum${algorithm}` as "ChecksumCRC32"
      assert.isString(found[name])
      assert.strictEqual(found[name], sent[name])
      const wrong = put("sum", body, {
        [name]: Buffer.alloc(Buffer.from(sent[name] ?? "", "base64").length).toString("base64")
      })
      assert.strictEqual(await refused(wrong), "400 BadDigest")
      // A stream's checksum is sent in a trailer.
      const stream = { ChecksumAlgorithm: algorithm, ContentLength: body.length }
      const trailed = await s3.client.send(
        new PutObjectCommand({ Bucket, Key: "trailed", Body: Readable.from([body]), ...stream })
      )
      assert.strictEqual(trailed[name], sent[name])
    }
  )

  it("are rejected if Content-MD5 does not match", async () => {
    const ContentMD5 = Buffer.from(md5("x"), "hex").toString("base64")
    assert.strictEqual(await refused(put("md5", "x", { ContentMD5 })), "accepted")
    assert.strictEqual(await refused(put("md5", "y", { ContentMD5 })), "400 BadDigest")
    assert.strictEqual(await refused(put("md5", "y", { ContentMD5: "abc" })), "400 InvalidDigest")
    assert.strictEqual((await get("md5")).bytes.toString(), "x")
  })

  it("are deleted only if If-Match matches", async () => {
    const { ETag } = await put("conditional", "first")
    await put("conditional", "second")
    const remove = (Key: string, IfMatch: string | undefined) =>
      s3.client.send(new DeleteObjectCommand({ Bucket, Key, IfMatch }))
    assert.strictEqual(await refused(remove("conditional", ETag)), "412 PreconditionFailed")
    assert.strictEqual((await get("conditional")).bytes.toString(), "second")
    const { $metadata } = await remove("conditional", (await get("conditional")).ETag)
    assert.strictEqual($metadata.httpStatusCode, 204)
    assert.strictEqual(await refused(remove("conditional", "*")), "404 NoSuchKey")
  })

  it("are copied with their metadata or with new metadata", async () => {
    await put("from", "content", { Metadata: { a: "1" }, ContentType: "text/a" })
    const CopySource = `${Bucket}/from`
    const copy = (rest: object) => s3.client.send(new CopyObjectCommand({ Bucket, Key: "to", CopySource, ...rest }))
    await copy({})
    assert.deepInclude(await get("to"), { ContentType: "text/a", Metadata: { a: "1" } })
    await copy({ MetadataDirective: "REPLACE", Metadata: { b: "2" }, ContentType: "text/b" })
    assert.deepInclude(await get("to"), { ContentType: "text/b", Metadata: { b: "2" } })
    const { CopyObjectResult } = await copy({ ChecksumAlgorithm: "SHA256" })
    assert.strictEqual(CopyObjectResult?.ChecksumSHA256, createHash("sha256").update("content").digest("base64"))
    assert.strictEqual(await refused(copy({ Key: "from" })), "400 InvalidRequest")
    await copy({ Key: "from", MetadataDirective: "REPLACE", Metadata: { c: "3" } })
    assert.deepInclude(await get("from"), { Metadata: { c: "3" } })
    assert.strictEqual((await get("from")).bytes.toString(), "content")
    assert.strictEqual(await refused(copy({ CopySourceIfMatch: '"x"' })), "412 PreconditionFailed")
    assert.strictEqual(await refused(copy({ CopySource: `${Bucket}/none` })), "404 NoSuchKey")
    assert.strictEqual(await refused(copy({ CopySource: "none/none" })), "404 NoSuchBucket")
    assert.strictEqual(await refused(copy({ CopySource: "none" })), "400 InvalidArgument")
  })
})
