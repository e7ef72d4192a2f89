import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectsCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand
} from "@aws-sdk/client-s3"
import { Upload } from "@aws-sdk/lib-storage"
import { randomBytes } from "node:crypto"
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
const mebibyte = 1024 * 1024
describe("multipart uploads", () => {
  it("create one object, also as the SDK's own uploads", async () => {
    const body = randomBytes(12 * mebibyte)
    const upload = new Upload({ client: s3.client, params: { Bucket, Key: "big", Body: body }, partSize: 5 * mebibyte })
    const { ETag } = await upload.done()
    assert.match(ETag ?? "", /-3"$/)
    assert.isTrue((await get("big")).bytes.equals(body))
    const part = await get("big", { PartNumber: 2 })
    assert.deepStrictEqual([part.PartsCount, part.ContentRange], [3, `bytes 5242880-10485759/${body.length}`])
    assert.strictEqual(await refused(get("big", { PartNumber: 4 })), "416 InvalidPartNumber")
    const across = await get("big", { Range: "bytes=5242870-5242889" })
    assert.deepStrictEqual(across.bytes, body.subarray(5_242_870, 5_242_890))
    const attributes = await s3.client.send(
      new GetObjectAttributesCommand({ Bucket, Key: "big", ObjectAttributes: ["ObjectParts", "ObjectSize", "ETag"] })
    )
    assert.deepStrictEqual([attributes.ObjectParts?.TotalPartsCount, attributes.ObjectSize], [3, body.length])
  })

  it.each(["COMPOSITE", "FULL_OBJECT"] as const)("have a checksum that is %s", async (ChecksumType) => {
    const of = { Bucket, Key: "summed" }
    const body = randomBytes(6 * mebibyte)
    const { UploadId } = await s3.client.send(
      new CreateMultipartUploadCommand({ ...of, ChecksumAlgorithm: "CRC32", ChecksumType })
    )
    const pieces = [body.subarray(0, 5 * mebibyte), body.subarray(5 * mebibyte)]
    const Parts = []
    for (const [index, Body] of pieces.entries()) {
      const PartNumber = index + 1
      const { ChecksumCRC32, ETag } = await s3.client.send(new UploadPartCommand({ ...of, UploadId, PartNumber, Body }))
      Parts.push({ PartNumber, ETag, ChecksumCRC32 })
    }
    await s3.client.send(new CompleteMultipartUploadCommand({ ...of, UploadId, MultipartUpload: { Parts } }))
    const found = await get("summed", { ChecksumMode: "ENABLED" })
    const whole = (await put("whole", body)).ChecksumCRC32
    if (ChecksumType === "COMPOSITE") assert.match(found.ChecksumCRC32 ?? "", /-2$/)
    else assert.strictEqual(found.ChecksumCRC32, whole)
    assert.strictEqual(found.ChecksumType, ChecksumType)
  })

  it("of one part are still uploads in parts", async () => {
    const of = { Bucket, Key: "single" }
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ ...of, ChecksumAlgorithm: "SHA256" }))
    const { ChecksumSHA256, ETag } = await s3.client.send(
      new UploadPartCommand({ ...of, UploadId, PartNumber: 7, Body: "seven", ChecksumAlgorithm: "SHA256" })
    )
    const Parts = [{ PartNumber: 7, ETag, ChecksumSHA256 }]
    await s3.client.send(new CompleteMultipartUploadCommand({ ...of, UploadId, MultipartUpload: { Parts } }))
    assert.strictEqual((await get("single", { PartNumber: 1 })).PartsCount, 1)
    const { ObjectParts } = await s3.client.send(
      new GetObjectAttributesCommand({ ...of, ObjectAttributes: ["ObjectParts"] })
    )
    assert.deepInclude(ObjectParts, { TotalPartsCount: 1, IsTruncated: false, MaxParts: 1000 })
    assert.deepStrictEqual(ObjectParts?.Parts, [{ PartNumber: 1, Size: 5, ChecksumSHA256 }])
    await put("whole", "x")
    assert.isUndefined((await get("whole", { PartNumber: 1 })).PartsCount)
    const whole = new GetObjectAttributesCommand({ Bucket, Key: "whole", ObjectAttributes: ["ObjectParts"] })
    assert.isUndefined((await s3.client.send(whole)).ObjectParts)
  })

  it("have parts that are listed in pages", async () => {
    const of = { Bucket, Key: "paged" }
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ ...of, ChecksumAlgorithm: "CRC32" }))
    const Parts: Array<CompletedPart> = []
    for (const PartNumber of [1, 2, 3]) {
      const Body = randomBytes(PartNumber < 3 ? 5 * mebibyte : 1)
      const { ChecksumCRC32, ETag } = await s3.client.send(new UploadPartCommand({ ...of, UploadId, PartNumber, Body }))
      Parts.push({ PartNumber, ETag, ChecksumCRC32 })
    }
    await s3.client.send(new CompleteMultipartUploadCommand({ ...of, UploadId, MultipartUpload: { Parts } }))
    const page = async (PartNumberMarker?: string) => {
      const given = { ...of, ObjectAttributes: ["ObjectParts" as const], MaxParts: 2, PartNumberMarker }
      return (await s3.client.send(new GetObjectAttributesCommand(given))).ObjectParts
    }
    const first = await page()
    const second = await page(first?.NextPartNumberMarker)
    assert.deepStrictEqual([first?.IsTruncated, second?.IsTruncated], [true, false])
    assert.deepStrictEqual(
      [...(first?.Parts ?? []), ...(second?.Parts ?? [])].map(({ ChecksumCRC32, Size }) => [ChecksumCRC32, Size]),
      Parts.map(({ ChecksumCRC32 }, index) => [ChecksumCRC32, index < 2 ? 5 * mebibyte : 1])
    )
  })

  it("are listed, copied into, aborted", async () => {
    await put("source", "0123456789")
    const of = { Bucket, Key: "listed" }
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand(of))
    await s3.client.send(new UploadPartCommand({ ...of, UploadId, PartNumber: 7, Body: "seven" }))
    const copied = await s3.client.send(
      new UploadPartCopyCommand({
        ...of,
        UploadId,
        PartNumber: 9,
        CopySource: "first/source",
        CopySourceRange: "bytes=2-4"
      })
    )
    assert.strictEqual(copied.CopyPartResult?.ETag, `"${md5("234")}"`)
    const page = await s3.client.send(new ListPartsCommand({ ...of, UploadId, MaxParts: 1 }))
    assert.deepStrictEqual([page.IsTruncated, page.NextPartNumberMarker], [true, "7"])
    const rest = await s3.client.send(new ListPartsCommand({ ...of, UploadId, PartNumberMarker: "7" }))
    assert.deepStrictEqual(
      rest.Parts?.map(({ PartNumber, Size }) => [PartNumber, Size]),
      [[9, 3]]
    )
    const open = await s3.client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: "list" }))
    assert.deepStrictEqual(
      open.Uploads?.map(({ Key, UploadId: id }) => [Key, id]),
      [["listed", UploadId]]
    )
    const part = (PartNumber: number) =>
      s3.client.send(new UploadPartCommand({ ...of, UploadId, PartNumber, Body: "" }))
    for (const number of [0, 10_001]) assert.strictEqual(await refused(part(number)), "400 InvalidArgument")
    await s3.client.send(new AbortMultipartUploadCommand({ ...of, UploadId }))
    assert.strictEqual(await refused(part(1)), "404 NoSuchUpload")
    assert.strictEqual(await refused(s3.client.send(new ListPartsCommand({ ...of, UploadId }))), "404 NoSuchUpload")
  })
})

