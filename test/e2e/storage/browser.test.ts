import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { type Browser, findChromium, imitatedBrowser, startChromium } from "../../support/browser/browser.ts"
import { makeBuckets } from "../../support/storage/buckets.ts"
import { ask } from "../../support/client.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { filesOf, readGuide } from "../../support/docs/readme.ts"
import { until } from "../../support/service.ts"

const service = inject("service")
const key = service.service_role
const { bucketOf, inBucket } = makeBuckets(service)

const chromium = await findChromium()
if (chromium === undefined) {
  process.stderr.write("\n!!! NO CHROMIUM HERE: UPLOADS FROM A PAGE ARE TRIED WITH AN HTTP CLIENT ONLY\n\n")
}

/** The tour's page and its server for a bucket, on a separate origin. */
const startAlbum = async (bucket: string) => {
  const directory = await mkdtemp(join(tmpdir(), "svc-album-"))
  const port = await freePort()
  for (const { name, text } of filesOf(await readGuide("docs/tour.md"))) {
    const here = text.replaceAll("127.0.0.1:3000", new URL(service.url).host).replaceAll("/photos/", `/${bucket}/`)
    await writeFile(join(directory, name), here.replaceAll(/\b4001\b/g, String(port)))
  }
  const env = { PATH: process.env["PATH"] ?? "", KEY: key }
  const child = spawn(process.execPath, ["album.mjs"], { cwd: directory, env, stdio: ["ignore", "ignore", "inherit"] })
  const kill = () => child.kill()
  process.once("exit", kill)
  const origin = `http://127.0.0.1:${port}`
  const reachable = () =>
    fetch(origin).then(
      ({ ok }) => ok,
      () => false
    )
  assert.isTrue(await until(reachable, (isReachable) => isReachable))
  return {
    origin,
    [Symbol.asyncDispose]: async () => {
      process.off("exit", kill)
      kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, "close")
      await rm(directory, { recursive: true, force: true })
    }
  }
}

const name = "Zoë's cat & dog.png"
const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 251))

describe.each([
  ["an HTTP client that imitates browsers", async () => imitatedBrowser],
  ...(chromium === undefined ? [] : [[chromium, () => startChromium(chromium)] as const])
] as const)("the tour's page in %s", (_, start) => {
  let browser: Browser
  let file: string
  beforeAll(async () => {
    file = join(await mkdtemp(join(tmpdir(), "svc-chosen-")), name)
    await writeFile(file, bytes)
    browser = await start()
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    await rm(join(file, ".."), { recursive: true, force: true })
  })

  const allow = async (bucket: string, origin: string) => {
    const rule = { AllowedOrigins: [origin], AllowedMethods: ["PUT"], AllowedHeaders: ["content-type"] }
    const reply = await ask(service, `PUT /api/storage/buckets/${bucket}/cors`, { key, body: { corsRules: [rule] } })
    assert.strictEqual(reply.status, 200, reply.text)
  }

  const metadataOf = (bucket: string) => inBucket(bucket, `HEAD metadata?key=${encodeURIComponent(`album/${name}`)}`)

  it("uploads a file when the bucket's CORS rules allow it", async () => {
    const bucket = await bucketOf()
    await using album = await startAlbum(bucket)
    await allow(bucket, album.origin)
    assert.strictEqual(await browser.choose(album.origin, file), `Uploaded: ${name}, ${bytes.length} bytes`)
    const { headers, status } = await metadataOf(bucket)
    assert.strictEqual(status, 200)
    assert.strictEqual(headers.get("content-type"), "image/png")
    assert.strictEqual(headers.get("content-length"), String(bytes.length))
    const signed = await inBucket(bucket, "POST presign-download", { key: `album/${name}` })
    const stored = await fetch((signed.json as { url: string }).url)
    assert.isTrue(bytes.equals(Buffer.from(await stored.arrayBuffer())))
  })

  it("is rejected by a bucket without CORS rules", async () => {
    const bucket = await bucketOf()
    await using album = await startAlbum(bucket)
    assert.match(await browser.choose(album.origin, file), /^Refused: Failed to fetch/)
    assert.strictEqual((await metadataOf(bucket)).status, 404)
  })

  it("is rejected by rules for another origin", async () => {
    const bucket = await bucketOf()
    await using album = await startAlbum(bucket)
    await allow(bucket, "http://127.0.0.1:1")
    assert.match(await browser.choose(album.origin, file), /^Refused: Failed to fetch/)
    assert.strictEqual((await metadataOf(bucket)).status, 404)
  })
})
