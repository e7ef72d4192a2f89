import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketTaggingCommand,
  DeleteObjectTaggingCommand,
  GetBucketTaggingCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  PutBucketPolicyCommand,
  PutBucketTaggingCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  UploadPartCommand
} from "@aws-sdk/client-s3"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, raw, refused, type S3, startS3 } from "../../support/storage/s3.ts"

let s3: S3
beforeAll(async () => {
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket: "tags" }))
})
afterAll(() => s3.stop())

const Bucket = "tags"
const put = (Key: string, Tagging?: string) =>
  s3.client.send(new PutObjectCommand({ Bucket, Key, Body: "x", ...(Tagging === undefined ? {} : { Tagging }) }))
const tagsOf = async (Key: string) =>
  Object.fromEntries(
    ((await s3.client.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet ?? []).map(
      ({ Key: name = "", Value }) => [name, Value]
    )
  )
const setTags = (Key: string, tags: Readonly<Record<string, string>>) =>
  s3.client.send(
    new PutObjectTaggingCommand({
      Bucket,
      Key,
      Tagging: { TagSet: Object.entries(tags).map(([name, Value]) => ({ Key: name, Value })) }
    })
  )
const head = (Key: string) => s3.client.send(new HeadObjectCommand({ Bucket, Key }))

describe("tags of objects", () => {
  it("are set with the object, counted, replaced and deleted, which changes nothing else", async () => {
    await put("a", "project=blue%20sky&empty=&%C3%A9=%2B")
    assert.deepStrictEqual(await tagsOf("a"), { project: "blue sky", empty: "", é: "+" })
    const before = await head("a")
    assert.strictEqual(before.TagCount, 3)
    assert.strictEqual((await s3.client.send(new GetObjectCommand({ Bucket, Key: "a" }))).TagCount, 3)
    await setTags("a", { "only/one": "v:1" })
    assert.deepStrictEqual(await tagsOf("a"), { "only/one": "v:1" })
    const after = await head("a")
    assert.deepStrictEqual([after.LastModified, after.ETag, after.TagCount], [before.LastModified, before.ETag, 1])
    await s3.client.send(new DeleteObjectTaggingCommand({ Bucket, Key: "a" }))
    assert.deepStrictEqual(await tagsOf("a"), {})
    assert.isUndefined((await head("a")).TagCount)
    // A new object has none of the old one's.
    await setTags("a", { old: "1" })
    await put("a")
    assert.deepStrictEqual(await tagsOf("a"), {})
    assert.strictEqual(await refused(tagsOf("none")), "404 NoSuchKey")
    assert.strictEqual(await refused(setTags("none", {})), "404 NoSuchKey")
  })

  it("are copied or replaced, as the directive says", async () => {
    await put("from", "a=1")
    const copy = (rest: object) =>
      s3.client.send(new CopyObjectCommand({ Bucket, Key: "to", CopySource: `${Bucket}/from`, ...rest }))
    await copy({})
    assert.deepStrictEqual(await tagsOf("to"), { a: "1" })
    await copy({ TaggingDirective: "REPLACE", Tagging: "b=2" })
    assert.deepStrictEqual(await tagsOf("to"), { b: "2" })
    await copy({ TaggingDirective: "REPLACE" })
    assert.deepStrictEqual(await tagsOf("to"), {})
    assert.strictEqual(await refused(copy({ Tagging: "b=2" })), "400 InvalidRequest")
    assert.deepStrictEqual(await tagsOf("to"), {})
  })

  it("of an upload in parts are those of its creation", async () => {
    const of = { Bucket, Key: "parts" }
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ ...of, Tagging: "in=parts" }))
    const { ETag } = await s3.client.send(new UploadPartCommand({ ...of, UploadId, PartNumber: 1, Body: "x" }))
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    await s3.client.send(new CompleteMultipartUploadCommand({ ...of, UploadId, MultipartUpload }))
    assert.deepStrictEqual(await tagsOf("parts"), { in: "parts" })
  })

  it("may have the names of properties", async () => {
    const { text } = await call(s3, {
      method: "PUT",
      path: "/tags/odd",
      body: "x",
      headers: { "x-amz-tagging": "__proto__=1&constructor=2" }
    })
    assert.strictEqual(text, "")
    const found = await call(s3, { path: "/tags/odd", query: { tagging: "" } })
    assert.include(found.text, "<Key>__proto__</Key><Value>1</Value>")
    assert.include(found.text, "<Key>constructor</Key><Value>2</Value>")
  })

  it("are limited in number, length and characters", async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, ""]))
    await put("limits")
    await setTags("limits", many(10))
    for (const [tags, error] of [
      [many(11), "400 BadRequest"],
      [{ "": "x" }, "400 InvalidTag"],
      [{ ["k".repeat(129)]: "x" }, "400 InvalidTag"],
      [{ k: "v".repeat(257) }, "400 InvalidTag"],
      [{ k: "<>" }, "400 InvalidTag"],
      [{ "aws:x": "1" }, "400 InvalidTag"]
    ] as const) {
      assert.strictEqual(await refused(setTags("limits", tags)), error, JSON.stringify(tags).slice(0, 40))
    }
    for (const [header, error] of [
      ["a=1&a=2", "400 InvalidTag"],
      ["a=%zz", "400 InvalidArgument"],
      [`&`.repeat(5_000), "400 BadRequest"],
      ["%3C=1", "400 InvalidTag"]
    ] as const) {
      assert.strictEqual(await refused(put("limits", header)), error, header.slice(0, 40))
    }
    assert.lengthOf(Object.keys(await tagsOf("limits")), 10)
    for (const body of ["", "x", "<Tagging/>", "<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>"]) {
      const { code } = await call(s3, { method: "PUT", path: "/tags/limits", query: { tagging: "" }, body })
      assert.strictEqual(code, "MalformedXML", body)
    }
  })

  it("are hidden from callers who may not read them, and need a permission of their own", async () => {
    await s3.client.send(new CreateBucketCommand({ Bucket: "public-tags" }))
    await s3.client.send(new PutObjectCommand({ Bucket: "public-tags", Key: "k", Body: "x", Tagging: "secret=1" }))
    const allow = (Action: ReadonlyArray<string>) =>
      s3.client.send(
        new PutBucketPolicyCommand({
          Bucket: "public-tags",
          Policy: JSON.stringify({
            Version: "2012-10-17",
            Statement: [{ Effect: "Allow", Principal: "*", Action, Resource: "arn:aws:s3:::public-tags/*" }]
          })
        })
      )
    await allow(["s3:GetObject", "s3:PutObject"])
    const got = await raw(s3, "GET", "/public-tags/k")
    assert.deepStrictEqual([got.status, got.headers["x-amz-tagging-count"]], [200, undefined])
    assert.strictEqual((await raw(s3, "GET", "/public-tags/k?tagging")).status, 403)
    const tagged = { "x-amz-tagging": "a=b" }
    assert.strictEqual((await raw(s3, "PUT", "/public-tags/new", tagged, "x")).status, 403)
    assert.strictEqual((await raw(s3, "PUT", "/public-tags/new", {}, "x")).status, 200)
    // A copy would show the tags to its owner.
    const copied = { "x-amz-copy-source": "public-tags/k" }
    assert.strictEqual((await raw(s3, "PUT", "/public-tags/copy", copied)).status, 403)
    await allow(["s3:GetObject", "s3:PutObject", "s3:GetObjectTagging", "s3:PutObjectTagging"])
    assert.strictEqual((await raw(s3, "PUT", "/public-tags/copy", copied)).status, 200)
    assert.strictEqual((await raw(s3, "PUT", "/public-tags/new", tagged, "x")).status, 200)
    assert.strictEqual((await raw(s3, "GET", "/public-tags/k")).headers["x-amz-tagging-count"], "1")
  })

  it("of a form are a document", async () => {
    await s3.client.send(new CreateBucketCommand({ Bucket: "form-tags" }))
    const statement = {
      Effect: "Allow",
      Principal: "*",
      Action: ["s3:PutObject", "s3:PutObjectTagging"],
      Resource: "arn:aws:s3:::form-tags/*"
    }
    const Policy = JSON.stringify({ Version: "2012-10-17", Statement: [statement] })
    await s3.client.send(new PutBucketPolicyCommand({ Bucket: "form-tags", Policy }))
    const post = (tagging: string) => {
      const form = new FormData()
      form.set("key", "k")
      form.set("tagging", tagging)
      form.set("file", new Blob(["x"]))
      return fetch(`${s3.endpoint}/form-tags`, { method: "POST", body: form })
    }
    const tags = "<Tagging><TagSet><Tag><Key>a&amp;b</Key><Value>1</Value></Tag></TagSet></Tagging>"
    assert.strictEqual((await post(tags)).status, 400, "& is not allowed")
    assert.strictEqual((await post("a=b")).status, 400)
    assert.strictEqual((await post(tags.replace("&amp;", "=é "))).status, 204)
    const { TagSet } = await s3.client.send(new GetObjectTaggingCommand({ Bucket: "form-tags", Key: "k" }))
    assert.deepStrictEqual(TagSet, [{ Key: "a=é b", Value: "1" }])
  })
})

describe("tags of a bucket", () => {
  it("are set, read and deleted", async () => {
    const get = () => s3.client.send(new GetBucketTaggingCommand({ Bucket }))
    const set = (count: number) =>
      s3.client.send(
        new PutBucketTaggingCommand({
          Bucket,
          Tagging: { TagSet: Array.from({ length: count }, (_, n) => ({ Key: `k${n}`, Value: `${n}` })) }
        })
      )
    assert.strictEqual(await refused(get()), "404 NoSuchTagSet")
    await set(50)
    assert.deepStrictEqual((await get()).TagSet?.at(-1), { Key: "k49", Value: "49" })
    assert.strictEqual(await refused(set(51)), "400 BadRequest")
    await s3.client.send(new DeleteBucketTaggingCommand({ Bucket }))
    assert.strictEqual(await refused(get()), "404 NoSuchTagSet")
    assert.strictEqual(
      await refused(s3.client.send(new GetBucketTaggingCommand({ Bucket: "no-such-bucket-here" }))),
      "404 NoSuchBucket"
    )
  })
})
