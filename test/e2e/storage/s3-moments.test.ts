import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  PutObjectTaggingCommand
} from "@aws-sdk/client-s3"
import { createHmac } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, presigned, raw, type S3, type S3Call, startS3 } from "../../support/storage/s3.ts"

const name = "x-svc-objects-at"

describe("objects of an earlier time", () => {
  let s3: S3
  /** Between the writes of `before` and those that followed. */
  let then = 0
  const Bucket = "moments"

  /** Waits for the next millisecond, in which the history sees what was written before. */
  const nextMillisecond = async () => {
    const now = Date.now()
    while (Date.now() === now) await Promise.resolve()
    return Date.now() - 1
  }

  beforeAll(async () => {
    s3 = await startS3({ SVC_PITR: "true" })
    const put = (Key: string, Body: string, Tagging?: string) =>
      s3.client.send(new PutObjectCommand({ Bucket, Key, Body, Tagging }))
    for (const name of [Bucket, "gone"]) await s3.client.send(new CreateBucketCommand({ Bucket: name }))
    await put("a/1", "one", "n=1")
    await put("a/2", "two")
    await put("b", "deleted later")
    then = await nextMillisecond()
    await put("a/1", "changed")
    await put("new", "new")
    await s3.client.send(
      new PutObjectTaggingCommand({ Bucket, Key: "a/2", Tagging: { TagSet: [{ Key: "n", Value: "9" }] } })
    )
    await s3.client.send(new DeleteObjectCommand({ Bucket, Key: "b" }))
    await s3.client.send(new DeleteBucketCommand({ Bucket: "gone" }))
  })
  afterAll(() => s3.stop())

  const ask = ({ query = {}, ...given }: S3Call, at: number | string = then) =>
    call(s3, { ...given, query: { ...query, [name]: String(at) } })
  const names = (text: string, tag: string) =>
    [...text.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, "g"))].map(([, inner]) => inner)

  it("are listed and read as they were, with their buckets and tags", async () => {
    assert.deepStrictEqual(names((await ask({ path: "/" })).text, "Name"), ["gone", Bucket])
    for (const query of [{}, { "list-type": "2" }]) {
      assert.deepStrictEqual(names((await ask({ path: `/${Bucket}`, query })).text, "Key"), ["a/1", "a/2", "b"])
    }
    const grouped = (await ask({ path: `/${Bucket}`, query: { delimiter: "/" } })).text
    assert.deepStrictEqual([names(grouped, "Key"), names(grouped, "Prefix").slice(-1)], [["b"], ["a/"]])
    assert.strictEqual((await ask({ path: `/${Bucket}/a/1` })).text, "one")
    assert.strictEqual((await ask({ path: `/${Bucket}/b` })).text, "deleted later")
    assert.strictEqual((await ask({ method: "HEAD", path: `/${Bucket}/b` })).headers["content-length"], "13")
    assert.deepStrictEqual(names((await ask({ path: `/${Bucket}/a/1`, query: { tagging: "" } })).text, "Value"), ["1"])
    assert.deepStrictEqual(names((await ask({ path: `/${Bucket}/a/2`, query: { tagging: "" } })).text, "Value"), [])
    assert.strictEqual((await ask({ path: `/${Bucket}/new` })).code, "NoSuchKey")
    assert.strictEqual((await ask({ method: "HEAD", path: "/gone" })).status, 200)
    assert.strictEqual((await ask({ path: "/never" })).code, "NoSuchBucket")
    const range = await ask({ path: `/${Bucket}/b`, headers: { range: "bytes=0-6" } })
    assert.deepStrictEqual([range.status, range.text], [206, "deleted"])
  })

  it("are only read", async () => {
    const requests: ReadonlyArray<S3Call> = [
      { method: "PUT", path: `/${Bucket}/x`, body: "x" },
      { method: "DELETE", path: `/${Bucket}/b` },
      { method: "PUT", path: `/${Bucket}/b`, query: { tagging: "" }, body: "<Tagging/>" },
      { method: "POST", path: `/${Bucket}/b`, query: { uploads: "" } },
      { method: "POST", path: `/${Bucket}`, query: { delete: "" }, body: "<Delete/>" },
      { method: "PUT", path: "/made" },
      { method: "DELETE", path: `/${Bucket}` },
      { path: `/${Bucket}`, query: { versions: "" } },
      { path: `/${Bucket}`, query: { policy: "" } }
    ]
    for (const request of requests) {
      const { code, status } = await ask(request)
      assert.deepStrictEqual([status, code], [405, "MethodNotAllowed"], JSON.stringify(request))
    }
  })

  it("are refused for times that are not kept or no times", async () => {
    const early = await ask({ path: `/${Bucket}` }, 1000)
    assert.deepStrictEqual([early.status, early.code], [409, "ObjectsNotKept"])
    for (const at of ["", "-1", "1e3", "now", "9".repeat(16)]) {
      assert.strictEqual((await ask({ path: `/${Bucket}/b` }, at)).code, "InvalidArgument", at)
    }
    const query = { versionId: "null" }
    assert.strictEqual((await ask({ path: `/${Bucket}/b`, query })).code, "InvalidArgument")
  })

  it("are for those who signed the time", async () => {
    const url = await presigned(s3, { path: `/${Bucket}/a/1`, query: { [name]: String(then) } })
    assert.strictEqual((await raw(s3, "GET", url)).text, "one")
    const moved = [
      url.replace(`${name}=${then}`, `${name}=${then + 1}`),
      url.replace(`${name}=${then}&`, ""),
      url.replace(`${name}=${then}`, `${name}=0&${name}=${then}`),
      `${url}&${name}=${then + 1}`
    ]
    for (const other of moved) {
      assert.notStrictEqual(other, url)
      assert.deepInclude(await raw(s3, "GET", other), { status: 403, code: "SignatureDoesNotMatch" })
    }
    const present = await presigned(s3, { path: `/${Bucket}/a/1` })
    assert.strictEqual((await raw(s3, "GET", `${present}&${name}=${then}`)).code, "SignatureDoesNotMatch")
    assert.strictEqual((await raw(s3, "GET", `/${Bucket}/a/1?${name}=${then}`)).code, "AccessDenied")
    // Version 2 signs none of the query that is not S3's.
    const Expires = Math.floor(Date.now() / 1000) + 60
    const { accessKeyId, secretAccessKey } = s3.credentials
    const signature = createHmac("sha1", secretAccessKey).update(`GET\n\n\n${Expires}\n/${Bucket}/a/1`).digest("base64")
    const second = `/${Bucket}/a/1?AWSAccessKeyId=${accessKeyId}&Expires=${Expires}&Signature=${encodeURIComponent(signature)}`
    assert.strictEqual((await raw(s3, "GET", second)).text, "changed")
    assert.strictEqual((await raw(s3, "GET", `${second}&${name}=${then}`)).code, "AccessDenied")
  })
})
