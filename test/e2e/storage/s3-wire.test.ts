import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3"
import { randomBytes } from "node:crypto"
import { readdir } from "node:fs/promises"
import { connect } from "node:net"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, presigned, raw, type S3, type S3Call, signed, startS3 } from "../../support/storage/s3.ts"

let s3: S3
beforeAll(async () => {
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket: "wire" }))
  await call(s3, { method: "PUT", path: "/wire/ten", body: "0123456789" })
})
afterAll(async () => {
  // After any input the endpoint still works.
  assert.strictEqual((await call(s3, { path: "/wire/ten" })).text, "0123456789")
  await s3.stop()
})

/** Writes bytes and returns the response up to the end of the connection or to `until`. */
const talk = (bytes: string | Uint8Array, until?: string) =>
  new Promise<string>((resolve) => {
    const { hostname, port } = new URL(s3.endpoint)
    let received = ""
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket
      .setEncoding("latin1")
      .on("data", (text: string) => {
        received += text
        if (until !== undefined && received.includes(until)) socket.destroy()
      })
      .on("error", () => undefined)
      .on("close", () => resolve(received))
  })

const files = async () =>
  (
    await Promise.all(
      ["blobs", "tmp"].map((name) => readdir(join(s3.path, "objects", name), { recursive: true, withFileTypes: true }))
    )
  )
    .flat()
    .filter((entry) => entry.isFile()).length

describe("ranges", () => {
  it.each<[string, number, string]>([
    ["bytes=0-0", 206, "0"],
    ["bytes=2-4", 206, "234"],
    ["bytes=7-", 206, "789"],
    ["bytes=-3", 206, "789"],
    ["bytes=-100", 206, "0123456789"],
    ["bytes=5-100", 206, "56789"],
    ["bytes=0-1,3-4", 200, "0123456789"],
    ["bytes=4-2", 200, "0123456789"],
    ["lines=1-2", 200, "0123456789"],
    ["bytes=10-", 416, "InvalidRange"],
    ["bytes=-0", 416, "InvalidRange"],
    ["bytes=8-99999999999999999999", 206, "89"],
    [`bytes=1${" ".repeat(10_000)}-3`, 200, "0123456789"]
  ])("%s: %s %s", async (range, status, text) => {
    const answer = await call(s3, { path: "/wire/ten", headers: { range } })
    assert.deepStrictEqual([answer.status, answer.code ?? answer.text], [status, text])
  })
})

describe("conditions", () => {
  const etag = '"781e5e245d69b566979b86e28d23f2c7"'
  const past = "Mon, 01 Jan 2024 00:00:00 GMT"
  const future = "Fri, 01 Jan 2100 00:00:00 GMT"
  it.each<[Readonly<Record<string, string>>, number]>([
    [{ "if-match": etag }, 200],
    [{ "if-match": `"x", ${etag}` }, 200],
    [{ "if-match": '"x"' }, 412],
    [{ "if-none-match": etag }, 304],
    [{ "if-none-match": "*" }, 304],
    [{ "if-none-match": '"x"' }, 200],
    [{ "if-modified-since": future }, 304],
    [{ "if-modified-since": past }, 200],
    [{ "if-modified-since": "nonsense" }, 200],
    [{ "if-unmodified-since": past }, 412],
    [{ "if-unmodified-since": past, "if-match": etag }, 200],
    [{ "if-modified-since": future, "if-none-match": '"x"' }, 200],
    [{ "if-range": '"x"', range: "bytes=0-1" }, 200],
    [{ "if-range": etag, range: "bytes=0-1" }, 206]
  ])("%j: %s", async (headers, status) => {
    for (const method of ["GET", "HEAD"]) {
      assert.strictEqual((await call(s3, { method, path: "/wire/ten", headers })).status, status)
    }
  })

  it("of writes: one of twenty concurrent writes succeeds", async () => {
    const write = (path: string, headers: Readonly<Record<string, string>>) =>
      call(s3, { method: "PUT", path, headers, body: "x" })
    const all = await Promise.all(Array.from({ length: 20 }, () => write("/wire/once", { "if-none-match": "*" })))
    assert.strictEqual(all.filter(({ status }) => status === 200).length, 1)
    assert.strictEqual(all.filter(({ code }) => code === "PreconditionFailed").length, 19)
    assert.strictEqual((await write("/wire/once", { "if-match": '"x"' })).status, 412)
    assert.strictEqual((await write("/wire/none", { "if-match": '"x"' })).code, "NoSuchKey")
    assert.strictEqual((await write("/wire/once", { "if-none-match": '"x"' })).code, "NotImplemented")
  })
})

