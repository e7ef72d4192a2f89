import { assert, it } from "@effect/vitest"
import { PutBucketVersioningCommand, S3Client } from "@aws-sdk/client-s3"
import { Clock, ConfigProvider, Context, Effect, Layer, Redacted } from "effect"
import { describe } from "vitest"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { layerExternalS3, ObjectStoreAddress } from "../../../src/layers/storage/Address.ts"
import { layerObjectStore } from "../../../src/layers/storage/client/ObjectStore.ts"
import { layerEmbeddedS3 } from "../../../src/layers/storage/Embedded.ts"
import { type ObjectReads, ObjectStore } from "../../../src/services/ports/ObjectStore.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { bodyOf, every, refusal, text } from "../../support/storage/objects.ts"

const bucket = "moments"

const provider = (env: Readonly<Record<string, string>>) => ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))

/** An embedded store with a client of its own, and another client that takes it for a store elsewhere. */
const stores = Effect.gen(function* () {
  const path = yield* Effect.acquireRelease(Effect.promise(makeDataDir), (path) =>
    Effect.promise(() => removeDataDir(path))
  )
  const settings = provider({ S3_EMBEDDED_PORT: "0", SVC_PITR: "true" })
  const embedded = yield* Layer.build(
    layerObjectStore.pipe(Layer.provideMerge(layerEmbeddedS3), Layer.provide(DataDir.at(path)), Layer.provide(settings))
  )
  const { accessKey, endpoint, secretKey } = Context.get(embedded, ObjectStoreAddress)
  const secretAccessKey = Redacted.value(secretKey)
  const elsewhere = provider({ S3_ENDPOINT: endpoint, S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretAccessKey })
  const external = yield* Layer.build(layerObjectStore.pipe(Layer.provide(layerExternalS3), Layer.provide(elsewhere)))
  const credentials = { accessKeyId: accessKey, secretAccessKey }
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials })
  const version = (bucket: string, status: "Enabled" | "Suspended") =>
    Effect.promise(() =>
      client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: status } }))
    )
  return { embedded: Context.get(embedded, ObjectStore), external: Context.get(external, ObjectStore), version }
})

/** The time, and waits for the next millisecond. */
const moment = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  while ((yield* Clock.currentTimeMillis) === now) yield* Effect.yieldNow
  return new Date(now)
})

const namesOf = (reads: ObjectReads, options: Partial<Parameters<ObjectReads["list"]>[1]> = {}) =>
  Effect.gen(function* () {
    const names: Array<string> = []
    let token: string | undefined
    do {
      const page: Effect.Success<ReturnType<ObjectReads["list"]>> = yield* reads.list(bucket, {
        ...every,
        limit: 1000,
        ...options,
        token
      })
      names.push(...page.objects.map(({ key }) => key), ...(page.common_prefixes ?? []))
      token = page.next_continuation_token ?? undefined
    } while (token !== undefined)
    return names
  })

describe.each(["embedded", "external"] as const)("objects of an earlier time, %s", (kind) => {
  it.live(
    "are those of the time, in pages and groups",
    () =>
      Effect.gen(function* () {
        const all = yield* stores
        const store = all[kind]
        yield* store.createBucket(bucket)
        yield* all.version(bucket, "Enabled")
        const put = (key: string, content: string) => store.put(bucket, key, "text/plain", text(content))
        const keys = ["a", "d/1", "d/2", "d/e/3", "é", "spa ce", "z"]
        for (const key of [...keys, "removed"]) yield* put(key, key)
        yield* store.setTags(bucket, "a", { n: "1" })
        yield* store.remove(bucket, "removed")
        const at = yield* moment
        // Newer versions, of which one key has more than a page of S3's listing.
        yield* Effect.forEach(
          Array.from({ length: 1010 }, (_, n) => n),
          (n) => put("d/1", `newer ${n}`),
          { concurrency: 16 }
        )
        for (const key of ["a", "new", "removed"]) yield* put(key, "newer")
        yield* store.remove(bucket, "z")
        const then = yield* store.at(at)
        const sorted = ["a", "d/1", "d/2", "d/e/3", "spa ce", "z", "é"]
        assert.deepStrictEqual(yield* namesOf(then), sorted)
        for (const limit of [1, 2, 3]) assert.deepStrictEqual(yield* namesOf(then, { limit }), sorted, String(limit))
        assert.deepStrictEqual(yield* namesOf(then, { prefix: "d/", delimiter: "/" }), ["d/1", "d/2", "d/e/"])
        assert.sameMembers(yield* namesOf(then, { limit: 1, delimiter: "/" }), ["a", "d/", "spa ce", "z", "é"])
        assert.deepInclude(yield* then.record(bucket, "d/1"), { size: 3, content_type: "text/plain" })
        assert.deepStrictEqual(yield* then.tags(bucket, "a"), { n: "1" })
        const { url } = yield* then.presignDownload(bucket, "z", 60)
        assert.strictEqual(new TextDecoder().decode(yield* bodyOf(url)), "z")
        for (const key of ["new", "removed", "d/", "nothing"]) {
          assert.strictEqual(yield* refusal(then.record(bucket, key)), "404 OBJECT_NOT_FOUND", key)
        }
        assert.strictEqual(yield* refusal(then.list("none", { ...every, limit: 1 })), "404 BUCKET_NOT_FOUND")
        const bad = then.list(bucket, { ...every, limit: 1, token: "1!" })
        assert.strictEqual(yield* refusal(bad), "400 STORE_REFUSED")
      }),
    60_000
  )

  it.live("are refused where they are not kept", () =>
    Effect.gen(function* () {
      const all = yield* stores
      const early = yield* moment
      const store = all[kind]
      yield* store.createBucket(bucket)
      yield* store.put(bucket, "k", "text/plain", text("k"))
      const then = yield* store.at(kind === "embedded" ? new Date(early.getTime() - 3_600_000) : yield* moment)
      const reads = () =>
        [then.list(bucket, { ...every, limit: 1 }), then.record(bucket, "k"), then.tags(bucket, "k")] as const
      for (const read of reads()) assert.strictEqual(yield* refusal<unknown, never>(read), "409 OBJECTS_NOT_KEPT")
      if (kind === "embedded") return
      yield* all.version(bucket, "Suspended")
      for (const read of reads()) assert.strictEqual(yield* refusal<unknown, never>(read), "409 OBJECTS_NOT_KEPT")
      yield* all.version(bucket, "Enabled")
      assert.deepStrictEqual(yield* namesOf(then), ["k"])
    })
  )
})
