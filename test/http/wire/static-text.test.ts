import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService

beforeAll(async () => {
  service = await serveInProcess({})
})
afterAll(() => service[Symbol.asyncDispose]())

const get = async (path: string, ...headers: ReadonlyArray<string>) => {
  const response = await fetch(`${service.url}${path}`, {
    headers: headers.map((header) => header.split(": ") as [string, string])
  })
  return { response, bytes: Buffer.from(await response.arrayBuffer()) }
}

describe.each(["/docs", "/openapi.json"])("%s", (path) => {
  it("is compressed for clients that accept gzip, and the same for others", async () => {
    // fetch decompresses what the header says.
    const zipped = await get(path, "accept-encoding: gzip")
    const plain = await get(path, "accept-encoding: identity")
    const refused = await get(path, "accept-encoding: gzip;q=0, br")
    assert.strictEqual(zipped.response.headers.get("content-encoding"), "gzip")
    assert.isNull(plain.response.headers.get("content-encoding"))
    assert.isNull(refused.response.headers.get("content-encoding"))
    assert.isTrue(zipped.bytes.equals(plain.bytes))
    assert.isTrue(refused.bytes.equals(plain.bytes))
    assert.strictEqual(plain.response.headers.get("vary"), "Accept-Encoding, Origin")
  })

  it("is 304 for a client that has it", async () => {
    const etag = (await get(path)).response.headers.get("etag") ?? ""
    const again = await get(path, `if-none-match: ${etag}`)
    assert.strictEqual(again.response.status, 304)
    assert.lengthOf(again.bytes, 0)
    assert.strictEqual((await get(path, 'if-none-match: "other"')).response.status, 200)
  })
})
