import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client
} from "@aws-sdk/client-s3"
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, it, vi } from "vitest"
import { newArchiveKey } from "../../../src/layers/moving/Key.ts"
import { segmentsOf, startPosition, type WrittenPart } from "../../../src/layers/moving/Segments.ts"
import { freePort as anyFreePort } from "../../../bench/support/freePort.ts"
import { ask, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { testPassphrase, embeddedStore, killedAt, moved } from "../../support/moving/programs.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"
import { otherStore } from "../../support/storage/external.ts"
import { startS3 } from "../../support/storage/s3.ts"
import { runToEnd, type Service, startService } from "../../support/service.ts"

vi.setConfig({ testTimeout: 240_000 })

const places: Array<string> = []
const dataDirs: Array<string> = []
afterAll(async () => {
  for (const dir of dataDirs) await removeDataDir(dir)
  for (const place of places) await rm(place, { recursive: true, force: true })
})

const place = async () => {
  const made = await mkdtemp(join(tmpdir(), "svc-moving-"))
  places.push(made)
  return made
}

const emptyDataDir = async () => {
  const made = await makeDataDir()
  dataDirs.push(made)
  return made
}

const freePort = async () => String(await anyFreePort())

const bytesOf = (size: number) => Buffer.alloc(size, "svc moves objects ")

const small = { Bucket: "photos", Key: "a//ä ?.txt", Body: "small", Metadata: { who: "me" }, Tagging: "one=1&two=%2B" }
const large = { Bucket: "photos", Key: "large", Body: bytesOf(20 * 1024 * 1024 + 7), ContentType: "image/png" }

const fill = async (service: Service, port: string, Key = small.Key) => {
  await sql(service, "create table moved (id int primary key, what text)")
  await sql(service, "insert into moved select n, 'row ' || n from generate_series(1, 500) n")
  const bucket = await ask(service, "POST /api/storage/buckets", {
    key: service.service_role,
    body: { name: "photos" }
  })
  assert.isBelow(bucket.status, 300, bucket.text)
  const store = await embeddedStore(service.dataDir, port)
  for (const object of [{ ...small, Key }, large]) await store.send(new PutObjectCommand(object))
  const connection = { name: "other", connection_url: "postgres://me:pw@db.example.com/app" }
  const saved = await ask(service, "POST /api/connections", { key: service.service_role, body: connection })
  assert.strictEqual(saved.status, 201, saved.text)
}

/** Everything that `fill` made is there. */
const checkMoved = async (service: Pick<Service, "url" | "service_role">, store: S3Client, Key = small.Key) => {
  assert.deepStrictEqual(
    await sql(service, "select count(*)::int as n, sum(id)::int as ids, max(what) as last from moved"),
    [{ n: 500, ids: 125_250, last: "row 99" }]
  )
  const { Bucket } = small
  const got = await store.send(new GetObjectCommand({ Bucket, Key }))
  assert.strictEqual(await got.Body?.transformToString(), small.Body)
  assert.deepStrictEqual(got.Metadata, small.Metadata)
  assert.deepStrictEqual((await store.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet, [
    { Key: "one", Value: "1" },
    { Key: "two", Value: "+" }
  ])
  const big = await store.send(new GetObjectCommand({ Bucket, Key: large.Key }))
  assert.strictEqual(big.ContentType, large.ContentType)
  assert.isTrue(large.Body.equals((await big.Body?.transformToByteArray()) ?? Buffer.alloc(0)))
  const [shown] = (await ask(service, "GET /api/connections", { key: service.service_role })).json as ReadonlyArray<
    Record<string, unknown>
  >
  assert.deepInclude(shown, { error: null, old_key: false })
}

it("an installation that serves moves into an empty directory, with its keys, secrets and objects", async () => {
  const port = await freePort()
  const env = { SVC_JWT_SECRET: "", S3_EMBEDDED_PORT: port }
  await using first = await startService({ env })
  await fill(first, port)
  const archive = join(await place(), "svc.archive")
  const exported = await moved("export", archive, first.dataDir, env)
  assert.strictEqual(exported.code, 0, exported.output)
  assert.include(exported.output, archive)
  // An archive is never overwritten.
  assert.include((await moved("export", archive, first.dataDir, env)).output, "exists: choose another name")
  // Nothing of the installation can be read in it.
  const bytes = await readFile(archive)
  for (const text of ["moved", "photos", "jwt_secret"]) assert.isFalse(bytes.includes(text), text)
  // Nor is the dump left beside the data.
  assert.deepStrictEqual(
    (await readdir(first.dataDir)).filter((name) => name.startsWith("export-")),
    []
  )

  const target = await emptyDataDir()
  const refused = await moved("import", archive, target, { SVC_ARCHIVE_PASSPHRASE: "another passphrase" })
  assert.match(refused.output, /the passphrase is wrong, or the archive is damaged/)
  const place2 = await place()
  const damage = async (name: string, change: (bytes: Buffer) => Buffer) => {
    const file = join(place2, name)
    await writeFile(file, change(Buffer.from(bytes)))
    const { code, output } = await moved("import", file, target)
    assert.strictEqual(code, 1, output)
    return output
  }
  assert.match(await damage("cut", (bytes) => bytes.subarray(0, -1)), /damaged or incomplete/)
  assert.match(
    await damage("changed", (bytes) => {
      const at = bytes.length >> 1
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return bytes
    }),
    /damaged or incomplete/
  )
  assert.match(await damage("foreign", () => Buffer.from("PK a file of another program")), /no archive of svc export/)
  assert.match(
    await damage("newer", (bytes) =>
      Buffer.from(bytes.toString("latin1").replace('"format":1', '"format":9'), "latin1")
    ),
    /has format 9.*use a newer release/
  )
  // None of them changed the target.
  assert.notInclude(await readdir(target), "secrets.json")

  const imported = await moved("import", archive, target)
  assert.strictEqual(imported.code, 0, imported.output)
  assert.notInclude(await readdir(target), "import.json")
  assert.match((await moved("import", archive, target)).output, /needs an empty data directory/)

  await first.stop()
  await using second = await startService({ dataDir: target, env })
  const service = { url: second.url, service_role: first.service_role }
  await checkMoved(service, await embeddedStore(target, port))
})

/** Stores to move to. The names of a store on a file system can't have empty parts. */
const stores = [
  { of: "another embedded store", key: small.Key, start: startS3 },
  ...[otherStore]
    .filter((store) => store !== undefined)
    .map((store) => ({ of: "S3_TEST_ENDPOINT", key: "a/ä ?.txt", start: () => emptied(store) }))
]

/** A store of S3_TEST_ENDPOINT without the buckets of an earlier run. */
const emptied = async (store: Readonly<Record<"S3_ENDPOINT" | "S3_ACCESS_KEY" | "S3_SECRET_KEY", string>>) => {
  const endpoint = store.S3_ENDPOINT
  const credentials = { accessKeyId: store.S3_ACCESS_KEY, secretAccessKey: store.S3_SECRET_KEY }
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials })
  for (const Bucket of ["photos", "archives"]) {
    const { Contents = [] } = await client
      .send(new ListObjectsV2Command({ Bucket }))
      .catch(() => ({ Contents: undefined }))
    for (const { Key } of Contents) await client.send(new DeleteObjectCommand({ Bucket, Key }))
    await client.send(new DeleteBucketCommand({ Bucket })).catch(() => undefined)
  }
  return { endpoint, credentials, client, stop: async () => client.destroy() }
}

