import { createClient, type SupabaseClient } from "@supabase/supabase-js"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { hs256 } from "../../support/access/jwts.ts"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

const ann = "11111111-1111-4111-8111-111111111111"
const bob = "22222222-2222-4222-8222-222222222222"

let service: InProcessService
let anon: SupabaseClient
let admin: SupabaseClient
let asAnn: SupabaseClient
let asBob: SupabaseClient

const token = (sub: string) =>
  hs256(JSON.stringify({ sub, exp: Math.floor(Date.now() / 1000) + 300 }), undefined, service.jwtSecret)
const client = (key: string, sub?: string) =>
  createClient(
    service.url,
    key,
    sub === undefined ? { auth: { persistSession: false } } : { accessToken: () => Promise.resolve(token(sub)) }
  )

/** What an answer says of its failure. */
const failure = ({ error }: { readonly error: unknown }) => {
  const { message, status, statusCode } = (error ?? {}) as Record<string, unknown>
  return `${String(status)} ${String(statusCode)} ${String(message)}`
}
const data = async <A>(answer: PromiseLike<{ data: A; error: unknown }>) => {
  const { data, error } = await answer
  assert.isNull(error)
  return data as NonNullable<A>
}

beforeAll(async () => {
  service = await serveInProcess({ SVC_SUPABASE: "true", SVC_STORAGE_MAX_FILE_MIB: "9" })
  anon = client(service.anon)
  admin = client(service.service_role)
  asAnn = client(service.anon, ann)
  asBob = client(service.anon, bob)
  for (const text of [
    "create policy own on storage.objects to authenticated using (bucket_id = 'files' and (storage.foldername(name))[1] = auth.uid()::text) with check (bucket_id = 'files' and (storage.foldername(name))[1] = auth.uid()::text)",
    "create policy drop_box on storage.objects for insert to anon with check (bucket_id = 'inbox')",
    "create policy shown on storage.buckets for select to authenticated using (id = 'files')"
  ]) {
    await sql(service, text)
  }
  await data(admin.storage.createBucket("files"))
  await data(admin.storage.createBucket("inbox"))
  await data(admin.storage.createBucket("Public Ärea".replace("Ä", "A"), { public: true }))
})
afterAll(() => service[Symbol.asyncDispose]())

describe("buckets", () => {
  it("are created, changed, listed and deleted", async () => {
    assert.deepStrictEqual(
      await data(
        admin.storage.createBucket("small", {
          public: false,
          fileSizeLimit: "1kb",
          allowedMimeTypes: ["image/*", "text/plain"]
        })
      ),
      { name: "small" }
    )
    assert.strictEqual(failure(await admin.storage.createBucket("small")), "400 409 The resource already exists")
    const bucket = await data(admin.storage.getBucket("small"))
    assert.deepInclude(bucket, {
      id: "small",
      public: false,
      file_size_limit: 1024,
      allowed_mime_types: ["image/*", "text/plain"]
    })
    assert.deepStrictEqual(await data(admin.storage.updateBucket("small", { public: true })), {
      message: "Successfully updated"
    })
    assert.deepInclude(await data(admin.storage.getBucket("small")), { public: true, file_size_limit: 1024 })
    const type = await admin.storage.from("small").upload("a.bin", new Blob(["x"], { type: "application/zip" }))
    assert.strictEqual(failure(type), "400 415 mime type application/zip is not supported")
    const large = await admin.storage.from("small").upload("a.txt", "x".repeat(2000), { contentType: "text/plain" })
    assert.strictEqual(failure(large), "400 413 The object exceeded the maximum allowed size")
    await data(admin.storage.from("small").upload("a.txt", "x", { contentType: "text/plain" }))
    assert.strictEqual(
      failure(await admin.storage.deleteBucket("small")),
      "400 409 The bucket you tried to delete is not empty"
    )
    await data(admin.storage.emptyBucket("small"))
    await data(admin.storage.deleteBucket("small"))
    assert.strictEqual(failure(await admin.storage.getBucket("small")), "400 404 Bucket not found")
  })

  it("obey the policies of storage.buckets", async () => {
    assert.strictEqual((await data(admin.storage.listBuckets({ sortColumn: "name", sortOrder: "desc" }))).length, 3)
    assert.deepStrictEqual(
      (await data(asAnn.storage.listBuckets())).map(({ id }) => id),
      ["files"]
    )
    assert.deepStrictEqual(await data(anon.storage.listBuckets()), [])
    assert.match(
      failure(await anon.storage.createBucket("mine")),
      /^400 403 new row violates row-level security policy/
    )
    assert.strictEqual(failure(await asAnn.storage.deleteBucket("inbox")), "400 404 Bucket not found")
    for (const id of ["a/b", "../x", " x", "", "é"]) {
      assert.match(failure(await admin.storage.createBucket(id)), /^400 400 /, id)
    }
  })
})

