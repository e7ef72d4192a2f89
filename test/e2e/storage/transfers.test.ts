import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, inject, it } from "vitest"
import { makeBuckets } from "../../support/storage/buckets.ts"
import { ask, assertRefused } from "../../support/client.ts"
import { until } from "../../support/service.ts"

const service = inject("service")
const { bucketOf, inBucket, upload } = makeBuckets(service)

interface Signed {
  readonly url: string
  readonly headers: Record<string, string>
  readonly expires_at: string
}

const sign = async (bucket: string, what: string, body: object) => {
  const reply = await inBucket(bucket, `POST ${what}`, body)
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as Signed
}
const put = (url: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  fetch(url, { method: "PUT", body: body as Exclude<RequestInit["body"], undefined>, headers })

const keys = ["a.txt", "/leading", "double//slash/", "sp ace+%2F&?#='()*!", "漢字/é/😀", "\x01\t\r\n\u2028"]

describe("presigned URLs", () => {
  it.each(keys)("upload and download %j", async (key) => {
    const bucket = await bucketOf()
    const { expires_at, headers, url } = await sign(bucket, "presign-upload", { key, contentType: "text/x-test" })
    assert.deepStrictEqual(headers, { "Content-Type": "text/x-test" })
    assert.closeTo(Date.parse(expires_at), Date.now() + 900_000, 5000)
    assert.strictEqual((await put(url, key, headers)).status, 200)
    const download = await sign(bucket, "presign-download", { key })
    const response = await fetch(download.url)
    assert.strictEqual(response.headers.get("content-type"), "text/x-test")
    assert.strictEqual(await response.text(), key)
    const part = await fetch(download.url, { headers: { range: "bytes=0-0" } })
    assert.strictEqual(part.status, 206)
  })

  it("allow a single operation", async () => {
    const bucket = await bucketOf()
    const { headers, url } = await sign(bucket, "presign-upload", { key: "one", contentType: "image/png" })
    assert.strictEqual((await put(url, "x", { "content-type": "text/html" })).status, 403)
    assert.strictEqual((await put(url, "x")).status, 403)
    assert.strictEqual((await put(url.replace("/one?", "/two?"), "x", headers)).status, 403)
    assert.strictEqual((await put(url.replace("Expires=900", "Expires=901"), "x", headers)).status, 403)
    const flipped = url.replace(/Signature=(.)/, (_, first: string) => `Signature=${first === "0" ? "1" : "0"}`)
    assert.strictEqual((await put(flipped, "x", headers)).status, 403)
    assert.strictEqual((await fetch(url)).status, 403)
    assertRefused(await inBucket(bucket, "POST presign-download", { key: "one" }), 404, "OBJECT_NOT_FOUND")
    assert.strictEqual((await put(url, "x", headers)).status, 200)
    const download = await sign(bucket, "presign-download", { key: "one" })
    assert.strictEqual((await fetch(download.url, { method: "DELETE" })).status, 403)
    assert.strictEqual((await fetch(download.url)).status, 200)
  })

  it("are signed where a policy denies the service what it allows their users", async () => {
    const bucket = await bucketOf()
    await upload(bucket, "held")
    const policy = (actions: ReadonlyArray<string>) => ({
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Deny",
          Principal: "*",
          Action: actions,
          Resource: [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`],
          Condition: { StringNotLike: { "aws:Referer": "https://app.example/*" } }
        }
      ]
    })
    const actions = ["s3:GetObject", "s3:PutObject", "s3:ListBucket"]
    const set = (document: unknown) =>
      ask(service, `PUT /api/storage/buckets/${bucket}/policy`, {
        key: service.service_role,
        body: { policy: document }
      })
    assert.strictEqual((await set(policy(actions))).status, 200)
    try {
      const ours = { referer: "https://app.example/files" }
      const download = await sign(bucket, "presign-download", { key: "held" })
      assert.strictEqual((await fetch(download.url)).status, 403)
      assert.strictEqual((await fetch(download.url, { headers: ours })).status, 200)
      const { headers, url } = await sign(bucket, "presign-upload", { key: "new", contentType: "a/b" })
      assert.strictEqual((await put(url, "x", headers)).status, 403)
      assert.strictEqual((await put(url, "x", { ...headers, ...ours })).status, 200)
    } finally {
      await set(null)
    }
  })

  it("limit an upload to the size that they were made for", async () => {
    const bucket = await bucketOf()
    const { headers, url } = await sign(bucket, "presign-upload", { key: "sized", contentType: "a/b", size: 3 })
    for (const body of ["", "ab", "abcd"]) assert.strictEqual((await put(url, body, headers)).status, 403)
    assert.strictEqual((await put(url, "abc", headers)).status, 200)
    for (const size of [-1, 1.5, 5 * 1024 ** 3 + 1, "3"]) {
      assertRefused(await inBucket(bucket, "POST presign-upload", { key: "k", contentType: "a/b", size }), 400)
    }
  })

  it("expire on time", async () => {
    const bucket = await bucketOf()
    await upload(bucket, "k")
    const { expires_at, url } = await sign(bucket, "presign-download", { key: "k", expiresIn: 1 })
    const late = await until(
      () => fetch(url),
      ({ status }) => status !== 200
    )
    assert.strictEqual(late.status, 403)
    assert.isAtLeast(Date.now(), Date.parse(expires_at))
  })

  it("are valid for 1 to 604800 seconds, by default 900", async () => {
    const bucket = await bucketOf()
    await upload(bucket, "k")
    const bodyOf = (expiresIn: unknown) => ({ key: "k", ...(expiresIn === undefined ? {} : { expiresIn }) })
    const typed = { contentType: "a/b" }
    const begun = await inBucket(bucket, "POST multipart/init", { key: "k", ...typed })
    const { uploadId } = begun.json as { uploadId: string }
    const more: Readonly<Record<string, object>> = {
      "presign-upload": typed,
      "multipart/presign-part": { uploadId, partNumber: 1 }
    }
    for (const what of ["presign-upload", "presign-download", "multipart/presign-part"]) {
      const rest = more[what] ?? {}
      for (const expiresIn of [1, undefined, 604_800]) {
        const { expires_at, url } = await sign(bucket, what, { ...bodyOf(expiresIn), ...rest })
        assert.include(url, `X-Amz-Expires=${expiresIn ?? 900}&`)
        assert.closeTo(Date.parse(expires_at), Date.now() + (expiresIn ?? 900) * 1000, 5000)
      }
      for (const expiresIn of [0, -1, 604_801, 1.5, "900", null, 1e300]) {
        const refused = await inBucket(bucket, `POST ${what}`, { ...bodyOf(expiresIn), ...rest })
        assert.match(String(assertRefused(refused, 400, "INVALID_REQUEST")["details"]), /^expiresIn: /)
      }
    }
  })

  it("require an existing bucket, and a valid key and type", async () => {
    const bucket = await bucketOf()
    for (const [what, typed] of Object.entries({
      "presign-upload": { contentType: "a/b" },
      "presign-download": {}
    })) {
      const send = (bucket: string, body: object) => inBucket(bucket, `POST ${what}`, body)
      assertRefused(await send("no-such-bucket-here", { key: "k", ...typed }), 404, "BUCKET_NOT_FOUND")
      assertRefused(await send(bucket, { key: "", ...typed }), 400, "INVALID_REQUEST")
      assertRefused(await send(bucket, typed), 400, "INVALID_REQUEST")
    }
    const { details } = assertRefused(await inBucket(bucket, "POST presign-upload", { key: "k" }), 400)
    assert.deepStrictEqual(details, ["contentType: Missing key"])
  })
})

describe("metadata", () => {
  const head = (bucket: string, key: string) => inBucket(bucket, `HEAD metadata?key=${encodeURIComponent(key)}`)
  const patch = (bucket: string, body: object) => inBucket(bucket, "PATCH metadata", body)

  it("is returned in headers", async () => {
    const bucket = await bucketOf()
    await upload(bucket, "é/0", "")
    const { headers, status, text } = await head(bucket, "é/0")
    assert.strictEqual(status, 200)
    assert.strictEqual(text, "")
    assert.strictEqual(headers.get("content-length"), "0")
    assert.strictEqual(headers.get("content-type"), "text/plain")
    assert.match(headers.get("etag") ?? "", /^"[0-9a-f]{32}"$/)
    assert.closeTo(Date.parse(headers.get("last-modified") ?? ""), Date.now(), 60_000)
    assert.isNull(headers.get("content-disposition"))
    assert.strictEqual((await head(bucket, "none")).status, 404)
    assert.strictEqual((await head("no-such-bucket-here", "k")).status, 404)
    assert.strictEqual((await head(bucket, "")).status, 400)
    assert.strictEqual((await inBucket(bucket, "HEAD metadata")).status, 400)
  })

  it("is merged: given values are set, nulls deleted, the rest kept", async () => {
    const bucket = await bucketOf()
    await upload(bucket, "k", "content")
    const first = await patch(bucket, {
      key: "k",
      metadata: { author: "Zoë 漢字", "X-Amz-Meta-Note": "plain", gone: "soon", spaces: " a  b " },
      contentDisposition: 'attachment; filename="k.txt"'
    })
    assert.strictEqual(first.status, 200, first.text)
    const metadata = { author: "Zoë 漢字", note: "plain", gone: "soon", spaces: " a  b " }
    assert.deepInclude(first.json, { key: "k", size: 7, content_type: "text/plain", metadata })
    const second = await patch(bucket, {
      key: "k",
      metadata: { gone: null, note: "new" },
      contentType: "text/markdown"
    })
    assert.deepInclude(second.json, {
      content_type: "text/markdown",
      content_disposition: 'attachment; filename="k.txt"',
      metadata: { author: "Zoë 漢字", note: "new", spaces: " a  b " }
    })
    const { headers } = await head(bucket, "k")
    assert.strictEqual(headers.get("content-length"), "7")
    assert.strictEqual(headers.get("content-type"), "text/markdown")
    assert.strictEqual(headers.get("content-disposition"), 'attachment; filename="k.txt"')
    assert.strictEqual(headers.get("x-amz-meta-note"), "new")
    assert.match(headers.get("x-amz-meta-author") ?? "", /^=\?UTF-8\?B\?[\w+/=]+\?=$/)
    assert.isNull(headers.get("x-amz-meta-gone"))
    const named = await patch(bucket, { key: "k", metadata: { "Content-Type": "a/b", "content-disposition": null } })
    assert.deepInclude(named.json, { content_type: "a/b", content_disposition: null })
    const { url } = await sign(bucket, "presign-download", { key: "k" })
    assert.strictEqual(await (await fetch(url)).text(), "content")
  })

  it("has at most 2 KB, and names that are valid in headers", async () => {
    const bucket = await bucketOf()
    await upload(bucket, "k")
    const largest = { a: "x".repeat(2047) }
    assert.deepInclude((await patch(bucket, { key: "k", metadata: largest })).json, { metadata: largest })
    assertRefused(await patch(bucket, { key: "k", metadata: { b: "" } }), 400, "METADATA_TOO_LARGE")
    assertRefused(await patch(bucket, { key: "k", metadata: { a: "é".repeat(1024) } }), 400, "METADATA_TOO_LARGE")
    assert.strictEqual((await patch(bucket, { key: "k", metadata: { a: null, b: "" } })).status, 200)
    for (const [change, field] of [
      [{}, "metadata"],
      [{ metadata: { "a b": "x" } }, "metadata.a b"],
      [{ metadata: { a: 1 } }, "metadata.a"],
      [{ metadata: { a: "\n" } }, "metadata.a"],
      [{ contentType: "none" }, "contentType"]
    ] as const) {
      const { details } = assertRefused(await patch(bucket, { key: "k", ...change }), 400, "INVALID_REQUEST")
      assert.match(String(details), new RegExp(`^${field}: `))
    }
    assertRefused(await patch(bucket, { key: "none", metadata: { a: "b" } }), 404, "OBJECT_NOT_FOUND")
    assertRefused(await patch("no-such-bucket-here", { key: "k", metadata: { a: "b" } }), 404, "BUCKET_NOT_FOUND")
  })

  it("survives concurrent changes and uploads", async () => {
    const bucket = await bucketOf()
    await upload(bucket, "k", "content 0")
    const names = Array.from({ length: 12 }, (_, n) => `n${n}`)
    await Promise.all(
      names.map(async (name) => {
        const reply = await patch(bucket, { key: "k", metadata: { [name]: name } })
        assert.strictEqual(reply.status, 200, reply.text)
      })
    )
    const after = (await patch(bucket, { key: "k", metadata: {} })).json as { metadata: object }
    assert.deepStrictEqual(Object.keys(after.metadata).sort(), names.toSorted())

    const { url } = await sign(bucket, "presign-download", { key: "k" })
    for (let round = 1; round <= 20; round++) {
      const change = patch(bucket, { key: "k", metadata: { round: String(round) } })
      await sleep(Math.random() * 10)
      await upload(bucket, "k", `content ${round}`)
      assert.include([200, 409], (await change).status)
      assert.strictEqual(await (await fetch(url)).text(), `content ${round}`)
    }
  })
})

describe("multipart uploads", () => {
  const begin = async (bucket: string, key: string) => {
    const reply = await inBucket(bucket, "POST multipart/init", { key, contentType: "video/mp4" })
    assert.strictEqual(reply.status, 201, reply.text)
    const { uploadId, ...rest } = reply.json as { uploadId: string }
    assert.deepStrictEqual<object>(rest, { key, bucket })
    return { key, uploadId }
  }
  const putPart = async (bucket: string, upload: object, partNumber: number, bytes: Uint8Array) => {
    const { url } = await sign(bucket, "multipart/presign-part", { ...upload, partNumber })
    const response = await put(url, bytes)
    assert.strictEqual(response.status, 200, await response.text())
    return { partNumber, etag: response.headers.get("etag") ?? "" }
  }

  it("create one object", async () => {
    const bucket = await bucketOf()
    const upload = await begin(bucket, "v/é.mp4")
    const pieces = [new Uint8Array(randomBytes(5 * 1024 * 1024)), new Uint8Array(randomBytes(3))]
    const parts = [
      await putPart(bucket, upload, 1, pieces[0] as Uint8Array),
      await putPart(bucket, upload, 10_000, pieces[1] as Uint8Array)
    ]
    const query = `key=${encodeURIComponent(upload.key)}&uploadId=${encodeURIComponent(upload.uploadId)}`
    const listed = await inBucket(bucket, `GET multipart/parts?${query}`)
    assert.deepInclude(listed.json, { bucket, ...upload })
    const storedParts = (
      listed.json as { parts: ReadonlyArray<{ partNumber: number; etag: string; size: number; last_modified: string }> }
    ).parts
    assert.deepStrictEqual(
      storedParts.map(({ etag, partNumber, size }) => ({ partNumber, etag, size })),
      parts.map((part, index) => ({ ...part, size: pieces[index]?.length ?? 0 }))
    )
    const complete = (parts: unknown) => inBucket(bucket, "POST multipart/complete", { ...upload, parts })
    for (const [wrong, code] of [
      [parts.toReversed(), "INVALID_REQUEST"],
      [[parts[0], parts[0]], "INVALID_REQUEST"],
      [[], "INVALID_REQUEST"],
      [[{ partNumber: 0, etag: "x" }], "INVALID_REQUEST"],
      [[{ partNumber: 10_001, etag: "x" }], "INVALID_REQUEST"],
      [[parts[0], { ...parts[1], etag: parts[0]?.etag }], "INVALID_PART"],
      [[parts[0], { ...parts[1], partNumber: 2 }], "INVALID_PART"]
    ] as const) {
      assertRefused(await complete(wrong), 400, code)
    }
    const done = await complete(parts)
    assert.strictEqual(done.status, 200, done.text)
    const { etag, location } = done.json as { etag: string; location: string }
    assert.deepInclude(done.json, { bucket, key: upload.key })
    assert.match(etag, /^"[0-9a-f]{32}-2"$/)
    const { url } = await sign(bucket, "presign-download", { key: upload.key })
    assert.strictEqual(location, url.split("?")[0])
    const response = await fetch(url)
    assert.strictEqual(response.headers.get("content-type"), "video/mp4")
    assert.isTrue(Buffer.concat(pieces).equals(new Uint8Array(await response.arrayBuffer())))
    const part = { ...upload, partNumber: 1 }
    assertRefused(await inBucket(bucket, "POST multipart/presign-part", part), 404, "UPLOAD_NOT_FOUND")
    assertRefused(await inBucket(bucket, "POST multipart/abort", upload), 404, "UPLOAD_NOT_FOUND")
  })

  it("are listed while they are open, in pages", async () => {
    const bucket = await bucketOf()
    const made = [await begin(bucket, "b"), await begin(bucket, "a/1"), await begin(bucket, "a/2")]
    interface Uploads {
      readonly uploads: ReadonlyArray<{ readonly key: string; readonly uploadId: string }>
      readonly is_truncated: boolean
      readonly next_continuation_token: string | null
    }
    const page = async (query: string) => {
      const reply = await inBucket(bucket, `GET multipart/uploads?${query}`)
      assert.strictEqual(reply.status, 200, reply.text)
      return reply.json as Uploads
    }
    const first = await page("max_uploads=2")
    assert.deepStrictEqual(
      first.uploads.map(({ key }) => key),
      ["a/1", "a/2"]
    )
    const second = await page(`max_uploads=2&continuation_token=${first.next_continuation_token}`)
    assert.deepStrictEqual(
      [...first.uploads, ...second.uploads].map(({ uploadId }) => uploadId).toSorted(),
      made.map(({ uploadId }) => uploadId).toSorted()
    )
    assert.deepInclude(second, { is_truncated: false, next_continuation_token: null })
    assert.lengthOf((await page("prefix=a%2F")).uploads, 2)
    for (const query of ["max_uploads=0", "max_uploads=1001", "continuation_token=x", "continuation_token="]) {
      assertRefused(await inBucket(bucket, `GET multipart/uploads?${query}`), 400, "INVALID_REQUEST")
    }
    assertRefused(await inBucket("no-such-bucket-here", "GET multipart/uploads"), 404, "BUCKET_NOT_FOUND")
  })

  it("can be aborted, and validate the size and number of parts", async () => {
    const bucket = await bucketOf()
    const upload = await begin(bucket, "k")
    for (const partNumber of [0, 10_001, -1, 1.5, "1"]) {
      const refused = await inBucket(bucket, "POST multipart/presign-part", { ...upload, partNumber })
      assert.match(String(assertRefused(refused, 400, "INVALID_REQUEST")["details"]), /^partNumber: /)
    }
    const parts = [await putPart(bucket, upload, 1, randomBytes(5)), await putPart(bucket, upload, 2, randomBytes(5))]
    const small = await inBucket(bucket, "POST multipart/complete", { ...upload, parts })
    assertRefused(small, 400, "PART_TOO_SMALL")
    const aborted = await inBucket(bucket, "POST multipart/abort", upload)
    assert.deepStrictEqual(aborted.json, { success: true })
    assertRefused(await inBucket(bucket, "POST multipart/complete", { ...upload, parts }), 404, "UPLOAD_NOT_FOUND")
    const query = `key=k&uploadId=${encodeURIComponent(upload.uploadId)}`
    assertRefused(await inBucket(bucket, `GET multipart/parts?${query}`), 404, "UPLOAD_NOT_FOUND")
    assertRefused(await inBucket(bucket, "GET multipart/parts?key=k"), 400, "INVALID_REQUEST")
    assertRefused(await inBucket(bucket, "POST multipart/abort", { key: "k", uploadId: "" }), 400, "INVALID_REQUEST")
    const none = { key: "k", contentType: "a/b" }
    assertRefused(await inBucket("no-such-bucket-here", "POST multipart/init", none), 404, "BUCKET_NOT_FOUND")
  })
})
