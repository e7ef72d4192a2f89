import { CreateBucketCommand } from "@aws-sdk/client-s3"
import { createHmac } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, raw, type S3, startS3 } from "../../support/storage/s3.ts"

let s3: S3
beforeAll(async () => {
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket: "forms" }))
})
afterAll(() => s3.stop())

interface Form {
  readonly fields?: Readonly<Record<string, string>>
  readonly bucket?: string | null
  /** Conditions in addition to those on the fields. */
  readonly conditions?: ReadonlyArray<unknown>
  readonly millis?: number
  readonly file?: string
  readonly secret?: string
  /** Changes the fields after signing. */
  readonly change?: (fields: Record<string, string>) => void
}

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()

/** A form as a server creates it, sent as by a browser. */
const post = async (form: Form) => {
  const date = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, "")
  const day = date.slice(0, 8)
  const fields: Record<string, string> = {
    key: "up/${filename}",
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `${s3.credentials.accessKeyId}/${day}/us-east-1/s3/aws4_request`,
    "X-Amz-Date": date,
    ...form.fields
  }
  const { key: _key, ...exact } = fields
  const policy = {
    expiration: new Date(Date.now() + (form.millis ?? 60_000)).toISOString(),
    conditions: [
      ...(form.bucket === null ? [] : [{ bucket: form.bucket ?? "forms" }]),
      ["starts-with", "$key", "up/"],
      ...Object.entries(exact).map(([name, value]) => ({ [name]: value })),
      ...(form.conditions ?? [])
    ]
  }
  fields["policy"] = Buffer.from(JSON.stringify(policy)).toString("base64")
  const secret = form.secret ?? s3.credentials.secretAccessKey
  const key = ["us-east-1", "s3", "aws4_request"].reduce(hmac, hmac(`AWS4${secret}`, day))
  fields["X-Amz-Signature"] = hmac(key, fields["policy"]).toString("hex")
  form.change?.(fields)
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  body.append("file", new Blob([form.file ?? "content"]), "näme.txt")
  body.append("submit", "after the file nothing counts")
  const response = await fetch(`${s3.endpoint}/forms`, { method: "POST", body, redirect: "manual" })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, code: /<Code>(\w+)/.exec(text)?.[1] }
}

const content = async (key: string) => (await call(s3, { path: `/forms/${encodeURI(key)}` })).text