describe("limits", () => {
  it("of the header section, the query and the names in a preflight request", async () => {
    assert.match(await talk(`GET /wire/ten HTTP/1.1\r\nx: ${"x".repeat(17_000)}\r\n\r\n`), /<Code>BadRequest/)
    assert.strictEqual((await raw(s3, "GET", `/wire/ten?${"a&".repeat(300)}`)).code, "InvalidURI")
    const names = Array.from({ length: 101 }, (_, index) => `x-${index}`).join(",")
    const preflight = {
      origin: "https://a.example",
      "access-control-request-method": "PUT",
      "access-control-request-headers": names
    }
    assert.strictEqual((await raw(s3, "OPTIONS", "/wire/ten", preflight)).code, "BadRequest")
  })

  it("of XML documents, by their sender; one that no policy lets in is not read at all", async () => {
    const remove = (keys: number) =>
      `<Delete>${Array.from({ length: keys }, (_, index) => `<Object><Key>none/${index}</Key></Object>`).join("")}</Delete>`
    const send = (body: string) => raw(s3, "POST", "/wire?delete", {}, body)
    assert.strictEqual((await send("not XML")).code, "AccessDenied")
    const statement = {
      Effect: "Allow",
      Principal: "*",
      Action: "s3:DeleteObject",
      Resource: "arn:aws:s3:::wire/none/*"
    }
    const policy = { path: "/wire", query: { policy: "" } }
    await call(s3, { ...policy, method: "PUT", body: JSON.stringify({ Statement: statement }) })
    assert.strictEqual((await send("not XML")).code, "MalformedXML")
    assert.strictEqual((await send(remove(1000))).status, 200)
    assert.strictEqual((await send(`<Delete>${"<a/>".repeat(5000)}</Delete>`)).code, "MaxMessageLengthExceeded")
    assert.strictEqual((await send(" ".repeat(300_000))).code, "MaxMessageLengthExceeded")
    await call(s3, { ...policy, method: "DELETE" })
    const owned = (body: string) => call(s3, { method: "POST", path: "/wire", query: { delete: "" }, body })
    assert.strictEqual((await owned(`<Delete>${"<a/>".repeat(5000)}</Delete>`)).code, "MalformedXML")
    assert.strictEqual((await owned(`<Delete>${"<a/>".repeat(100_000)}</Delete>`)).code, "MaxMessageLengthExceeded")
  })
})

