import { PutObjectCommand } from "@aws-sdk/client-s3"
import { assert, describe, inject, it } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { makeBuckets } from "../../support/storage/buckets.ts"

const service = inject("service")
const key = service.service_role
const { bucketOf, inBucket, list, s3Of, upload } = makeBuckets(service)

interface Entry {
  readonly key: string
  readonly size: number
  readonly etag: string
  readonly last_modified: string
}
interface Page {
  readonly objects: ReadonlyArray<Entry>
  readonly is_truncated: boolean
  readonly next_continuation_token: string | null
}

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe("buckets", () => {
  const buckets = async (path = "/api/storage/buckets") =>
    (await ask(service, `GET ${path}`, { key })).json as {
      buckets: ReadonlyArray<{ name: string; created_at: string }>
    }

  it("are created, listed and deleted", async () => {
    const name = `made.by-${Date.now()}`
    const made = await ask(service, "POST /api/storage/buckets", { key, body: { name } })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.json, { name })
    assert.match((made.json as { created_at: string }).created_at, iso)
    assert.deepStrictEqual(
      (await buckets()).buckets.find((one) => one.name === name),
      made.json as { name: string; created_at: string }
    )
    assert.deepStrictEqual(await buckets(), await buckets("/v1/storage/buckets"))
    const again = await ask(service, "POST /api/storage/buckets", { key, body: { name } })
    assertRefused(again, 409, "BUCKET_EXISTS")
    const removed = await ask(service, `DELETE /api/storage/buckets/${name}`, { key })
    assert.strictEqual(removed.status, 200, removed.text)
    assert.deepStrictEqual(removed.json, { success: true })
    assertRefused(await ask(service, `DELETE /api/storage/buckets/${name}`, { key }), 404, "BUCKET_NOT_FOUND")
    assertRefused(
      await ask(service, `DELETE /api/storage/buckets/${name}?force=true`, { key }),
      404,
      "BUCKET_NOT_FOUND"
    )
    assert.isFalse((await buckets()).buckets.some((one) => one.name === name))
  })

  it("have names of 3 to 63 characters", async () => {
    const short = `${Math.random().toString(36).slice(2, 5)}`.padEnd(3, "0")
    for (const name of [short, `a${Date.now()}`.padEnd(63, "b")]) {
      const made = await ask(service, "POST /api/storage/buckets", { key, body: { name } })
      assert.strictEqual(made.status, 201, made.text)
      assert.strictEqual((await ask(service, `DELETE /api/storage/buckets/${name}`, { key })).status, 200)
    }
  })

  it.each(["", "ab", "a".repeat(64), "Upper", "a_b", "192.168.1.1", "xn--abc", "-ab", "a..b", "é--", 3, null])(
    "are not named %j",
    async (name) => {
      const reply = await ask(service, "POST /api/storage/buckets", { key, body: { name } })
      assert.match(String(assertRefused(reply, 400, "INVALID_REQUEST")["details"]), /^name: /)
      if (typeof name !== "string" || name === "") return
      const path = `/api/storage/buckets/${encodeURIComponent(name)}/objects`
      assert.match(String(assertRefused(await ask(service, `GET ${path}`, { key }), 400)["details"]), /^bucket: /)
    }
  )

  it("are deleted with their content only by force", async () => {
    const bucket = await bucketOf()
    await Promise.all(["a", "b/c", "//", "é😀"].map((name) => upload(bucket, name)))
    const begun = await inBucket(bucket, "POST multipart/init", { key: "open", contentType: "a/b" })
    assert.strictEqual(begun.status, 201, begun.text)
    const path = `/api/storage/buckets/${bucket}`
    assertRefused(await ask(service, `DELETE ${path}`, { key }), 409, "BUCKET_NOT_EMPTY")
    assertRefused(await ask(service, `DELETE ${path}?force=false`, { key }), 409, "BUCKET_NOT_EMPTY")
    assertRefused(await ask(service, `DELETE ${path}?force=yes`, { key }), 400, "INVALID_REQUEST")
    assert.deepStrictEqual((await ask(service, `DELETE ${path}?force=true`, { key })).json, { success: true })
    assertRefused(await ask(service, `GET ${path}/objects`, { key }), 404, "BUCKET_NOT_FOUND")
  })

  it("have a policy and CORS rules, null and [] by default", async () => {
    const bucket = await bucketOf()
    const path = `/api/storage/buckets/${bucket}`
    const get = async (what: string) => (await ask(service, `GET ${path}/${what}`, { key })).json
    const put = (what: string, body: object) => ask(service, `PUT ${path}/${what}`, { key, body })
    assert.deepStrictEqual(await get("policy"), { policy: null })
    assert.deepStrictEqual(await get("cors"), { corsRules: [] })
    const policy = {
      Version: "2012-10-17",
      Statement: [
        { Effect: "Allow", Principal: "*", Action: ["s3:GetObject"], Resource: [`arn:aws:s3:::${bucket}/public/*`] }
      ]
    }
    const set = await put("policy", { policy })
    assert.strictEqual(set.status, 200, set.text)
    assert.deepStrictEqual(set.json, { policy })
    assert.deepStrictEqual(await get("policy"), { policy })
    assert.deepStrictEqual((await put("policy", { policy: null })).json, { policy: null })
    assert.deepStrictEqual(await get("policy"), { policy: null })

    const corsRules = [
      {
        AllowedOrigins: ["https://a.example"],
        AllowedMethods: ["GET", "PUT"],
        AllowedHeaders: ["*"],
        MaxAgeSeconds: 60
      }
    ]
    const rules = await put("cors", { corsRules })
    assert.strictEqual(rules.status, 200, rules.text)
    assert.deepStrictEqual(rules.json, { corsRules })
    assert.deepStrictEqual(await get("cors"), { corsRules })
    assert.deepStrictEqual((await put("cors", { corsRules: [] })).json, { corsRules: [] })

    const statement = policy.Statement[0]
    for (const [what, body, field] of [
      ["policy", {}, "policy"],
      ["policy", { policy: "{}" }, "policy"],
      ["policy", { policy: { ...policy, Version: "1" } }, "policy.Version"],
      [
        "policy",
        { policy: { ...policy, Statement: [{ ...statement, Effect: "allow" }] } },
        "policy.Statement.0.Effect"
      ],
      ["cors", {}, "corsRules"],
      ["cors", { corsRules: [{ ...corsRules[0], AllowedMethods: ["PATCH"] }] }, "corsRules.0.AllowedMethods.0"],
      ["cors", { corsRules: [{ ...corsRules[0], MaxAgeSeconds: "60" }] }, "corsRules.0.MaxAgeSeconds"]
    ] as const) {
      const { details } = assertRefused(await put(what, body), 400, "INVALID_REQUEST")
      assert.include(String(details), `${field}: `)
    }
    const other = { ...policy, Statement: [{ ...statement, Resource: "arn:aws:s3:::another/*" }] }
    assertRefused(await put("policy", { policy: other }), 400, "INVALID_POLICY")
  })
})

