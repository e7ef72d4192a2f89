import { CreateBucketCommand } from "@aws-sdk/client-s3"
import { createHmac } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call, raw, type S3, startS3 } from "../../support/storage/s3.ts"

let s3: S3
beforeAll(async () => {
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket: "old" }))
  await call(s3, { method: "PUT", path: "/old/a%20b/%C3%A9", body: "content" })
})
afterAll(() => s3.stop())

const hmac = (secret: string, text: string) => createHmac("sha1", secret).update(text).digest("base64")

interface Url {
  readonly method?: string
  /** With the parameters that the signature covers, in order. */
  readonly resource: string
  readonly headers?: Readonly<Record<string, string>>
  readonly contentType?: string
  /** Until the end, in seconds. */
  readonly lifetime?: number
  readonly secret?: string
  readonly accessKey?: string
}

/** A URL as boto3 makes it: headers that it signs go into the query. */
const presigned = (url: Url) => {
  const { contentType = "", headers = {}, method = "GET", resource } = url
  const expires = Math.floor(Date.now() / 1000) + (url.lifetime ?? 60)
  const names = Object.keys(headers).toSorted()
  const lines = [method, "", contentType, expires, ...names.map((name) => `${name}:${headers[name]}`), resource]
  const signature = hmac(url.secret ?? s3.credentials.secretAccessKey, lines.join("\n"))
  const more = new URLSearchParams({
    AWSAccessKeyId: url.accessKey ?? s3.credentials.accessKeyId,
    Signature: signature,
    Expires: String(expires),
    ...headers,
    ...(contentType === "" ? {} : { "content-type": contentType })
  })
  return `${resource}${resource.includes("?") ? "&" : "?"}${more}`
}

describe("presigned URLs of signature version 2", () => {
  const resource = "/old/a%20b/%C3%A9"

  it("get, list and put", async () => {
    assert.strictEqual((await raw(s3, "GET", presigned({ resource }))).text, "content")
    const typed = await raw(s3, "GET", presigned({ resource: `${resource}?response-content-type=text/x` }))
    assert.strictEqual(typed.headers["content-type"], "text/x")
    assert.match((await raw(s3, "GET", `${presigned({ resource: "/old" })}&prefix=a`)).text, /<Key>a b\/é<\/Key>/)
    const headers = { "x-amz-meta-who": "me" }
    const target = presigned({ method: "PUT", resource: "/old/new", headers, contentType: "text/y" })
    assert.strictEqual((await raw(s3, "PUT", target, { "content-type": "text/y" }, "new")).status, 200)
    const { headers: found, text } = await call(s3, { path: "/old/new" })
    assert.deepStrictEqual([text, found["content-type"], found["x-amz-meta-who"]], ["new", "text/y", "me"])
  })

  it.each<[string, Url | ((target: string) => string), string]>([
    ["expired", { resource, lifetime: -5 }, "AccessDenied"],
    ["signed by another", { resource, secret: "wrong" }, "SignatureDoesNotMatch"],
    ["of another key", { resource, accessKey: "other" }, "InvalidAccessKeyId"],
    ["for another object", (target) => target.replace("/old/", "/old/x"), "SignatureDoesNotMatch"],
    ["for another time", (target) => target.replace("Expires=1", "Expires=2"), "SignatureDoesNotMatch"],
    ["with a header that was not signed", (target) => `${target}&x-amz-checksum-mode=ENABLED`, "SignatureDoesNotMatch"],
    ["with a parameter that was not signed", (target) => `${target}&acl`, "SignatureDoesNotMatch"],
    ["with one that signatures don't cover", (target) => `${target}&attributes`, "AccessDenied"],
    ["with a token", (target) => `${target}&x-amz-security-token=t`, "InvalidToken"],
    ["without an end", (target) => target.replace("Expires=", "x-id="), "AccessDenied"]
  ])("are refused if %s", async (_, url, code) => {
    const target = typeof url === "function" ? url(presigned({ resource })) : presigned(url)
    assert.strictEqual((await raw(s3, "GET", target)).code, code)
  })

  it("are refused for another method, and in the Authorization header", async () => {
    assert.strictEqual((await raw(s3, "DELETE", presigned({ resource }))).code, "SignatureDoesNotMatch")
    const authorization = `AWS ${s3.credentials.accessKeyId}:AAAA`
    assert.strictEqual((await raw(s3, "GET", resource, { authorization })).code, "InvalidRequest")
  })
})

describe("forms of signature version 2", () => {
  const post = async (conditions: ReadonlyArray<unknown>, secret = s3.credentials.secretAccessKey) => {
    const expiration = new Date(Date.now() + 60_000).toISOString()
    const policy = Buffer.from(JSON.stringify({ expiration, conditions })).toString("base64")
    const body = new FormData()
    const fields = { key: "form", AWSAccessKeyId: s3.credentials.accessKeyId, policy, signature: hmac(secret, policy) }
    for (const [name, value] of Object.entries(fields)) body.append(name, value)
    body.append("file", new Blob(["from a form"]))
    const response = await fetch(`${s3.endpoint}/old`, { method: "POST", body })
    return /<Code>(\w+)/.exec(await response.text())?.[1] ?? String(response.status)
  }

  it("upload their file if the policy allows it", async () => {
    assert.strictEqual(await post([{ bucket: "old" }, { key: "form" }]), "204")
    assert.strictEqual((await call(s3, { path: "/old/form" })).text, "from a form")
    assert.strictEqual(await post([{ bucket: "old" }, { key: "other" }]), "AccessDenied")
    assert.strictEqual(await post([{ bucket: "old" }, { key: "form" }], "wrong"), "SignatureDoesNotMatch")
  })
})