describe("conditions of deletions", () => {
  const write = async (key: string) => {
    await call(s3, { method: "PUT", path: `/wire/${key}`, body: "12345" })
    const { headers } = await call(s3, { method: "HEAD", path: `/wire/${key}` })
    return { etag: String(headers["etag"]), modified: String(headers["last-modified"]) }
  }
  const exists = async (key: string) => (await call(s3, { method: "HEAD", path: `/wire/${key}` })).status === 200
  const past = "Mon, 01 Jan 2024 00:00:00 GMT"

  it("are checked for each key", async () => {
    const { etag, modified } = await write("same")
    for (const key of ["changed", "resized", "older", "any", "plain"]) await write(key)
    const element = (key: string, more: string) => `<Object><Key>${key}</Key>${more}</Object>`
    const objects = [
      element("same", `<ETag>${etag}</ETag><Size>5</Size><LastModifiedTime>${modified}</LastModifiedTime>`),
      element("changed", `<ETag>"0"</ETag>`),
      element("resized", "<Size>6</Size>"),
      element("older", `<LastModifiedTime>${past}</LastModifiedTime>`),
      element("any", "<ETag>*</ETag>"),
      element("missing", "<ETag>*</ETag>"),
      element("plain", "")
    ]
    const remove = (body: string) =>
      call(s3, { method: "POST", path: "/wire", query: { delete: "" }, body: `<Delete>${body}</Delete>` })
    const { status, text } = await remove(objects.join(""))
    assert.strictEqual(status, 200)
    const keys = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, key]) => key).toSorted()
    assert.deepStrictEqual(keys(/<Deleted><Key>(\w+)/g), ["any", "plain", "same"])
    assert.deepStrictEqual(keys(/<Key>(\w+)<\/Key><Code>PreconditionFailed/g), ["changed", "older", "resized"])
    assert.deepStrictEqual(keys(/<Key>(\w+)<\/Key><Code>NoSuchKey/g), ["missing"])
    for (const key of ["changed", "resized", "older"]) assert.isTrue(await exists(key))
    for (const key of ["same", "any", "plain"]) assert.isFalse(await exists(key))
    for (const bad of ["<Size>x</Size>", "<LastModifiedTime>x</LastModifiedTime>", "<ETag></ETag>"]) {
      assert.strictEqual((await remove(element("older", bad))).code, "MalformedXML")
    }
  })

  it("are checked in the headers of a single one", async () => {
    const { modified } = await write("single")
    const remove = (headers: Readonly<Record<string, string>>) =>
      call(s3, { method: "DELETE", path: "/wire/single", headers })
    for (const headers of [{ "x-amz-if-match-size": "6" }, { "x-amz-if-match-last-modified-time": past }]) {
      assert.strictEqual((await remove(headers)).code, "PreconditionFailed")
    }
    assert.strictEqual((await remove({ "x-amz-if-match-size": "x" })).code, "InvalidArgument")
    const right = { "x-amz-if-match-size": "5", "x-amz-if-match-last-modified-time": modified }
    assert.strictEqual((await remove(right)).status, 204)
  })

  it("are checked when an upload is aborted", async () => {
    const { text } = await call(s3, { method: "POST", path: "/wire/open", query: { uploads: "" } })
    const uploadId = /<UploadId>(\w+)/.exec(text)?.[1] ?? ""
    const abort = (headers: Readonly<Record<string, string>>) =>
      call(s3, { method: "DELETE", path: "/wire/open", query: { uploadId }, headers })
    assert.strictEqual((await abort({ "x-amz-if-match-initiated-time": past })).code, "PreconditionFailed")
    assert.strictEqual((await abort({})).status, 204)
  })
})