describe("an upload completed with the object's checksum", () => {
  const body = randomBytes(6 * mebibyte)
  const pieces = [body.subarray(0, 5 * mebibyte), body.subarray(5 * mebibyte)]

  /** An upload of two parts, and a function that completes it. */
  const opened = async (Key: string, rest: object, checksums = true) => {
    const of = { Bucket, Key }
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ ...of, ...rest }))
    const Parts: Array<CompletedPart> = []
    for (const [index, Body] of pieces.entries()) {
      const PartNumber = index + 1
      if (checksums) {
        const part = { ...of, UploadId, PartNumber, Body, ...rest }
        const { $metadata: _, ...sent } = await s3.client.send(new UploadPartCommand(part))
        Parts.push({ ...sent, PartNumber })
      } else {
        // The SDK would add a checksum.
        const query = { partNumber: String(PartNumber), uploadId: UploadId ?? "" }
        const { headers } = await call(s3, { method: "PUT", path: `/${Bucket}/${Key}`, query, body: Body })
        Parts.push({ ETag: String(headers["etag"]), PartNumber })
      }
    }
    const complete = (more: object) =>
      s3.client.send(new CompleteMultipartUploadCommand({ ...of, UploadId, MultipartUpload: { Parts }, ...more }))
    const isOpen = async () =>
      (await s3.client.send(new ListPartsCommand({ ...of, UploadId }))).Parts?.length === pieces.length
    return { complete, isOpen }
  }

  it("of the type FULL_OBJECT", async () => {
    const { ChecksumCRC32 } = await put("sums", body, { ChecksumAlgorithm: "CRC32" })
    const right = { ChecksumCRC32 }
    const { complete, isOpen } = await opened("full", { ChecksumAlgorithm: "CRC32", ChecksumType: "FULL_OBJECT" })
    for (const [more, refusal] of [
      [{ ChecksumCRC32: "AAAAAA==" }, "400 BadDigest"],
      [{ ChecksumCRC32: "nonsense" }, "400 InvalidRequest"],
      [{ ...right, ChecksumType: "COMPOSITE" }, "400 BadDigest"],
      [{ ChecksumSHA1: "2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }, "400 InvalidRequest"],
      [{ ...right, MpuObjectSize: body.length - 1 }, "400 InvalidRequest"]
    ] as const) {
      assert.strictEqual(await refused(complete(more)), refusal)
      assert.isTrue(await isOpen())
    }
    const headers = { ...right, ChecksumType: "FULL_OBJECT", MpuObjectSize: body.length }
    assert.deepInclude(await complete(headers), right)
    // The client may not have received the response.
    assert.deepInclude(await complete(headers), right)
    assert.strictEqual(await refused(complete({ ChecksumCRC32: "AAAAAA==" })), "400 BadDigest")
    const found = await get("full", { ChecksumMode: "ENABLED" })
    assert.deepInclude(found, { ...right, ChecksumType: "FULL_OBJECT" })
    assert.isTrue(found.bytes.equals(body))
  })

  it.each(["CRC32C", "SHA256"] as const)("of the type COMPOSITE: %s", async (ChecksumAlgorithm) => {
    const name = `Checksum${ChecksumAlgorithm}` as const
    const first = await opened("composite", { ChecksumAlgorithm })
    const value = String((await first.complete({}))[name])
    assert.match(value, /-2$/)
    const { complete, isOpen } = await opened("composite", { ChecksumAlgorithm })
    const wrong = value.replace(/^.{3}/, (start) => (start === "AAA" ? "BBB" : "AAA"))
    for (const each of [wrong, value.replace("-2", "-3")]) {
      assert.strictEqual(await refused(complete({ [name]: each })), "400 BadDigest")
      assert.isTrue(await isOpen())
    }
    // Some clients leave the number of parts out.
    const { ETag } = await complete({ [name]: value.replace("-2", "") })
    assert.match(ETag ?? "", /-2"$/)
    assert.strictEqual((await get("composite", { ChecksumMode: "ENABLED" }))[name], value)
  })

  it("that only its parts have, or not even they", async () => {
    const { ChecksumCRC64NVME } = await put("sums", body, { ChecksumAlgorithm: "CRC64NVME" })
    const right = { ChecksumCRC64NVME }
    const withSums = await opened("implied", { ChecksumAlgorithm: "CRC64NVME" })
    assert.deepInclude(await withSums.complete(right), right)
    const without = await opened("none", { ChecksumAlgorithm: undefined }, false)
    assert.strictEqual(await refused(without.complete(right)), "400 InvalidRequest")
    assert.isTrue(await without.isOpen())
    await without.complete({})
  })
})

describe("an upload completed twice at the same time", () => {
  it("creates one object and returns it twice", async () => {
    const of = { Bucket, Key: "twice" }
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand(of))
    const { ETag } = await s3.client.send(new UploadPartCommand({ ...of, UploadId, PartNumber: 1, Body: "part" }))
    const complete = (PartNumber = 1, etag = ETag) =>
      s3.client.send(
        new CompleteMultipartUploadCommand({
          ...of,
          UploadId,
          MultipartUpload: { Parts: [{ PartNumber, ETag: etag }] }
        })
      )
    assert.strictEqual(await refused(complete(2)), "400 InvalidPart")
    assert.strictEqual(await refused(complete(1, '"0"')), "400 InvalidPart")
    const [one, two] = await Promise.all([complete(), complete()])
    assert.strictEqual(one.ETag, two.ETag)
    assert.strictEqual((await get("twice")).bytes.toString(), "part")
  })
})