/** An archive of a PostgreSQL that no target has. */
const ofTheFuture = async (file: string) => {
  const key = await newArchiveKey(testPassphrase, 2 ** 14)
  const about = { id: "1", created_at: "2026-01-01T00:00:00Z", version: "0.1.0", migration: null, owner: "postgres" }
  async function* parts(): AsyncGenerator<WrittenPart> {
    yield { head: { part: "installation", ...about, server_version: "99.1" } }
    yield { head: { part: "roles", size: 0 } }
    yield { head: { part: "database", size: 0 } }
  }
  const bytes: Array<Uint8Array> = []
  const from = { index: 0, position: startPosition }
  for await (const segment of segmentsOf(key, parts(), from, () => 1 << 20)) bytes.push(...segment.bytes)
  await writeFile(file, Buffer.concat(bytes))
  return file
}

it.each(stores)("an installation moves to an external PostgreSQL and $of, and back", async ({ key, start }) => {
  const port = await freePort()
  const encryption = Buffer.alloc(32, 7).toString("base64")
  const env = { S3_EMBEDDED_PORT: port, SVC_ENCRYPTION_KEY: encryption }
  await using first = await startService({ env })
  await fill(first, port, key)
  await using postgres = await startOtherPostgres()
  const s3 = await start()
  try {
    await s3.client.send(new CreateBucketCommand({ Bucket: "archives" }))
    const aws = {
      AWS_ENDPOINT_URL_S3: s3.endpoint,
      AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
      AWS_REGION: "us-east-1"
    }
    const archive = "s3://archives/moved/1"
    const exported = await moved("export", archive, first.dataDir, { ...env, ...aws })
    assert.strictEqual(exported.code, 0, exported.output)
    await first.stop()

    const outside = {
      DATABASE_URL: postgres.url,
      S3_ENDPOINT: s3.endpoint,
      S3_ACCESS_KEY: s3.credentials.accessKeyId,
      S3_SECRET_KEY: s3.credentials.secretAccessKey,
      SVC_ENCRYPTION_KEY: encryption
    }
    const middle = await emptyDataDir()
    const future = await ofTheFuture(join(await place(), "future"))
    assert.match(
      (await moved("import", future, middle, outside)).output,
      /The archive is of PostgreSQL 99.1, and the target is \d+\S*: use PostgreSQL 99 or newer. Nothing was changed/
    )
    assert.deepStrictEqual(await readdir(middle).then((names) => names.filter((name) => name !== "lock")), [])
    await postgres.sql("create table other (id int)")
    assert.match(
      (await moved("import", archive, middle, { ...aws, ...outside })).output,
      /DATABASE_URL has public.other/
    )
    assert.notInclude(await readdir(middle), "import.json")
    await postgres.sql("drop table other")
    const imported = await moved("import", archive, middle, { ...aws, ...outside })
    assert.strictEqual(imported.code, 0, imported.output)
    {
      await using second = await startService({ dataDir: middle, env: outside })
      await checkMoved({ url: second.url, service_role: first.service_role }, s3.client, key)
      const back = await moved("export", join(middle, "back"), middle, outside)
      assert.strictEqual(back.code, 0, back.output)
    }

    const target = await emptyDataDir()
    const returned = await moved("import", join(middle, "back"), target)
    assert.strictEqual(returned.code, 0, returned.output)
    await using third = await startService({ dataDir: target, env })
    await checkMoved({ url: third.url, service_role: first.service_role }, await embeddedStore(target, port), key)
  } finally {
    await s3.stop()
  }
})

