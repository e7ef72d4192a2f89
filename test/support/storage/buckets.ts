import { assert } from "vitest"
import { type Address } from "../service.ts"
import { ask } from "../client.ts"

let made = 0

/** Short forms of requests to `/api/storage`. */
export const makeBuckets = (service: Pick<Address, "url" | "service_role">) => {
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

  return { bucketOf, inBucket, list, upload }
}