describe("listings", () => {
  it("have pages, prefixes and delimiters, in both versions", async () => {
    const name = "listings"
    await s3.client.send(new CreateBucketCommand({ Bucket: name }))
    const keys = ["a/1", "a/2", "b", "c/x/1", "c/y", "d", "é", "😀"]
    await Promise.all(keys.map((Key) => s3.client.send(new PutObjectCommand({ Bucket: name, Key, Body: "x" }))))
    const seen: Array<string | undefined> = []
    let ContinuationToken: string | undefined
    do {
      const page = await s3.client.send(
        new ListObjectsV2Command({
          Bucket: name,
          Delimiter: "/",
          MaxKeys: 2,
          ...(ContinuationToken === undefined ? {} : { ContinuationToken })
        })
      )
      assert.strictEqual(page.KeyCount, (page.Contents?.length ?? 0) + (page.CommonPrefixes?.length ?? 0))
      seen.push(
        ...(page.Contents ?? []).map(({ Key }) => Key),
        ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix)
      )
      ContinuationToken = page.NextContinuationToken
    } while (ContinuationToken !== undefined)
    assert.deepStrictEqual(seen.toSorted(), ["a/", "b", "c/", "d", "é", "😀"].toSorted())
    const after = { Bucket: name, StartAfter: "b", MaxKeys: 1 }
    const first = await s3.client.send(new ListObjectsV2Command(after))
    const second = await s3.client.send(
      new ListObjectsV2Command({ ...after, ContinuationToken: first.NextContinuationToken })
    )
    assert.deepStrictEqual([second.StartAfter, second.Contents?.[0]?.Key], ["b", "c/y"])
    const list = async (rest: object) => {
      const { CommonPrefixes, Contents } = await s3.client.send(new ListObjectsCommand({ Bucket: name, ...rest }))
      return [...(Contents ?? []).map(({ Key }) => Key), ...(CommonPrefixes ?? []).map(({ Prefix }) => Prefix)]
    }
    assert.deepStrictEqual(await list({}), keys)
    assert.deepStrictEqual(await list({ Prefix: "c/", Delimiter: "/" }), ["c/y", "c/x/"])
    assert.deepStrictEqual(await list({ Marker: "c/y" }), ["d", "é", "😀"])
    assert.deepStrictEqual(await list({ MaxKeys: 0 }), [])
    const { Versions } = await s3.client.send(new ListObjectVersionsCommand({ Bucket: name, Prefix: "a/" }))
    assert.deepStrictEqual(
      Versions?.map(({ IsLatest, Key, VersionId }) => [Key, VersionId, IsLatest]),
      [
        ["a/1", "null", true],
        ["a/2", "null", true]
      ]
    )
    const bad = s3.client.send(new ListObjectsV2Command({ Bucket: name, ContinuationToken: "nonsense" }))
    assert.strictEqual(await refused(bad), "400 InvalidArgument")
    assert.strictEqual((await call(s3, { path: `/${name}`, query: { "max-keys": "-1" } })).code, "InvalidArgument")
    const full = s3.client.send(new DeleteBucketCommand({ Bucket: name }))
    assert.strictEqual(await refused(full), "409 BucketNotEmpty")
    const Objects = [...keys, "missing"].map((Key) => ({ Key }))
    const { Deleted } = await s3.client.send(new DeleteObjectsCommand({ Bucket: name, Delete: { Objects } }))
    assert.strictEqual(Deleted?.length, 9)
    await s3.client.send(new DeleteBucketCommand({ Bucket: name }))
  })
})
