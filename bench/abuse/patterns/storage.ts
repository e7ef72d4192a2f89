/** Requests to the embedded S3 endpoint without its credentials. */
import { request } from "../client.ts"
import { list, type Pattern, requests } from "../pattern.ts"

const boundary = "abuse"
const form = { "content-type": `multipart/form-data; boundary=${boundary}` }
const field = (name: string, value: string) =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const fileStart = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`
const end = `\r\n--${boundary}--\r\n`
const millions = 8_000_000

const sent = (method: string, path: string, headers: Record<string, string>, body: () => string) =>
  requests(() => {
    const bytes = Buffer.from(body())
    return () => request(method, path, headers, bytes)
  })

const s3 = (pattern: Omit<Pattern, "server" | "needs">): Pattern => ({ ...pattern, server: "s3", needs: ["bucket"] })

export const storage: ReadonlyArray<Pattern> = [
  s3({
    name: "s3-forms",
    title: "forms with 190 fields and a file of 8 MB",
    attack: sent("POST", "/abused", form, () => {
      const fields = Array.from({ length: 190 }, (_, n) => field(n === 0 ? "key" : `field${n}`, "a"))
      return `${fields.join("")}${fileStart}${"x".repeat(millions)}${end}`
    })
  }),
  s3({
    name: "s3-forms-boundaries",
    title: "forms of 8 MB that nearly are boundaries",
    attack: sent(
      "POST",
      "/abused",
      form,
      () => `${field("key", "a")}${fileStart}${"\r\n--abus".repeat(millions / 8)}${end}`
    )
  }),
  s3({
    name: "s3-forms-preamble",
    title: "forms with a preamble of 8 MB",
    attack: sent("POST", "/abused", form, () => `${"\r\n--abus".repeat(millions / 8)}\r\n${field("key", "a")}${end}`)
  }),
  s3({
    name: "s3-unsigned-bodies",
    title: "unsigned uploads of 8 MB",
    attack: sent("PUT", "/abused/object", {}, () => "x".repeat(millions))
  }),
  s3({
    name: "s3-bulk-delete",
    title: "unsigned bulk deletes of 1 MB",
    attack: sent(
      "POST",
      "/abused?delete",
      {},
      () => `<Delete>${"<Object><Key>a</Key></Object>".repeat(30_000)}</Delete>`
    )
  }),
  s3({
    name: "s3-headers",
    title: "14 KB of headers",
    attack: requests(() => {
      const headers = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`x-amz-meta-${n}`, "a".repeat(15)]))
      return () => request("GET", "/abused/object", headers)
    })
  }),
  s3({
    name: "s3-signatures",
    title: "signatures that are wrong, over 12 KB of headers and query",
    attack: requests(({ accessKeyId }) => {
      const date = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "")
      const signed = Array.from({ length: 200 }, (_, n) => `x-amz-${n}`)
      const credential = `${accessKeyId}/${date.slice(0, 8)}/us-east-1/s3/aws4_request`
      const names = ["host", "x-amz-content-sha256", "x-amz-date", ...signed].join(";")
      const query = list(190, (n) => `q${n}=%41%42%43`).replaceAll(",", "&")
      const headers = {
        ...Object.fromEntries(signed.map((name) => [name, "a".repeat(20)])),
        "x-amz-date": date,
        "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
        authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${"0".repeat(64)}`
      }
      return (n) => request("GET", `/abused/object?${query}&n=${n}`, headers)
    })
  })
]