describe("forms", () => {
  it("upload their file with the metadata in their fields", async () => {
    const fields = { "Content-Type": "text/form", "x-amz-meta-who": "grüße", success_action_status: "201" }
    const response = await post({ fields })
    assert.strictEqual(response.status, 201)
    assert.match(response.text, /<PostResponse .*<Key>up\/näme.txt<\/Key>/s)
    const found = await call(s3, { path: "/forms/up/n%C3%A4me.txt" })
    assert.strictEqual(found.text, "content")
    assert.strictEqual(found.headers["content-type"], "text/form")
    assert.strictEqual(found.headers["x-amz-meta-who"], `=?UTF-8?B?${Buffer.from("grüße").toString("base64")}?=`)
  })

  it("redirect to success_action_redirect", async () => {
    const fields = { success_action_redirect: "https://app.example/done?a=1" }
    const response = await post({ fields })
    assert.strictEqual(response.status, 303)
    assert.match(response.headers.get("location") ?? "", /^https:\/\/app.example\/done\?a=1&bucket=forms&key=up%2F/)
  })

  it("upload a large file", async () => {
    const file = "x".repeat(3_000_000)
    assert.strictEqual((await post({ file, change: (fields) => (fields["key"] = "up/large") })).status, 204)
    assert.strictEqual(await content("up/large"), file)
  })

  it.each<[string, Form, number, string]>([
    ["expired", { millis: -1000 }, 403, "AccessDenied"],
    ["signed by another", { secret: "wrong" }, 403, "SignatureDoesNotMatch"],
    ["for another bucket", { bucket: "other" }, 403, "AccessDenied"],
    ["for no bucket in particular", { bucket: null }, 403, "AccessDenied"],
    ["for another key", { change: (fields) => (fields["key"] = "down/x") }, 403, "AccessDenied"],
    ["with an extra field", { change: (fields) => (fields["x-amz-meta-a"] = "b") }, 403, "AccessDenied"],
    ["with another policy", { change: (fields) => (fields["policy"] += "AA") }, 403, "SignatureDoesNotMatch"],
    ["without a policy", { change: (fields) => delete fields["policy"] }, 400, "InvalidArgument"],
    ["without a key", { change: (fields) => delete fields["key"] }, 400, "InvalidArgument"],
    ["too small", { conditions: [["content-length-range", 10, 20]] }, 400, "EntityTooSmall"],
    ["too large", { conditions: [["content-length-range", 0, 3]] }, 400, "EntityTooLarge"],
    ["with an invalid condition", { conditions: [["near", "$key", "x"]] }, 400, "InvalidPolicyDocument"],
    [
      "with an endless field",
      { change: (fields) => (fields["x-ignore-a"] = "a".repeat(30_000)) },
      400,
      "MaxMessageLengthExceeded"
    ]
  ])("are rejected when %s", async (_, form, status, code) => {
    const response = await post(form)
    assert.deepStrictEqual([response.status, response.code], [status, code])
  })

  it("are rejected if malformed", async () => {
    const send = async (type: string, body: string) => {
      const response = await fetch(`${s3.endpoint}/forms`, { method: "POST", headers: { "content-type": type }, body })
      return /<Code>(\w+)/.exec(await response.text())?.[1]
    }
    assert.strictEqual(await send("multipart/form-data", "x"), "MalformedPOSTRequest")
    const type = "multipart/form-data; boundary=b"
    const file = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nhello'
    assert.strictEqual(await send(type, ""), "MalformedPOSTRequest")
    assert.strictEqual(await send(type, `${file}\r\n--b--\r\n`), "InvalidArgument")
    const key = '--b\r\nContent-Disposition: form-data; name="key"\r\n\r\nk\r\n'
    assert.strictEqual(await send(type, `${key}${file}`), "AccessDenied")
    assert.strictEqual(await send(type, `${key}--b--\r\n`), "InvalidArgument")
    await call(s3, {
      method: "PUT",
      path: "/forms",
      query: { policy: "" },
      body: '{"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::forms/k"}}'
    })
    assert.strictEqual(await send(type, `${key}${file}`), "MalformedPOSTRequest")
    assert.strictEqual(await send(type, `${key}${file}\r\n--b--\r\n`), undefined)
    assert.strictEqual(await content("k"), "hello")
    // Every browser writes these, and some write the whole path of the file.
    const quoted = `${key}${file.replace('"f"', '"C:\\\\dir\\\\q\\"u.txt"')}`
    assert.strictEqual(await send(`${type}; charset=utf-8`, `preamble\r\n${quoted}\r\n--b--\r\nepilogue`), undefined)
    const tricky = "\r\n--\r\n--a\r\n-\r\n\r"
    assert.strictEqual(await send(type, `${key}${file}${tricky}\r\n--b--\r\n`), undefined)
    assert.strictEqual(await content("k"), `hello${tricky}`)
  })

  it("are read only as far as a form may reach", async () => {
    const disposition = 'Content-Disposition: form-data; name="a"'
    const endless: ReadonlyArray<readonly [string, string]> = [
      ["x".repeat(30_000), "MaxMessageLengthExceeded"],
      [`--b\r\n${"a: b\r\n".repeat(5000)}`, "MaxMessageLengthExceeded"],
      [`--b\r\n${disposition}\r\n\r\n${"x".repeat(30_000)}`, "MaxMessageLengthExceeded"],
      [`--b\r\n${disposition}\r\n\r\n\r\n`.repeat(200), "MalformedPOSTRequest"],
      ["--b\r\n\r\n\r\n".repeat(200), "MalformedPOSTRequest"]
    ]
    for (const [start, code] of endless) {
      // The endpoint answers although most of the body is still to come.
      const answer = await raw(
        s3,
        "POST",
        "/forms",
        { "content-type": "multipart/form-data; boundary=b", "content-length": "1000000000" },
        start
      )
      assert.strictEqual(answer.code, code)
    }
    const type = `multipart/form-data; boundary=${"b".repeat(71)}`
    assert.strictEqual((await raw(s3, "POST", "/forms", { "content-type": type }, "x")).code, "MalformedPOSTRequest")
  })
})
