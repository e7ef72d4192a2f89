import { CreateBucketCommand, ListMultipartUploadsCommand, PutObjectCommand } from "@aws-sdk/client-s3"
import { createHash, randomBytes } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, it, vi } from "vitest"
import { freePort } from "../../../bench/support/freePort.ts"
import { partsOf } from "../../../src/layers/moving/Parts.ts"
import { sql } from "../../support/client.ts"
import { testPassphrase, embeddedStore, killedWriting, moved, type MovingEnv } from "../../support/moving/programs.ts"
import { type Service, startService } from "../../support/service.ts"
import { type S3, startS3 } from "../../support/storage/s3.ts"

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 })

const Bucket = "photos"
/** Four segments: an export of it is killed after the first. */
const largeSize = 64 * 1024 * 1024
let service: Service
let env: MovingEnv
let place: string
let s3: S3
let aws: MovingEnv

const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")

const put = async (Key: string, size: number) => {
  const Body = randomBytes(size)
  await (
    await embeddedStore(service.dataDir, env["S3_EMBEDDED_PORT"] ?? "")
  ).send(new PutObjectCommand({ Bucket, Key, Body }))
  return digestOf(Body)
}

const stored = new Map<string, string>()

beforeAll(async () => {
  env = { SVC_JWT_SECRET: "", S3_EMBEDDED_PORT: String(await freePort()) }
  service = await startService({ env })
  place = await mkdtemp(join(tmpdir(), "svc-interrupted-"))
  s3 = await startS3()
  await s3.client.send(new CreateBucketCommand({ Bucket: "archives" }))
  aws = {
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
    AWS_REGION: "us-east-1"
  }
  await sql(service, "create table moved as select n from generate_series(1, 1000) n")
  await (await embeddedStore(service.dataDir, env["S3_EMBEDDED_PORT"] ?? "")).send(new CreateBucketCommand({ Bucket }))
  for (const [key, size] of [
    ["a", 10],
    ["large", largeSize],
    ["z", 10]
  ] as const)
    stored.set(key, await put(key, size))
})

afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await s3.stop()
  await rm(place, { recursive: true, force: true })
})

/** The digests of the objects of an archive, which is complete. */
const objectsOf = async (archive: string) => {
  const found = new Map<string, string>()
  const reading = partsOf(testPassphrase, createReadStream(archive))
  for (let next = await reading.next(); next.done !== true; next = await reading.next()) {
    const { body, head } = next.value
    const hash = createHash("sha256")
    for await (const piece of body) hash.update(piece)
    if (head.part === "object") found.set(head.key, hash.digest("hex"))
  }
  return found
}

const work = async () => (await readdir(service.dataDir)).filter((name) => name.startsWith("export-"))
const uploads = async () =>
  ((await s3.client.send(new ListMultipartUploadsCommand({ Bucket: "archives" }))).Uploads ?? []).length

it("a killed export continues by the same command, also if the object in which it was killed has changed", async () => {
  for (const change of ["nothing", "large"]) {
    const archive = join(place, change)
    await killedWriting(archive, service.dataDir, env)
    assert.deepStrictEqual(await readdir(place).then((names) => names.filter((name) => name.startsWith(change))), [
      `${change}.partial`
    ])
    if (change === "large") stored.set("large", await put("large", largeSize))
    const { code, output } = await moved("export", archive, service.dataDir, env)
    assert.strictEqual(code, 0, output)
    assert.match(output, /Continuing the export of .*: \d{8,} bytes are written/)
    // The dump is the one of the first attempt.
    assert.notInclude(output, "Database:")
    assert.deepStrictEqual(await objectsOf(archive), stored)
    assert.deepStrictEqual(await work(), [])
  }
})

it("a killed export to a bucket continues its upload, and another export ends it", async () => {
  await killedWriting("s3://archives/one", service.dataDir, { ...env, ...aws })
  assert.strictEqual(await uploads(), 1)
  const { code, output } = await moved("export", "s3://archives/one", service.dataDir, { ...env, ...aws })
  assert.strictEqual(code, 0, output)
  assert.include(output, "Continuing the export")
  assert.strictEqual(await uploads(), 0)

  await killedWriting("s3://archives/two", service.dataDir, { ...env, ...aws })
  assert.strictEqual(await uploads(), 1)
  const other = await moved("export", join(place, "other"), service.dataDir, { ...env, ...aws })
  assert.strictEqual(other.code, 0, other.output)
  assert.include(other.output, "Removing the unfinished export to s3://archives/two")
  assert.strictEqual(await uploads(), 0)
  assert.deepStrictEqual(await work(), [])
  assert.deepStrictEqual(await objectsOf(join(place, "other")), stored)
})

it("a killed export begins again with another passphrase, and of two at once one is refused", async () => {
  const archive = join(place, "again")
  await killedWriting(archive, service.dataDir, env)
  const other = { ...env, SVC_ARCHIVE_PASSPHRASE: "another passphrase" }
  const both = await Promise.all([1, 2].map(() => moved("export", archive, service.dataDir, other)))
  assert.deepStrictEqual(both.map(({ code }) => code).toSorted(), [0, 1], JSON.stringify(both))
  assert.match(
    both.find(({ code }) => code === 1)?.output ?? "",
    /Another export to .* runs|exists: choose another name/
  )
  assert.notInclude(both.map(({ output }) => output).join(""), "Continuing")
  assert.deepStrictEqual(await work(), [])
})