describe("cross-origin", () => {
  const rule = (id: number) =>
    `<CORSRule><ID>${id}</ID><AllowedOrigin>https://*.r${id}.example</AllowedOrigin><AllowedMethod>PUT</AllowedMethod><AllowedHeader>x-*</AllowedHeader><ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>60</MaxAgeSeconds></CORSRule>`
  const configure = (rules: string) =>
    call(s3, {
      method: "PUT",
      path: "/wire",
      query: { cors: "" },
      body: `<CORSConfiguration>${rules}</CORSConfiguration>`
    })
  const preflight = (origin: string, headers: Readonly<Record<string, string>> = {}) =>
    raw(s3, "OPTIONS", "/wire/any", { origin, "access-control-request-method": "PUT", ...headers })

  it("follows the bucket's rules, up to a hundred", async () => {
    assert.strictEqual((await preflight("https://a.r1.example")).code, "AccessForbidden")
    const rules = Array.from({ length: 101 }, (_, index) => rule(index))
    assert.strictEqual((await configure(rules.join(""))).code, "MalformedXML")
    assert.strictEqual((await configure(rules.slice(1).join(""))).status, 200)
    const yes = await preflight("https://a.r77.example", { "access-control-request-headers": "X-One, x-two" })
    assert.strictEqual(yes.status, 200)
    assert.deepInclude(yes.headers, {
      "access-control-allow-origin": "https://a.r77.example",
      "access-control-allow-methods": "PUT",
      "access-control-allow-headers": "x-one, x-two",
      "access-control-expose-headers": "ETag",
      "access-control-max-age": "60",
      "access-control-allow-credentials": "true"
    })
    assert.strictEqual((await preflight("https://a.r0.example")).code, "AccessForbidden")
    const other = { "access-control-request-headers": "content-type" }
    assert.strictEqual((await preflight("https://a.r77.example", other)).code, "AccessForbidden")
    assert.strictEqual((await raw(s3, "OPTIONS", "/wire/any")).code, "BadRequest")
    // Errors have the headers too, so that pages can read them.
    const denied = await raw(s3, "PUT", "/wire/any", { origin: "https://a.r1.example" }, "x")
    assert.deepStrictEqual(
      [denied.code, denied.headers["access-control-allow-origin"]],
      ["AccessDenied", "https://a.r1.example"]
    )
    const { text } = await call(s3, { path: "/wire", query: { cors: "" } })
    assert.strictEqual(text.match(/<CORSRule>/g)?.length, 100)
    for (const wrong of ["<CORSRule/>", rule(1).replace("PUT", "PATCH"), rule(1).replace("x-*", "*-*")]) {
      assert.strictEqual((await configure(wrong)).status, 400)
    }
    assert.strictEqual((await call(s3, { method: "DELETE", path: "/wire", query: { cors: "" } })).status, 204)
  })

  it("lets the service's own pages use presigned URLs, and only those, whatever the bucket's rules are", async () => {
    const origin = "http://127.0.0.1:3000"
    const url = await presigned(s3, { method: "PUT", path: "/wire/own" })
    const ask = (origin: string, method = "PUT", path = url) =>
      raw(s3, "OPTIONS", path, {
        origin,
        "access-control-request-method": method,
        "access-control-request-headers": "content-type,x-amz-meta-a"
      })
    for (const rules of ["", rule(1)]) {
      if (rules !== "") assert.strictEqual((await configure(rules)).status, 200)
      for (const one of [origin, "http://localhost:3000"]) {
        const { headers, status } = await ask(one)
        assert.strictEqual(status, 200)
        assert.deepInclude(headers, {
          "access-control-allow-origin": one,
          "access-control-allow-headers": "content-type, x-amz-meta-a",
          "access-control-expose-headers": "ETag"
        })
        // The URL is the credential: nothing that the browser has may go along.
        assert.notProperty(headers, "access-control-allow-credentials")
      }
      for (const other of [
        "http://127.0.0.1:4001",
        "https://127.0.0.1:3000.example",
        "http://evil.example:3000",
        "null"
      ])
        assert.strictEqual((await ask(other)).code, "AccessForbidden", other)
      assert.strictEqual((await ask(origin, "DELETE")).code, "AccessForbidden")
      assert.strictEqual((await ask(origin, "PUT", "/wire/own")).code, "AccessForbidden")
    }
    const stored = await raw(s3, "PUT", url, { origin }, "x")
    assert.deepStrictEqual(
      [stored.status, stored.headers["access-control-allow-origin"], stored.headers["access-control-expose-headers"]],
      [200, origin, "ETag"]
    )
    const expired = await presigned(s3, { method: "GET", path: "/wire/own", skew: -120_000 })
    const late = await raw(s3, "GET", expired, { origin })
    assert.deepStrictEqual([late.code, late.headers["access-control-allow-origin"]], ["AccessDenied", origin])
    const { text } = await call(s3, { path: "/wire", query: { cors: "" } })
    assert.strictEqual(text.match(/<CORSRule>/g)?.length, 1)
    // A page that a rule names as well keeps what the rule exposes.
    const named = rule(2).replace("https://*.r2.example", origin).replace("ETag<", "x-amz-meta-a<")
    assert.strictEqual((await configure(named)).status, 200)
    const both = await raw(s3, "PUT", await presigned(s3, { method: "PUT", path: "/wire/own" }), { origin }, "x")
    assert.strictEqual(both.headers["access-control-expose-headers"], "ETag, x-amz-meta-a")
    assert.strictEqual((await call(s3, { method: "DELETE", path: "/wire", query: { cors: "" } })).status, 204)
  })
})