describe("objects", () => {
  it("are uploaded and downloaded as they are, under the policies of their folder", async () => {
    const files = asAnn.storage.from("files")
    const bytes = new Uint8Array(3000).map((_, at) => at % 251)
    const added = await data(
      files.upload(`${ann}/a b.bin`, new Blob([bytes], { type: "image/png" }), {
        cacheControl: "60",
        metadata: { tag: "x" }
      })
    )
    assert.deepInclude(added, { path: `${ann}/a b.bin`, fullPath: `files/${ann}/a b.bin` })
    const blob = await data(files.download(`${ann}/a b.bin`))
    assert.deepStrictEqual(new Uint8Array(await blob.arrayBuffer()), bytes)
    assert.strictEqual(blob.type, "image/png")
    const info = await data(files.info(`${ann}/a b.bin`))
    assert.deepInclude(info as object, {
      size: 3000,
      contentType: "image/png",
      cacheControl: "max-age=60",
      metadata: { tag: "x" }
    })
    assert.strictEqual((await files.exists(`${ann}/a b.bin`)).data, true)
    assert.strictEqual((await files.exists(`${ann}/none`)).data, false)

    const again = await files.upload(`${ann}/a b.bin`, "new")
    assert.strictEqual(failure(again), "400 409 The resource already exists")
    await data(files.upload(`${ann}/a b.bin`, "new", { upsert: true, contentType: "text/html" }))
    assert.strictEqual(await (await data(files.download(`${ann}/a b.bin`))).text(), "new")
    await data(files.update(`${ann}/a b.bin`, "newer"))
    assert.strictEqual(await (await data(files.download(`${ann}/a b.bin`))).text(), "newer")

    for (const other of [asBob, anon]) {
      const theirs = other.storage.from("files")
      assert.strictEqual(failure(await theirs.info(`${ann}/a b.bin`)), "400 404 Object not found")
      assert.match(failure(await theirs.upload(`${ann}/b.bin`, "x")), /^400 403 new row violates row-level security/)
      assert.match(failure(await theirs.update(`${ann}/a b.bin`, "x")), /^400 403 new row violates row-level security/)
      assert.deepStrictEqual(await data(theirs.remove([`${ann}/a b.bin`])), [])
      assert.deepStrictEqual(await data(theirs.list(ann)), [])
      assert.strictEqual(failure(await theirs.createSignedUrl(`${ann}/a b.bin`, 60)), "400 404 Object not found")
      assert.match(failure(await theirs.createSignedUploadUrl(`${ann}/c.bin`)), /^400 403 /)
      assert.strictEqual(failure(await theirs.move(`${ann}/a b.bin`, `${bob}/a.bin`)), "400 404 Object not found")
      assert.strictEqual(failure(await theirs.copy(`${ann}/a b.bin`, `${bob}/a.bin`)), "400 404 Object not found")
    }
    assert.strictEqual(await (await data(files.download(`${ann}/a b.bin`))).text(), "newer")
    const removed = await data(files.remove([`${ann}/a b.bin`, `${ann}/none`]))
    assert.deepStrictEqual(
      removed.map(({ name }) => name),
      [`${ann}/a b.bin`]
    )
    assert.strictEqual(failure(await files.info(`${ann}/a b.bin`)), "400 404 Object not found")
  })

  it("of more than a part of the store are streamed, and limited", async () => {
    const bytes = Buffer.alloc(8.5 * 1024 * 1024, "0123456789abcdef")
    const files = admin.storage.from("files")
    await data(files.upload("large.bin", bytes))
    const blob = await data(files.download("large.bin"))
    assert.isTrue(bytes.equals(Buffer.from(await blob.arrayBuffer())))
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (let n = 0; n < 17; n++) controller.enqueue(bytes.subarray(0, 512 * 1024))
        controller.close()
      }
    })
    await data(files.upload("streamed.bin", stream, { duplex: "half" }))
    assert.strictEqual((await data(files.info("streamed.bin"))).size, 8.5 * 1024 * 1024)
    const form = await files.upload("huge.bin", new Blob([Buffer.alloc(9.1 * 1024 * 1024)]))
    assert.strictEqual(failure(form), "400 413 The object exceeded the maximum allowed size")
    assert.strictEqual(failure(await files.info("huge.bin")), "400 404 Object not found")
    await data(files.remove(["large.bin", "streamed.bin"]))
  })

  it("need names that every store and client can hold", async () => {
    const files = admin.storage.from("files")
    for (const name of ["é.txt", "a/../b", "./a", "a\\b", "a\nb", "%00", "x".repeat(1000)]) {
      const { status, json } = await ask(
        service,
        `POST /storage/v1/object/files/${name.split("/").map(encodeURIComponent).join("%2F")}`,
        {
          key: service.service_role,
          headers: { "content-type": "text/plain" },
          body: "x"
        }
      )
      assert.deepStrictEqual([status, (json as { code: string }).code], [400, "InvalidKey"], name)
    }
    await data(files.upload("a!-.*'() &$@=;:+,_/b.txt", "x"))
    assert.strictEqual(await (await data(files.download("a!-.*'() &$@=;:+,_/b.txt"))).text(), "x")
    await data(files.remove(["a!-.*'() &$@=;:+,_/b.txt"]))
  })

  it("are listed by folder", async () => {
    const files = asAnn.storage.from("files")
    for (const name of ["b.txt", "A.txt", "sub/c.txt", "sub/deep/d.txt", "100_x.txt"]) {
      await data(files.upload(`${ann}/list/${name}`, name))
    }
    const names = async (...args: Parameters<typeof files.list>) =>
      (await data(files.list(...args))).map(({ name }) => name)
    assert.deepStrictEqual(await names(`${ann}/list`), ["100_x.txt", "A.txt", "b.txt", "sub"])
    const [first] = await data(files.list(`${ann}/list`, { limit: 1, offset: 1 }))
    assert.deepInclude(first?.metadata, {
      size: 5,
      mimetype: "text/plain;charset=UTF-8",
      contentLength: 5,
      httpStatusCode: 200
    })
    const folder = (await data(files.list(`${ann}/list/`))).at(-1)
    assert.deepStrictEqual([folder?.name, folder?.id, folder?.metadata], ["sub", null, null])
    assert.deepStrictEqual(await names(`${ann}/list`, { search: "a" }), ["A.txt"])
    assert.deepStrictEqual(await names(`${ann}/list`, { search: "%" }), [])
    assert.deepStrictEqual(await names(`${ann}/list`, { search: "_" }), [])
    assert.deepStrictEqual(await names(`${ann}/list`, { sortBy: { column: "name", order: "desc" } }), [
      "sub",
      "b.txt",
      "A.txt",
      "100_x.txt"
    ])
    assert.strictEqual((await names(`${ann}/list`, { sortBy: { column: "created_at", order: "asc" } }))[0], "sub")
    assert.deepStrictEqual(await names("nothing"), [])
    assert.strictEqual(failure(await asAnn.storage.from("none").list()), "400 404 Bucket not found")
  })

  it("are moved and copied, also to other buckets", async () => {
    const files = asAnn.storage.from("files")
    await data(files.upload(`${ann}/m/one.txt`, "one", { contentType: "text/plain", metadata: { tag: 1 } }))
    const id = (await data(files.info(`${ann}/m/one.txt`))).id
    assert.deepInclude(await data(files.move(`${ann}/m/one.txt`, `${ann}/m/two.txt`)), {
      message: "Successfully moved"
    })
    assert.strictEqual(failure(await files.info(`${ann}/m/one.txt`)), "400 404 Object not found")
    assert.deepInclude((await data(files.info(`${ann}/m/two.txt`))) as object, { id, metadata: { tag: 1 } })
    assert.strictEqual(await (await data(files.download(`${ann}/m/two.txt`))).text(), "one")
    assert.deepStrictEqual(await data(files.copy(`${ann}/m/two.txt`, `${ann}/m/three.txt`)), {
      path: `files/${ann}/m/three.txt`
    })
    assert.strictEqual(
      failure(await files.copy(`${ann}/m/two.txt`, `${ann}/m/three.txt`)),
      "400 409 The resource already exists"
    )
    assert.strictEqual(
      failure(await files.move(`${ann}/m/two.txt`, `${ann}/m/three.txt`)),
      "400 409 The resource already exists"
    )
    assert.match(failure(await files.copy(`${ann}/m/two.txt`, `${bob}/x.txt`)), /^400 403 /)
    assert.match(failure(await files.move(`${ann}/m/two.txt`, "x.txt", { destinationBucket: "inbox" })), /^400 403 /)
    await data(admin.storage.from("files").copy(`${ann}/m/two.txt`, "x.txt", { destinationBucket: "inbox" }))
    assert.strictEqual(await (await data(admin.storage.from("inbox").download("x.txt"))).text(), "one")
    await data(admin.storage.from("inbox").remove(["x.txt"]))
  })
})

