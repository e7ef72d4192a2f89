import { S3Client } from "@aws-sdk/client-s3"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "vitest"
import { type Address } from "../service.ts"
import { ask } from "../client.ts"
import { otherStore } from "./external.ts"

let made = 0

/** Short forms of requests to `/api/storage`. */
export const makeBuckets = (service: Pick<Address, "url" | "service_role" | "dataDir">) => {
  const key = service.service_role

  /** A new empty bucket. It is not deleted, because its service ends with the tests. */
  const bucketOf = async (): Promise<string> => {
    const name = `e2e-${process.pid}-${Date.now()}-${made++}`
    const reply = await ask(service, "POST /api/storage/buckets", { key, body: { name } })
    assert.strictEqual(reply.status, 201, reply.text)
    return name
  }

  /** A request such as `"POST upload-text"` to the objects of a bucket. */
  const inBucket = (bucket: string, line: string, body?: object) => {
    const [method = "", path = ""] = line.split(" ", 2)
    const slash = path === "" || path.startsWith("?") ? "" : "/"
    return ask(service, `${method} /api/storage/buckets/${bucket}/objects${slash}${path}`, { key, body })
  }

  const list = (bucket: string, query: string) => inBucket(bucket, `GET ${query}`)

  const upload = async (bucket: string, key: string, content = "x", contentType = "text/plain") => {
    const reply = await inBucket(bucket, "POST upload-text", { key, content, contentType })
    assert.strictEqual(reply.status, 201, reply.text)
  }

  /** A client of the store that the service uses, which the caller must destroy. */
  const s3Of = async (bucket: string) => {
    const { json } = await inBucket(bucket, "POST presign-upload", { key: "k", contentType: "a/b" })
    const secrets: Readonly<Record<string, string>> = JSON.parse(
      readFileSync(join(service.dataDir, "secrets.json"), "utf8")
    )
    return new S3Client({
      endpoint: new URL((json as { readonly url: string }).url).origin,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: {
        accessKeyId: otherStore?.["S3_ACCESS_KEY"] ?? secrets["s3_access_key"] ?? "",
        secretAccessKey: otherStore?.["S3_SECRET_KEY"] ?? secrets["s3_secret_key"] ?? ""
      }
    })
  }

  return { bucketOf, inBucket, list, s3Of, upload }
}