describe("bad input", () => {
  const xml: S3Call = { method: "POST", path: "/wire", query: { delete: "" } }
  it.each<[string, string, string]>([
    ["nothing", "", "MalformedXML"],
    ["not XML", "{}", "MalformedXML"],
    ["another root", "<X/>", "MalformedXML"],
    ["an unclosed tag", "<Delete><Object><Key>a</Key>", "MalformedXML"],
    ["no keys", "<Delete></Delete>", "MalformedXML"],
    [
      "a document type",
      '<!DOCTYPE a [<!ENTITY x "y">]><Delete><Object><Key>&x;</Key></Object></Delete>',
      "MalformedXML"
    ],
    ["an external entity", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><Delete/>', "MalformedXML"],
    ["an unknown entity", "<Delete><Object><Key>&x;</Key></Object></Delete>", "MalformedXML"],
    ["an unpaired surrogate", "<Delete><Object><Key>&#xD800;</Key></Object></Delete>", "MalformedXML"],
    ["nested too deeply", "<Delete>".repeat(50_000) + "</Delete>".repeat(50_000), "MalformedXML"],
    ["1001 keys", `<Delete>${"<Object><Key>a</Key></Object>".repeat(1001)}</Delete>`, "MalformedXML"],
    ["too long", `<Delete>${" ".repeat(2 ** 21)}</Delete>`, "MaxMessageLengthExceeded"]
  ])("XML that is %s", async (_, body, code) => {
    assert.strictEqual((await call(s3, { ...xml, body })).code, code)
  })

  it("accepts XML's predefined entities", async () => {
    const keys = ["a&b<c>", " spaced ", "é😀", "x]]>y"]
    for (const key of keys) await call(s3, { method: "PUT", path: `/wire/${encodeURIComponent(key)}`, body: "x" })
    const body =
      "<Delete xmlns='x'><Object><Key>a&amp;b&lt;c&#62;</Key></Object><Object><Key> spaced </Key></Object><Object><Key>&#xe9;&#x1F600;</Key></Object><Object><Key><![CDATA[x]]]]>&gt;y</Key></Object></Delete>"
    assert.strictEqual((await call(s3, { ...xml, body })).text.match(/<Deleted>/g)?.length, 4)
    assert.notMatch((await call(s3, { path: "/wire" })).text, /spaced|amp;b/)
  })

  it.each<[string, string, number]>([
    ["GET", "/wire/%zz", 400],
    ["GET", "/wire/%ff", 400],
    ["GET", "/wire?x=%80", 400],
    ["PATCH", "/wire/ten", 405],
    ["POST", "/wire/ten", 405],
    ["PUT", "/", 405],
    ["PUT", "/wire/ten?retention", 501],
    ["PUT", "/wire?versioning", 400],
    ["GET", "/wire?encryption", 404],
    ["GET", "/wire?list-type=2&encoding-type=x", 400],
    ["GET", "/wire/ten?partNumber=x", 400],
    ["GET", "/wire/ten?versionId=7", 400],
    ["PUT", "/wire/ten?partNumber=1&uploadId=nonsense", 404]
  ])("%s %s: %s", async (method, target, status) => {
    const [path = "", search = ""] = target.split("?")
    const pairs = search === "" ? [] : search.split("&").map((pair) => pair.split("="))
    const query = Object.fromEntries(pairs.map(([name = "", value = ""]) => [name, value]))
    const body = method.startsWith("P") ? { body: "x" } : {}
    const answer = target.includes("%")
      ? await raw(s3, method, target)
      : await call(s3, { method, path, query, ...body })
    assert.strictEqual(answer.status, status)
    assert.isString(answer.code)
    assert.match(String(answer.headers["x-amz-request-id"]), /^[0-9A-F]{16}$/)
  })

  it("gets an S3 error if it is not HTTP", async () => {
    for (const bytes of ["nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\0 HTTP/1.1\r\n\r\n", randomBytes(200)]) {
      assert.match(await talk(bytes), /^HTTP\/1.1 400 .*<Error><Code>BadRequest<\/Code>/s)
    }
    assert.match(await talk(`GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(70_000)}\r\n\r\n`), /BadRequest/)
    assert.match(await talk("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"), /MethodNotAllowed/)
    assert.match(await talk("GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n"), /BadRequest/)
    assert.match(
      await talk("PUT /wire/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "</Error>"),
      /AccessDenied/
    )
  })
})

describe("shutdown", () => {
  it("lets requests in progress finish, and accepts no new ones", async () => {
    const other = await startS3()
    await other.client.send(new CreateBucketCommand({ Bucket: "end" }))
    const given: S3Call = { method: "PUT", path: "/end/slow", payload: "UNSIGNED-PAYLOAD" }
    const lines = Object.entries(await signed(other, given)).map(([name, value]) => `${name}: ${value}\r\n`)
    const { hostname, port } = new URL(other.endpoint)
    let received = ""
    const socket = connect(Number(port), hostname)
    const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()))
    socket.setEncoding("latin1").on("data", (text: string) => (received += text))
    socket.write(`PUT /end/slow HTTP/1.1\r\n${lines.join("")}expect: 100-continue\r\ncontent-length: 5\r\n\r\n`)
    await until(async () => received.includes("100 Continue"))
    const stopped = other.stop()
    await until(() =>
      raw(other, "GET", "/").then(
        () => false,
        () => true
      )
    )
    socket.write("hello")
    await Promise.all([stopped, ended])
    assert.match(received, /HTTP\/1.1 200 OK/)
  })
})