describe("URLs", () => {
  it("of public buckets need no credentials, and only for reading", async () => {
    const shown = admin.storage.from("Public Area")
    await data(
      shown.upload("a/page.html", "<script>alert(1)</script>", { contentType: "text/html", cacheControl: "10" })
    )
    const {
      data: { publicUrl }
    } = anon.storage.from("Public Area").getPublicUrl("a/page.html")
    const page = await fetch(publicUrl)
    assert.strictEqual(page.status, 200)
    assert.match(page.headers.get("content-type") ?? "", /^text\/plain/)
    assert.match(page.headers.get("content-security-policy") ?? "", /sandbox/)
    assert.strictEqual(page.headers.get("cache-control"), "max-age=10")
    assert.strictEqual(page.headers.get("x-robots-tag"), "none")
    const etag = page.headers.get("etag") ?? ""
    await page.text()
    assert.strictEqual((await fetch(publicUrl, { headers: { "if-none-match": etag } })).status, 304)
    const part = await fetch(publicUrl, { headers: { range: "bytes=1-6" } })
    assert.deepStrictEqual(
      [part.status, part.headers.get("content-range"), await part.text()],
      [206, "bytes 1-6/25", "script"]
    )
    const beyond = await fetch(publicUrl, { headers: { range: "bytes=99-" } })
    assert.deepStrictEqual([beyond.status, ((await beyond.json()) as { code: string }).code], [400, "InvalidRange"])
    const named = await fetch(`${publicUrl}?download=n%C3%A4me.html`)
    assert.strictEqual(
      named.headers.get("content-disposition"),
      `attachment; filename="n_me.html"; filename*=UTF-8''n%C3%A4me.html`
    )
    await named.text()
    const head = await fetch(publicUrl, { method: "HEAD" })
    assert.deepStrictEqual([head.status, head.headers.get("content-length")], [200, "25"])
    assert.deepStrictEqual(await data(anon.storage.from("Public Area").list("a")), [])
    const hidden = await fetch(`${service.url}/storage/v1/object/public/files/${ann}/list/b.txt`)
    assert.deepStrictEqual([hidden.status, ((await hidden.json()) as { code: string }).code], [400, "NoSuchBucket"])
  })

  it("that are signed open one object for a time", async () => {
    const files = asAnn.storage.from("files")
    const name = `${ann}/list/sub/c.txt`
    const { signedUrl } = await data(files.createSignedUrl(name, 60))
    const read = await fetch(signedUrl)
    assert.deepStrictEqual([read.status, await read.text()], [200, "sub/c.txt"])
    assert.isAbove(Date.parse(read.headers.get("expires") ?? ""), Date.now())
    const many = await data(files.createSignedUrls([name, "none"], 60))
    assert.deepStrictEqual(
      many.map(({ error }) => error),
      [null, "Either the object does not exist or you do not have access to it"]
    )
    assert.strictEqual((await fetch(many[0]?.signedUrl ?? "")).status, 200)
    const code = async (url: string, init?: RequestInit) => {
      const response = await fetch(url, init)
      return `${response.status} ${((await response.json()) as { code: string }).code}`
    }
    assert.strictEqual(await code(signedUrl.replace("sub/c.txt", "b.txt")), "400 InvalidSignature")
    assert.strictEqual(await code(`${signedUrl}x`), "400 InvalidSignature")
    assert.strictEqual(await code(signedUrl.replace(/\?.*/, "")), "400 InvalidSignature")
    // A JWT of the shared secret is no signature, and a signature is no JWT.
    const forged = hs256(
      JSON.stringify({ url: `files/${name}`, scope: "download", sub: "", upsert: false, exp: 9e9 }),
      undefined,
      service.jwtSecret
    )
    assert.strictEqual(await code(signedUrl.replace(/token=.*/, `token=${forged}`)), "400 InvalidSignature")
    const [, signature = ""] = signedUrl.split("token=")
    assert.strictEqual((await ask(service, "GET /v1/db/x", { key: service.anon, token: signature })).status, 401)
    // What downloads does not upload.
    const upload = signedUrl.replace("/object/sign/", "/object/upload/sign/")
    assert.strictEqual(await code(upload, { method: "PUT", body: "x" }), "400 InvalidSignature")
    assert.strictEqual(
      failure(await files.createSignedUrl(name, 60, { transform: { width: 10 } })),
      "400 501 Image transformations are not supported by this server"
    )
    assert.match(failure(await files.createSignedUrl(name, 0)), /^400 400 body/)
  })

  it("that are signed for an upload accept one object, once unless it may be replaced", async () => {
    const files = asAnn.storage.from("files")
    const name = `${ann}/signed.txt`
    const { path, token } = await data(files.createSignedUploadUrl(name))
    assert.deepInclude(await data(anon.storage.from("files").uploadToSignedUrl(path, token, "first")), { path: name })
    assert.strictEqual(
      failure(await anon.storage.from("files").uploadToSignedUrl(path, token, "second")),
      "400 409 The resource already exists"
    )
    assert.deepStrictEqual(await sql(service, "select owner_id from storage.objects where name = $1", [name]), [
      { owner_id: ann }
    ])
    const replaced = await data(files.createSignedUploadUrl(name, { upsert: true }))
    await data(
      anon.storage.from("files").uploadToSignedUrl(name, replaced.token, new Blob(["third"], { type: "text/plain" }))
    )
    assert.strictEqual(await (await data(files.download(name))).text(), "third")
    const other = await anon.storage.from("files").uploadToSignedUrl(`${ann}/other.txt`, replaced.token, "x")
    assert.strictEqual(failure(other), "400 400 Invalid signature")
    const read = await fetch(`${service.url}/storage/v1/object/sign/files/${name}?token=${replaced.token}`)
    assert.strictEqual(read.status, 400)
  })
})

