import {
  CopyObjectCommand,
  DeleteBucketCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client
} from "@aws-sdk/client-s3"
import { createClient, type SupabaseClient } from "@supabase/supabase-js"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { ownRequest } from "../../../src/layers/storage/Address.ts"
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

const hidden = "svc-supabase"
/** Clients of the embedded S3 endpoint, at the address that presigned URLs have. */
const storeOf = async () => {
  const key = service.service_role
  await ask(service, "POST /api/storage/buckets", { key, body: { name: "visible-bucket" } })
  const given = await ask(service, "POST /api/storage/buckets/visible-bucket/objects/presign-upload", {
    key,
    body: { key: "a", contentType: "text/plain", expiresIn: 60 }
  })
  const endpoint = new URL((given.json as { url: string }).url).origin
  const secrets = JSON.parse(await readFile(join(service.dataDir, "secrets.json"), "utf8")) as Record<string, string>
  const [accessKeyId = "", secretAccessKey = ""] = [secrets["s3_access_key"], secrets["s3_secret_key"]]
  const store = (header?: { readonly name: string; readonly value: string }) => {
    const made = new S3Client({
      endpoint,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey }
    })
    if (header !== undefined) {
      made.middlewareStack.add(
        (next) => (args) => {
          ;(args.request as { headers: Record<string, string> }).headers[header.name] = header.value
          return next(args)
        },
        { step: "build" }
      )
    }
    return made
  }
  return { secretKey: secretAccessKey, store }
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
      file_size_limit: 1000,
      allowed_mime_types: ["image/*", "text/plain"]
    })
    assert.deepStrictEqual(await data(admin.storage.updateBucket("small", { public: true })), {
      message: "Successfully updated"
    })
    assert.deepInclude(await data(admin.storage.getBucket("small")), { public: true, file_size_limit: 1000 })
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
    const hidden = ["a\u202eb", "a\u200bb", "a\u0085b", "\ufeffa", "a\u2028b"]
    for (const name of ["a/../b", "./a", "a\\b", "a\nb", "%00", "a#b", "é".repeat(451), "x".repeat(1000), ...hidden]) {
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

  it("may have names in any script", async () => {
    const files = admin.storage.from("files")
    const names = [
      "Überschrift – ß.txt",
      "日本語/写真、1.txt",
      "می\u200cخواهم.txt",
      "हिन्दी.txt",
      "👩‍💻 ok.txt",
      "e\u0301.txt",
      "é.txt"
    ]
    for (const name of names) {
      await data(files.upload(name, name))
      assert.strictEqual(await (await data(files.download(name))).text(), name)
      const { signedUrl } = await data(files.createSignedUrl(name, 60, { download: true }))
      const signed = await fetch(signedUrl)
      assert.strictEqual(await signed.text(), name)
      const last = name.split("/").at(-1) ?? ""
      assert.include(signed.headers.get("content-disposition"), `filename*=UTF-8''${encodeURIComponent(last)}`)
      await data(files.move(name, `moved/${name}`))
      await data(files.copy(`moved/${name}`, name))
      assert.strictEqual((await data(files.info(name))).name, name)
    }
    const listed = await data(files.list("", { search: "日本" }))
    assert.deepStrictEqual(
      listed.map(({ name }) => name),
      ["日本語"]
    )
    await data(files.remove([...names, ...names.map((name) => `moved/${name}`)]))
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

    const listV2 = async (options: Parameters<typeof files.listV2>[0]) => await data(files.listV2(options))
    const all: Array<string> = []
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
      const page = await listV2({
        prefix: `${ann}/list/`,
        limit: 2,
        with_delimiter: true,
        ...(cursor === undefined ? {} : { cursor })
      })
      all.push(...page.objects.map(({ name }) => name), ...page.folders.map(({ name }) => name))
      assert.strictEqual(page.hasNext, page.nextCursor !== undefined)
      cursor = page.nextCursor
    }
    assert.deepStrictEqual(
      all,
      ["100_x.txt", "A.txt", "b.txt", "sub/"].map((name) => `${ann}/list/${name}`)
    )
    const { folders, objects } = await listV2({ prefix: `${ann}/list/s`, with_delimiter: true })
    assert.deepStrictEqual([folders.map(({ key }) => key), objects], [[`${ann}/list/sub`], []])
    const deep = await listV2({ prefix: `${ann}/list/`, sortBy: { column: "created_at", order: "desc" } })
    assert.deepStrictEqual([deep.objects.length, deep.objects[0]?.name], [5, `${ann}/list/100_x.txt`])
    assert.deepInclude(deep.objects[0], { key: `${ann}/list/100_x.txt` })
    assert.deepStrictEqual((await listV2({ prefix: `${ann}/list/1%` })).objects, [])
    for (const cursor of ["x", Buffer.from('{"at":"now","name":""}').toString("base64url")]) {
      assert.match(failure(await files.listV2({ cursor })), /^400 400 cursor is not one/)
    }
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
    const name = `${ann}/url/c.txt`
    await data(files.upload(name, "its bytes"))
    const { signedUrl } = await data(files.createSignedUrl(name, 60))
    const read = await fetch(signedUrl)
    assert.deepStrictEqual([read.status, await read.text()], [200, "its bytes"])
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
    assert.strictEqual(await code(signedUrl.replace("url/c.txt", "url/b.txt")), "400 InvalidSignature")
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

describe("resumable uploads (tus 1.0.0)", () => {
  const tus = { "tus-resumable": "1.0.0" }
  const base64 = (text: string) => Buffer.from(text).toString("base64")
  const metadata = (name: string, bucket = "files") =>
    `bucketName ${base64(bucket)},objectName ${base64(name)},contentType ${base64("text/plain")},cacheControl ${base64("60")},metadata ${base64('{"tag":1}')}`
  const piece = (offset: number, bytes: string | Buffer, headers: Record<string, string>) => ({
    method: "PATCH",
    headers: { ...tus, ...headers, "upload-offset": String(offset), "content-type": "application/offset+octet-stream" },
    body: bytes as string
  })
  const begin = (headers: Record<string, string>, length: number, name: string, path = "") =>
    fetch(`${service.url}/storage/v1/upload/resumable${path}`, {
      method: "POST",
      headers: { ...tus, ...headers, "upload-length": String(length), "upload-metadata": metadata(name) }
    })

  it("are continued where they were broken off, by who began them", async () => {
    const mine = { apikey: service.anon, authorization: `Bearer ${token(ann)}` }
    const theirs = { apikey: service.anon, authorization: `Bearer ${token(bob)}` }
    const name = `${ann}/resumed.txt`
    const made = await begin(mine, 10, name)
    assert.deepStrictEqual([made.status, made.headers.get("upload-offset")], [201, "0"])
    const location = made.headers.get("location") ?? ""
    assert.match(location, /^http:\/\/127\.0\.0\.1:\d+\/storage\/v1\/upload\/resumable\/[\da-f-]{36}$/)
    assert.isAbove(Date.parse(made.headers.get("upload-expires") ?? ""), Date.now())

    const first = await fetch(location, piece(0, "01234", mine))
    assert.deepStrictEqual([first.status, first.headers.get("upload-offset")], [204, "5"])
    const again = await fetch(location, piece(0, "01234", mine))
    assert.strictEqual(again.status, 409)
    assert.deepInclude((await again.json()) as object, {
      code: "InvalidUploadOffset",
      message: "Upload-Offset conflict"
    })
    const state = await fetch(location, { method: "HEAD", headers: { ...tus, ...mine } })
    assert.deepStrictEqual(
      [
        state.status,
        state.headers.get("upload-offset"),
        state.headers.get("upload-length"),
        state.headers.get("cache-control")
      ],
      [200, "5", "10", "no-store"]
    )
    for (const headers of [theirs, { apikey: service.anon }, {}]) {
      assert.oneOf((await fetch(location, piece(5, "56789", headers))).status, [401, 403])
      assert.oneOf((await fetch(location, { method: "DELETE", headers: { ...tus, ...headers } })).status, [401, 403])
    }
    assert.strictEqual((await fetch(location, piece(5, "567890", mine))).status, 413)
    assert.strictEqual(failure(await asAnn.storage.from("files").info(name)), "400 404 Object not found")
    const last = await fetch(location, piece(5, "56789", mine))
    assert.deepStrictEqual([last.status, last.headers.get("upload-offset")], [204, "10"])
    assert.strictEqual(await (await data(asAnn.storage.from("files").download(name))).text(), "0123456789")
    const info = (await data(asAnn.storage.from("files").info(name))) as object
    assert.deepInclude(info, { contentType: "text/plain", cacheControl: "max-age=60", metadata: { tag: 1 } })
    assert.strictEqual((await begin(mine, 10, name)).status, 409)
    assert.strictEqual((await begin(theirs, 10, name)).status, 403)

    // A client whose last response was lost sends the piece again, and asks.
    assert.strictEqual((await fetch(location, piece(5, "56789", mine))).status, 409)
    const head = (headers: Record<string, string>) =>
      fetch(location, { method: "HEAD", headers: { ...tus, ...headers } })
    const whole = await head(mine)
    assert.deepStrictEqual(
      [whole.status, whole.headers.get("upload-offset"), whole.headers.get("upload-length")],
      [200, "10", "10"]
    )
    assert.strictEqual((await fetch(location, piece(10, "", mine))).status, 204)
    assert.strictEqual((await head(theirs)).status, 403)
    assert.strictEqual((await fetch(location, { method: "DELETE", headers: { ...tus, ...mine } })).status, 204)
    assert.strictEqual((await head(mine)).status, 404)
    assert.strictEqual(await (await data(asAnn.storage.from("files").download(name))).text(), "0123456789")
  })

  it("may learn their length later", async () => {
    const mine = { apikey: service.anon, authorization: `Bearer ${token(ann)}` }
    const name = `${ann}/deferred.txt`
    const made = await fetch(`${service.url}/storage/v1/upload/resumable`, {
      method: "POST",
      headers: { ...tus, ...mine, "upload-defer-length": "1", "upload-metadata": metadata(name) }
    })
    assert.strictEqual(made.status, 201)
    const location = made.headers.get("location") ?? ""
    assert.strictEqual((await fetch(location, piece(0, "01234", mine))).status, 204)
    const state = await fetch(location, { method: "HEAD", headers: { ...tus, ...mine } })
    const [offset, deferred, length] = ["upload-offset", "upload-defer-length", "upload-length"].map((header) =>
      state.headers.get(header)
    )
    assert.deepStrictEqual([offset, deferred, length], ["5", "1", null])
    for (const [length, status] of [
      ["3", 400],
      ["x", 400],
      [String(10 * 1024 * 1024), 413]
    ] as const) {
      const refused = await fetch(location, piece(5, "5", { ...mine, "upload-length": length }))
      assert.strictEqual(refused.status, status, length)
    }
    assert.strictEqual((await fetch(location, piece(5, "56", { ...mine, "upload-length": "8" }))).status, 204)
    assert.strictEqual((await fetch(location, piece(7, "7", { ...mine, "upload-length": "9" }))).status, 400)
    assert.strictEqual((await fetch(location, piece(7, "7", mine))).status, 204)
    assert.strictEqual(await (await data(asAnn.storage.from("files").download(name))).text(), "01234567")
    // The end of one whose last piece was sent before its length was known.
    const second = await fetch(`${service.url}/storage/v1/upload/resumable`, {
      method: "POST",
      headers: { ...tus, ...mine, "upload-defer-length": "1", "upload-metadata": metadata(`${ann}/late.txt`) }
    })
    const at = second.headers.get("location") ?? ""
    assert.strictEqual((await fetch(at, piece(0, "abc", mine))).status, 204)
    assert.strictEqual((await fetch(at, piece(3, "", { ...mine, "upload-length": "3" }))).status, 204)
    assert.strictEqual(await (await data(asAnn.storage.from("files").download(`${ann}/late.txt`))).text(), "abc")
  })

  it("of callers without a user are ended by those who may write the object", async () => {
    const begun = await begin({ apikey: service.service_role }, 3, "of-admin.txt")
    const location = begun.headers.get("location") ?? ""
    const asAnon = { ...tus, apikey: service.anon }
    for (const method of ["HEAD", "DELETE"]) {
      assert.strictEqual((await fetch(location, { method, headers: asAnon })).status, 403)
    }
    const ended = await fetch(location, { method: "DELETE", headers: { ...tus, apikey: service.service_role } })
    assert.strictEqual(ended.status, 204)
  })

  it("are begun with their bytes, ended, signed, and refused if they are malformed", async () => {
    const admins = { apikey: service.service_role }
    const url = `${service.url}/storage/v1/upload/resumable`
    const whole = await fetch(url, {
      method: "POST",
      headers: {
        ...tus,
        ...admins,
        "upload-length": "3",
        "upload-metadata": metadata("whole.txt"),
        "content-type": "application/offset+octet-stream"
      },
      body: "abc"
    })
    assert.deepStrictEqual([whole.status, whole.headers.get("upload-offset")], [201, "3"])
    assert.strictEqual(await (await data(admin.storage.from("files").download("whole.txt"))).text(), "abc")

    const ended = await begin(admins, 3, "ended.txt")
    const location = ended.headers.get("location") ?? ""
    await fetch(location, piece(0, "a", admins))
    assert.strictEqual((await fetch(location, { method: "DELETE", headers: { ...tus, ...admins } })).status, 204)
    assert.strictEqual((await fetch(location, piece(1, "bc", admins))).status, 404)
    assert.deepStrictEqual(
      await sql(service, "select count(*)::int as n from svc.supabase_uploads where name = 'ended.txt'"),
      [{ n: 0 }]
    )

    const signed = await data(asAnn.storage.from("files").createSignedUploadUrl(`${ann}/by-url.txt`))
    const signature = { "x-signature": signed.token }
    const byUrl = await begin(signature, 3, `${ann}/by-url.txt`, "/sign")
    assert.strictEqual(byUrl.status, 201)
    const at = byUrl.headers.get("location") ?? ""
    assert.strictEqual((await fetch(at, piece(0, "abc", { "x-signature": `${signed.token}x` }))).status, 400)
    assert.strictEqual((await fetch(at, piece(0, "abc", signature))).status, 204)
    assert.strictEqual(await (await data(asAnn.storage.from("files").download(`${ann}/by-url.txt`))).text(), "abc")
    assert.strictEqual((await begin(signature, 3, `${ann}/other.txt`, "/sign")).status, 400)

    assert.strictEqual((await fetch(url, { method: "POST", headers: admins })).status, 412)
    const large = await begin(admins, 10 * 1024 * 1024, "large.txt")
    assert.deepStrictEqual(
      [large.status, ((await large.json()) as { message: string }).message],
      [413, "Maximum size exceeded"]
    )
    assert.strictEqual(
      (await fetch(url, { method: "POST", headers: { ...tus, ...admins, "upload-length": "3" } })).status,
      400
    )
    assert.strictEqual((await begin(admins, 3, "a/../b")).status, 400)
    const options = await fetch(url, { method: "OPTIONS" })
    assert.deepStrictEqual([options.status, options.headers.get("tus-version")], [204, "1.0.0"])
  })
})

describe("requests have no field that is accepted and ignored", () => {
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(service, `POST /storage/v1${path}`, { key: service.service_role, body, headers })
  const shown = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const { json, status } = await post(path, body, headers)
    const { code, statusCode } = json as { code?: string; statusCode?: string }
    return status === 200 ? "200" : `${status} ${statusCode} ${code}`
  }
  const infoOf = async (name: string) =>
    (await ask(service, `GET /storage/v1/object/info/fields/${name}`, { key: service.service_role })).json as Record<
      string,
      unknown
    >

  it("buckets", async () => {
    const all = {
      id: "fields",
      name: "fields",
      type: "STANDARD",
      public: true,
      file_size_limit: "1.5MB",
      allowed_mime_types: ["text/plain", "application/json"],
      versioning_status: "DISABLED"
    }
    assert.strictEqual(await shown("/bucket", all), "200")
    const { json } = await ask(service, "GET /storage/v1/bucket/fields", { key: service.service_role })
    assert.deepInclude(json, {
      id: "fields",
      name: "fields",
      public: true,
      file_size_limit: 1_500_000,
      allowed_mime_types: ["text/plain", "application/json"]
    })
    for (const refused of [{ type: "ANALYTICS" }, { type: "VECTOR" }, { versioning_status: "ENABLED" }]) {
      assert.strictEqual(await shown("/bucket", { id: "no", name: "no", ...refused }), "400 501 FeatureNotEnabled")
    }
    assert.strictEqual(await shown("/bucket", { id: "a", name: "b" }), "400 400 InvalidBucketName")
    assert.strictEqual(await shown("/bucket", { name: "no", type: "OTHER" }), "400 400 InvalidRequest")
    const listed = async (query: string) => {
      const { json, status } = await ask(service, `GET /storage/v1/bucket?${query}`, { key: service.service_role })
      return status === 200 ? (json as ReadonlyArray<{ id: string }>).map(({ id }) => id) : status
    }
    await data(admin.storage.createBucket("fields-2"))
    assert.deepStrictEqual(await listed("search=FIELD&sortColumn=id&sortOrder=desc&limit=1"), ["fields-2"])
    assert.deepStrictEqual(await listed("search=field&sortColumn=created_at&offset=1"), ["fields-2"])
    for (const query of ["limit=0", "limit=x", "offset=-1", "sortColumn=owner", "sortOrder=up"]) {
      assert.strictEqual(await listed(query), 400, query)
    }
  })

  it("copies, which replace attributes, also in place", async () => {
    await data(
      admin.storage
        .from("fields")
        .upload("a.txt", "abc", { cacheControl: "60", contentType: "text/plain", metadata: { by: "ann" } })
    )
    const place = { bucketId: "fields", sourceKey: "a.txt", destinationBucket: "fields" }
    const metadata = Buffer.from(JSON.stringify({ by: "bob" })).toString("base64")
    // As at Supabase, only a copy without the metadata of its source has others.
    assert.strictEqual(
      await shown(
        "/object/copy",
        { ...place, destinationKey: "same.txt", copyMetadata: true, metadata: { mimetype: "application/json" } },
        { "x-metadata": metadata }
      ),
      "200"
    )
    assert.deepInclude(await infoOf("same.txt"), {
      cache_control: "max-age=60",
      content_type: "text/plain",
      metadata: { by: "ann" }
    })
    const changed = { copyMetadata: false, metadata: { cacheControl: "max-age=5", mimetype: "application/json" } }
    const copied = await post(
      "/object/copy",
      { ...place, destinationKey: "new.json", ...changed },
      { "x-metadata": metadata }
    )
    assert.deepInclude(copied.json, { Key: "fields/new.json", name: "new.json", bucket_id: "fields" })
    assert.deepInclude(await infoOf("new.json"), {
      cache_control: "max-age=5",
      content_type: "application/json",
      metadata: { by: "bob" }
    })
    const inPlace = { ...place, destinationKey: "a.txt", copyMetadata: false, metadata: { cacheControl: "3600" } }
    assert.strictEqual(await shown("/object/copy", inPlace), "400 409 KeyAlreadyExists")
    assert.strictEqual(await shown("/object/copy", inPlace, { "x-upsert": "true" }), "200")
    assert.deepInclude(await infoOf("a.txt"), {
      cache_control: "max-age=3600",
      content_type: "text/plain",
      metadata: {},
      size: 3
    })
    assert.strictEqual(await (await data(admin.storage.from("fields").download("a.txt"))).text(), "abc")
    // What a copy may not have where it goes to.
    assert.strictEqual(
      await shown("/object/copy", {
        ...place,
        destinationKey: "x",
        copyMetadata: false,
        metadata: { mimetype: "image/png" }
      }),
      "400 415 InvalidMimeType"
    )
    assert.strictEqual(
      await shown("/object/copy", { ...place, destinationKey: "x", metadata: { cacheControl: 1 } }),
      "400 400 InvalidRequest"
    )
    assert.strictEqual(
      await shown("/object/copy", { ...place, destinationKey: "x", copyMetadata: false }, { "x-metadata": "bm9uZQ==" }),
      "400 400 InvalidRequest"
    )
  })

  it("versions, which are not kept", async () => {
    const version = "11111111-1111-4111-8111-111111111111"
    const refused = "400 501 FeatureNotEnabled"
    const moved = { bucketId: "fields", sourceKey: "a.txt", destinationKey: "b.txt", sourceVersionId: version }
    assert.strictEqual(await shown("/object/move", moved), refused)
    assert.strictEqual(await shown("/object/copy", moved), refused)
    assert.strictEqual(await shown("/object/sign/fields/a.txt", { expiresIn: 60, versionId: version }), refused)
    assert.strictEqual(await shown("/object/sign/fields/a.txt", { expiresIn: 60, transform: { width: 1 } }), refused)
    const { json } = await ask(service, "DELETE /storage/v1/object/fields", {
      key: service.service_role,
      body: { prefixes: [{ name: "a.txt", versionId: version }] }
    })
    assert.deepInclude(json, { code: "FeatureNotEnabled" })
    const removed = await ask(service, "DELETE /storage/v1/object/fields", {
      key: service.service_role,
      body: { prefixes: ["same.txt", { name: "new.json" }] }
    })
    assert.strictEqual((removed.json as ReadonlyArray<unknown>).length, 2)
  })

  it("has times with three digits of a second", async () => {
    await sql(
      service,
      "update storage.objects set created_at = '2021-02-17 04:43:32.77Z', updated_at = '2021-02-17 04:43:32Z' where name = 'a.txt'"
    )
    const times = { created_at: "2021-02-17T04:43:32.770Z", updated_at: "2021-02-17T04:43:32.000Z" }
    const [listed] = await data(admin.storage.from("fields").list(""))
    assert.deepInclude(listed, times)
    const v2 = (await post("/object/list-v2/fields", {})).json as { objects: ReadonlyArray<object> }
    assert.deepInclude(v2.objects[0], times)
    assert.deepInclude(await infoOf("a.txt"), { created_at: times.created_at })
    await sql(service, "update storage.buckets set created_at = '2021-02-17 04:43:32.7Z' where id = 'fields'")
    const { json } = await ask(service, "GET /storage/v1/bucket/fields", { key: service.service_role })
    assert.deepInclude(json, { created_at: "2021-02-17T04:43:32.700Z" })
  })

  it("buckets, emptied and removed", async () => {
    assert.strictEqual(await shown("/bucket/fields/empty", {}), "200")
    await data(admin.storage.deleteBucket("fields"))
    await data(admin.storage.deleteBucket("fields-2"))
  })

  it("answers without credentials as to a request that lacks a header, and a probe", async () => {
    const { json, status } = await ask(service, "GET /storage/v1/bucket")
    assert.strictEqual(status, 400)
    assert.deepInclude(json, {
      statusCode: "400",
      error: "Error",
      message: "headers must have required property 'authorization'",
      code: "InvalidRequest"
    })
    const wrong = await ask(service, "GET /storage/v1/bucket", { key: "svc_pk_wrong" })
    assert.deepInclude(wrong.json, { statusCode: "403", error: "Unauthorized" })
    assert.strictEqual((await ask(service, "GET /storage/v1/status")).status, 200)
  })
})

it("policies read what the caller does", async () => {
  await data(admin.storage.createBucket("ops"))
  await sql(
    service,
    `create policy ops on storage.objects to anon using (bucket_id = 'ops' and storage.allow_any_operation(array['object.upload', 'storage.object.list', 'storage.tus.upload.create']))
     with check (bucket_id = 'ops' and storage.operation() in ('storage.object.upload', 'storage.tus.upload.create'))`
  )
  const ops = anon.storage.from("ops")
  await data(ops.upload("a.txt", "x"))
  assert.strictEqual((await data(ops.list())).length, 1)
  assert.strictEqual(failure(await ops.download("a.txt")).length > 0, true)
  assert.match(failure(await ops.update("a.txt", "y")), /^400 403 new row violates/)
  assert.deepStrictEqual(await data(ops.remove(["a.txt"])), [])
  const url = `${service.url}/storage/v1/upload/resumable`
  const encoded = (text: string) => Buffer.from(text).toString("base64")
  const headers = {
    "tus-resumable": "1.0.0",
    apikey: service.anon,
    "upload-length": "1",
    "upload-metadata": `bucketName ${encoded("ops")},objectName ${encoded("b.txt")}`
  }
  assert.strictEqual((await fetch(url, { method: "POST", headers })).status, 201)
  await data(admin.storage.emptyBucket("ops"))
})

it("only what rows refer to stays in the store, below the bucket's and the object's name", async () => {
  const inbox = anon.storage.from("inbox")
  // INSERT alone is not enough: an upload returns what it has written.
  assert.match(failure(await inbox.upload("a.txt", "x")), /^400 403 /)
  await data(admin.storage.emptyBucket("files"))
  const { secretKey, store } = await storeOf()
  const own = ownRequest(secretKey)
  const seen = store(own)
  const { Contents = [] } = await seen.send(new ListObjectsV2Command({ Bucket: hidden }))
  const keys = Contents.map(({ Key = "" }) => Key.replace(/\/[^/]+$/, ""))
  assert.deepStrictEqual(keys, ["Public Area/a/page.html"])
})

it("keeps the bytes' bucket from the storage API and from S3 clients", async () => {
  const key = service.service_role
  const buckets = (await ask(service, "GET /api/storage/buckets", { key })).text
  assert.notInclude(buckets, hidden)
  assert.notInclude((await ask(service, "GET /v1/storage/buckets", { key })).text, hidden)
  for (const [line, body] of [
    [`GET /api/storage/buckets/${hidden}/objects`],
    [`POST /api/storage/buckets/${hidden}/objects/upload-text`, { key: "a", content: "b", contentType: "text/plain" }],
    [
      `POST /api/storage/buckets/${hidden}/objects/presign-upload`,
      { key: "a", contentType: "text/plain", expiresIn: 60 }
    ],
    [`POST /api/storage/buckets`, { name: hidden }],
    [`DELETE /api/storage/buckets/${hidden}?force=true`]
  ] as const) {
    const reply = await ask(service, line, { key, ...(body === undefined ? {} : { body }) })
    assert.deepStrictEqual([line, reply.status, (reply.json as { code: string }).code], [line, 403, "BUCKET_RESERVED"])
  }
  const { store } = await storeOf()
  const s3 = store()
  const { Buckets = [] } = await s3.send(new ListBucketsCommand({}))
  assert.deepStrictEqual(
    Buckets.map(({ Name }) => Name),
    ["visible-bucket"]
  )
  const source = `${hidden}/Public Area/a/page.html/x`
  for (const command of [
    new PutObjectCommand({ Bucket: hidden, Key: "a", Body: "b" }),
    new DeleteBucketCommand({ Bucket: hidden }),
    new CopyObjectCommand({ Bucket: "visible-bucket", Key: "a", CopySource: encodeURI(source) })
  ]) {
    const refused = await s3.send(command as PutObjectCommand).catch((error: Error) => error.name)
    assert.strictEqual(refused, "AccessDenied")
  }
})

it("refuses callers without rights, and what it does not have", async () => {
  const code = async (line: string, headers: Record<string, string> = {}) => {
    const { json, status } = await ask(service, line, { headers })
    return `${status} ${(json as { statusCode: string }).statusCode} ${(json as { code: string }).code}`
  }
  assert.strictEqual(await code("GET /storage/v1/bucket"), "400 400 InvalidRequest")
  assert.strictEqual(await code("GET /storage/v1/bucket", { apikey: "x" }), "400 403 AccessDenied")
  assert.strictEqual(
    await code("GET /storage/v1/bucket", { authorization: `Bearer ${token(ann)}x` }),
    "400 403 AccessDenied"
  )
  // A user's JWT alone is a caller, as at Supabase.
  assert.strictEqual((await ask(service, "GET /storage/v1/bucket", { token: token(ann) })).status, 200)
  for (const line of [
    "GET /storage/v1/render/image/public/a/b",
    "GET /storage/v1/render/image/authenticated/a/b?width=10",
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
  // Without the image, the client must not get the original in its place.
  const sized = { transform: { width: 10 } }
  const image = asAnn.storage.from("files")
  for (const { error } of [
    await image.createSignedUrl(`${ann}/a.png`, 60, sized),
    await image.download("a.png", sized)
  ]) {
    assert.strictEqual((error as { statusCode?: string } | null)?.statusCode, "501")
  }
  const broken = await ask(service, "POST /storage/v1/object/list/files", { key: service.service_role, body: "{" })
  assert.deepStrictEqual([broken.status, (broken.json as { code: string }).code], [400, "InvalidRequest"])
  const form = await ask(service, "POST /storage/v1/object/files/x", {
    key: service.service_role,
    headers: { "content-type": "multipart/form-data; boundary=x" },
    body: "nonsense"
  })
  assert.deepStrictEqual([form.status, (form.json as { code: string }).code], [400, "InvalidRequest"])
})