describe("uploads", () => {
  const head = async (given: S3Call, length: number, more = "") => {
    const lines = Object.entries(await signed(s3, given)).map(([name, value]) => `${name}: ${value}\r\n`)
    return `${given.method} ${given.path} HTTP/1.1\r\n${lines.join("")}content-length: ${length}\r\n${more}\r\n`
  }
  const put: S3Call = { method: "PUT", path: "/wire/up", payload: "UNSIGNED-PAYLOAD" }

  it("are requested (100 Continue) only after they are authorized", async () => {
    const expect = "expect: 100-continue\r\n"
    assert.match(await talk(await head(put, 5, expect), "100 Continue"), /^HTTP\/1.1 100 Continue/)
    const denied = await talk(await head({ ...put, secret: "wrong" }, 5, expect))
    assert.match(denied, /^HTTP\/1.1 403 .*SignatureDoesNotMatch/s)
  })

  it("leave nothing behind if interrupted", async () => {
    const before = await files()
    const begun = await head(put, 10_000_000)
    await Promise.all(
      Array.from(
        { length: 10 },
        () =>
          new Promise<void>((resolve) => {
            const { hostname, port } = new URL(s3.endpoint)
            const socket = connect(Number(port), hostname, () => {
              socket.write(begun)
              socket.write(randomBytes(3_000_000), () => socket.destroy())
            })
            socket.on("error", () => undefined).on("close", () => resolve())
          })
      )
    )
    await until(async () => (await files()) === before)
    assert.strictEqual((await call(s3, { path: "/wire/up" })).code, "NoSuchKey")
  })

  it("get a response if rejected, however large", async () => {
    const answer = await raw(s3, "PUT", "/wire/denied", {}, Buffer.alloc(3_000_000))
    assert.strictEqual(answer.code, "AccessDenied")
    const large = await raw(s3, "PUT", "/wire/large", {
      ...(await signed(s3, { ...put, path: "/wire/large" })),
      "content-length": String(6 * 1024 ** 3)
    })
    assert.strictEqual(large.code, "EntityTooLarge")
  })

  it("run two hundred at a time", async () => {
    const bodies = Array.from({ length: 200 }, (_, index) => Buffer.alloc(20_000, String(index)))
    await Promise.all(
      bodies.map((Body, index) => s3.client.send(new PutObjectCommand({ Bucket: "wire", Key: `many/${index}`, Body })))
    )
    const found = await Promise.all(
      bodies.map(async (_, index) => {
        const { Body } = await s3.client.send(new GetObjectCommand({ Bucket: "wire", Key: `many/${index}` }))
        return Buffer.from((await Body?.transformToByteArray()) ?? [])
      })
    )
    assert.isTrue(found.every((bytes, index) => bytes.equals(bodies[index] ?? Buffer.alloc(0))))
  })
})

const until = async (holds: () => Promise<boolean>) => {
  const end = Date.now() + 5000
  while (!(await holds())) {
    if (Date.now() > end) assert.fail("Not within 5 seconds")
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