it("an export or import that is killed leaves nothing that is taken for whole, and is run again", async () => {
  const port = await freePort()
  const env = { SVC_JWT_SECRET: "", S3_EMBEDDED_PORT: port }
  await using first = await startService({ env })
  await fill(first, port)
  const archives = await place()
  const archive = join(archives, "svc.archive")
  await killedAt("export", "Database: ", archive, first.dataDir, env)
  assert.notInclude(await readdir(archives), "svc.archive")
  assert.strictEqual((await moved("export", archive, first.dataDir, env)).code, 0)
  assert.deepStrictEqual(await readdir(archives), ["svc.archive"])
  assert.deepStrictEqual(
    (await readdir(first.dataDir)).filter((name) => name.startsWith("export-")),
    []
  )
  await first.stop()

  const target = await emptyDataDir()
  for (const at of ["is complete", "loading the database"]) {
    await killedAt("import", at, archive, target, env)
    if (!(await readdir(target)).includes("import.json")) continue
    const { code, output } = await runToEnd({ ...env, SVC_DATA_DIR: target })
    assert.strictEqual(code, 1, output)
    assert.match(output, /An import into .* is not complete/)
  }
  assert.include(await readdir(target), "import.json")
  const imported = await moved("import", archive, target, env)
  assert.strictEqual(imported.code, 0, imported.output)
  await using second = await startService({ dataDir: target, env })
  await checkMoved({ url: second.url, service_role: first.service_role }, await embeddedStore(target, port))
})