describe("objects", () => {
  it("are listed by prefix and in pages", async () => {
    const bucket = await bucketOf()
    const keys = ["a/1", "a/2", "a/3", "b", "sp ace+%", "é"]
    await Promise.all(keys.map((name) => upload(bucket, name, name)))
    const page = async (query: string) => (await list(bucket, query)).json as Page
    const whole = await page("")
    assert.deepStrictEqual(
      whole.objects.map((one) => one.key),
      keys
    )
    assert.deepInclude(whole, { is_truncated: false, next_continuation_token: null })
    for (const { etag, key, last_modified, size } of whole.objects) {
      assert.strictEqual(size, Buffer.byteLength(key))
      assert.match(etag, /^"[0-9a-f]{32}"$/)
      assert.match(last_modified, iso)
    }
    const first = await page("?prefix=a/&max_keys=2")
    assert.deepStrictEqual(
      first.objects.map((one) => one.key),
      ["a/1", "a/2"]
    )
    assert.isTrue(first.is_truncated)
    const token = encodeURIComponent(first.next_continuation_token ?? "")
    const second = await page(`?prefix=a/&max_keys=2&continuation_token=${token}`)
    assert.deepStrictEqual(
      second.objects.map((one) => one.key),
      ["a/3"]
    )
    const folders = (await list(bucket, "?delimiter=/")).json as { common_prefixes: ReadonlyArray<string> }
    assert.deepStrictEqual(folders.common_prefixes, ["a/"])
    for (const [query, field] of [
      ["max_keys=0", "max_keys"],
      ["max_keys=1001", "max_keys"],
      ["max_keys=1.5", "max_keys"],
      ["max_keys=ten", "max_keys"],
      ["continuation_token=", "continuation_token"],
      ["delimiter=", "delimiter"],
      [`prefix=${"x".repeat(1025)}`, "prefix"]
    ] as const) {
      const { details } = assertRefused(await list(bucket, `?${query}`), 400, "INVALID_REQUEST")
      assert.match(String(details), new RegExp(`^${field}: `))
    }
    assertRefused(await list("no-such-bucket-here", ""), 404, "BUCKET_NOT_FOUND")
  })

  it("are created from small texts", async () => {
    const bucket = await bucketOf()
    const reply = await inBucket(bucket, "POST upload-text", {
      key: "é/x",
      content: "héllo",
      contentType: "text/plain"
    })
    assert.strictEqual(reply.status, 201, reply.text)
    assert.deepInclude(reply.json, { bucket, key: "é/x", size: 6 })
    assert.match((reply.json as Entry).etag, /^"[0-9a-f]{32}"$/)
    const empty = await inBucket(bucket, "POST upload-text", { key: "0", content: "", contentType: "text/plain" })
    assert.deepInclude(empty.json, { size: 0 })
    const large = (size: number) =>
      inBucket(bucket, "POST upload-text", { key: "l", content: "x".repeat(size), contentType: "text/plain" })
    assert.strictEqual((await large(1024 * 1024 - 100)).status, 201)
    assertRefused(await large(1024 * 1024), 413, "PAYLOAD_TOO_LARGE")
    const good = { key: "k", content: "x", contentType: "text/plain" }
    for (const [change, field] of [
      [{ key: "" }, "key"],
      [{ key: undefined }, "key"],
      [{ key: "a/../b" }, "key"],
      [{ key: "\0" }, "key"],
      [{ key: "x".repeat(1025) }, "key"],
      [{ content: undefined }, "content"],
      [{ content: 1 }, "content"],
      [{ content: "\ud800" }, "content"],
      [{ contentType: undefined }, "contentType"],
      [{ contentType: "text" }, "contentType"],
      [{ contentType: "a/b\r\nx-evil: 1" }, "contentType"]
    ] as const) {
      const refused = await inBucket(bucket, "POST upload-text", { ...good, ...change })
      assert.match(String(assertRefused(refused, 400, "INVALID_REQUEST")["details"]), new RegExp(`^${field}: `))
    }
    assertRefused(await inBucket("no-such-bucket-here", "POST upload-text", good), 404, "BUCKET_NOT_FOUND")
  })

  it("have tags, which are replaced as a whole", async () => {
    const bucket = await bucketOf()
    const name = "größe/1.txt"
    const body = { key: name, content: "x", contentType: "text/plain" }
    await ask(service, `POST /api/storage/buckets/${bucket}/objects/upload-text`, { key, body })
    const path = `/api/storage/buckets/${bucket}/objects/tags`
    const get = () => ask(service, `GET ${path}?key=${encodeURIComponent(name)}`, { key })
    const put = (tags: unknown, of = name) => ask(service, `PUT ${path}`, { key, body: { key: of, tags } })
    assert.deepStrictEqual((await get()).json, { key: name, tags: {} })
    for (const tags of [{ stage: "draft", "Größe: +1": "a/b=c" }, { stage: "" }, {}]) {
      const set = await put(tags)
      assert.deepStrictEqual([set.status, set.json], [200, { key: name, tags }], set.text)
      assert.deepStrictEqual((await get()).json, { key: name, tags })
    }
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`t${at}`, ""]))
    for (const tags of [
      many,
      { "": "x" },
      { a: "<b>" },
      { "aws:x": "" },
      { a: 1 },
      ["a"],
      null,
      { a: "x".repeat(257) }
    ])
      assertRefused(await put(tags), 400)
    assertRefused(await put({ a: "b" }, "nowhere.txt"), 404, "OBJECT_NOT_FOUND")
    assertRefused(await ask(service, `GET ${path}?key=nowhere.txt`, { key }), 404, "OBJECT_NOT_FOUND")
    assertRefused(await ask(service, `GET ${path}?key=x`, { key: service.anon }), 403)
  })

  it("are deleted one by one, by the key in body or query", async () => {
    const bucket = await bucketOf()
    await Promise.all(["a", "b", "c&d=é"].map((name) => upload(bucket, name)))
    const remove = (query: string, body?: object) => inBucket(bucket, `DELETE ${query}`, body)
    assert.deepStrictEqual((await remove("", { key: "a" })).json, { success: true })
    assert.deepStrictEqual((await remove("?key=b")).json, { success: true })
    const twice = await remove(`?key=${encodeURIComponent("c&d=é")}`, { key: "c&d=é" })
    assert.strictEqual(twice.status, 200, twice.text)
    assert.deepStrictEqual(((await list(bucket, "")).json as Page).objects, [])
    // As in S3, deleting an object that does not exist succeeds.
    assert.strictEqual((await remove("", { key: "a" })).status, 200)
    assertRefused(await remove(""), 400, "INVALID_REQUEST")
    assertRefused(await remove("", {}), 400, "INVALID_REQUEST")
    assertRefused(await remove("?key=a", { key: "b" }), 400, "INVALID_REQUEST")
    assertRefused(await remove("?key="), 400, "INVALID_REQUEST")
    assertRefused(await inBucket("no-such-bucket-here", "DELETE ?key=a"), 404, "BUCKET_NOT_FOUND")
  })

  it("may have keys that no URL can have", async () => {
    const bucket = await bucketOf()
    const s3 = await s3Of(bucket)
    const odd = ["../a", "b/./c", "d/.."]
    for (const Key of [...odd, "a"]) await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Key }))
    s3.destroy()
    const keys = async () => ((await list(bucket, "")).json as Page).objects.map((object) => object.key)
    assert.deepStrictEqual(await keys(), ["../a", "a", "b/./c", "d/.."])
    const query = `key=${encodeURIComponent("../a")}`
    const head = await inBucket(bucket, `HEAD metadata?${query}`)
    assert.strictEqual(head.headers.get("content-length"), "4")
    const patched = await inBucket(bucket, "PATCH metadata", { key: "b/./c", metadata: { x: "1" } })
    assert.deepInclude(patched.json, { key: "b/./c", metadata: { x: "1" } })
    for (const [path, body] of [
      ["presign-upload", { contentType: "a/b" }],
      ["presign-download", {}],
      ["upload-text", { contentType: "a/b", content: "" }],
      ["multipart/init", { contentType: "a/b" }],
      ["multipart/presign-part", { uploadId: "u", partNumber: 1 }]
    ] as const) {
      const refused = await inBucket(bucket, `POST ${path}`, { key: "../a", ...body })
      assert.match(String(assertRefused(refused, 400, "INVALID_REQUEST")["details"]), /^key: /)
    }
    assert.strictEqual((await inBucket(bucket, `DELETE ?${query}`)).status, 200)
    const bulk = await inBucket(bucket, "POST bulk-delete", { keys: odd })
    assert.deepStrictEqual(bulk.json, { deleted: odd, errors: [] })
    assert.deepStrictEqual(await keys(), ["a"])
  })

  it("are deleted in bulk, up to 1000 keys", async () => {
    const bucket = await bucketOf()
    const odd = ["&<>\"'", "tab\t", "\x01\r", "漢//字"]
    await Promise.all(odd.map((name) => upload(bucket, name)))
    const keys = [...odd, ...Array.from({ length: 1000 - odd.length }, (_, n) => `k${n}`)]
    const bulk = (keys: unknown) => inBucket(bucket, "POST bulk-delete", { keys })
    assertRefused(await bulk([...keys, "one too many"]), 400, "INVALID_REQUEST")
    assertRefused(await bulk([]), 400, "INVALID_REQUEST")
    assertRefused(await bulk("k"), 400, "INVALID_REQUEST")
    assert.match(String(assertRefused(await bulk(["a", ""]), 400)["details"]), /^keys\.1: /)
    assert.strictEqual(((await list(bucket, "")).json as Page).objects.length, odd.length)
    const reply = await bulk(keys)
    assert.strictEqual(reply.status, 200, reply.text)
    assert.deepStrictEqual(reply.json, { deleted: keys, errors: [] })
    assert.deepStrictEqual(((await list(bucket, "")).json as Page).objects, [])
    assert.deepStrictEqual((await bulk(["same", "same"])).json, { deleted: ["same"], errors: [] })
  })
})