it("only what rows refer to stays in the store, below the bucket's and the object's name", async () => {
  const inbox = anon.storage.from("inbox")
  // INSERT alone is not enough: an upload returns what it has written.
  assert.match(failure(await inbox.upload("a.txt", "x")), /^400 403 /)
  await data(admin.storage.emptyBucket("files"))
  const { json } = await ask(service, "GET /api/storage/buckets/svc-supabase/objects", { key: service.service_role })
  const keys = (json as { objects: ReadonlyArray<{ key: string }> }).objects.map(({ key }) =>
    key.replace(/\/[^/]+$/, "")
  )
  assert.deepStrictEqual(keys, ["Public Area/a/page.html"])
})

it("refuses callers without rights, and what it does not have", async () => {
  const code = async (line: string, headers: Record<string, string> = {}) => {
    const { json, status } = await ask(service, line, { headers })
    return `${status} ${(json as { statusCode: string }).statusCode} ${(json as { code: string }).code}`
  }
  assert.strictEqual(await code("GET /storage/v1/bucket"), "400 403 AccessDenied")
  assert.strictEqual(await code("GET /storage/v1/bucket", { apikey: "x" }), "400 403 AccessDenied")
  assert.strictEqual(
    await code("GET /storage/v1/bucket", { authorization: `Bearer ${token(ann)}x` }),
    "400 403 AccessDenied"
  )
  // A user's JWT alone is a caller, as at Supabase.
  assert.strictEqual((await ask(service, "GET /storage/v1/bucket", { token: token(ann) })).status, 200)
  for (const line of [
    "POST /storage/v1/upload/resumable",
    "GET /storage/v1/render/image/public/a/b",
    "POST /storage/v1/vector/CreateIndex",
    "GET /storage/v1/iceberg/v1/config"
  ]) {
    assert.strictEqual(await code(line, { apikey: service.service_role }), "400 501 FeatureNotEnabled", line)
  }
  assert.strictEqual(
    await code("GET /storage/v1/object/files/100%_x", { apikey: service.service_role }),
    "400 400 InvalidRequest"
  )
  assert.strictEqual(
    await code("GET /storage/v1/bucket", { apikey: service.service_role, "x-svc-branch": "1" }),
    "400 400 InvalidRequest"
  )
  const broken = await ask(service, "POST /storage/v1/object/list/files", { key: service.service_role, body: "{" })
  assert.deepStrictEqual([broken.status, (broken.json as { code: string }).code], [400, "InvalidRequest"])
  const form = await ask(service, "POST /storage/v1/object/files/x", {
    key: service.service_role,
    headers: { "content-type": "multipart/form-data; boundary=x" },
    body: "nonsense"
  })
  assert.deepStrictEqual([form.status, (form.json as { code: string }).code], [400, "InvalidRequest"])
})