describe("authorization", () => {
  it.each([
    "GET /api/storage/buckets",
    "POST /api/storage/buckets",
    "DELETE /api/storage/buckets/abc",
    "GET /api/storage/buckets/abc/policy",
    "PUT /api/storage/buckets/abc/policy",
    "GET /api/storage/buckets/abc/cors",
    "PUT /api/storage/buckets/abc/cors",
    "GET /api/storage/buckets/abc/objects",
    "DELETE /api/storage/buckets/abc/objects",
    ...["presign-upload", "presign-download", "upload-text", "bulk-delete"].map(
      (name) => `POST /api/storage/buckets/abc/objects/${name}`
    ),
    "PATCH /api/storage/buckets/abc/objects/metadata",
    ...["init", "presign-part", "complete", "abort"].map(
      (name) => `POST /api/storage/buckets/abc/objects/multipart/${name}`
    ),
    "GET /api/storage/buckets/abc/objects/multipart/parts",
    "GET /api/storage/buckets/abc/objects/multipart/uploads",
    "GET /v1/storage/buckets"
  ])("%s requires a service key", async (line) => {
    const body = line.startsWith("GET") ? {} : { body: {} }
    assertRefused(await ask(service, line, body), 401)
    assertRefused(await ask(service, line, { ...body, key: `${key}x` }), 401, "INVALID_API_KEY")
    assertRefused(await ask(service, line, { ...body, key: service.anon }), 403, "FORBIDDEN")
  })

  it("HEAD …/metadata requires one too", async () => {
    const head = (key?: string) => ask(service, "HEAD /api/storage/buckets/abc/objects/metadata?key=k", { key })
    assert.strictEqual((await head()).status, 401)
    assert.strictEqual((await head(service.anon)).status, 403)
  })
})
