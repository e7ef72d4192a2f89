import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { layerExternalS3, ObjectStoreAddress } from "../../../src/layers/storage/Address.ts"

const addressOf = (settings: Record<string, string>) =>
  Effect.service(ObjectStoreAddress).pipe(
    Effect.provide(layerExternalS3.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(settings)))))
  )

const required = { S3_ENDPOINT: "https://s3.example.com/", S3_ACCESS_KEY: " key ", S3_SECRET_KEY: " secret " }

it.effect("reads the settings, with defaults for the rest", () =>
  Effect.gen(function* () {
    const { admitsPages, secretKey, ...address } = yield* addressOf(required)
    assert.deepStrictEqual(address, {
      endpoint: "https://s3.example.com",
      publicEndpoint: "https://s3.example.com",
      region: "us-east-1",
      accessKey: "key",
      forcePathStyle: true
    })
    assert.strictEqual(Redacted.value(secretKey), "secret")
    // Only its own rules say which pages a store elsewhere admits.
    assert.isFalse(admitsPages("http://127.0.0.1:3000"))
    const more = { S3_PUBLIC_ENDPOINT: "http://files:8080", S3_REGION: "eu-1", S3_FORCE_PATH_STYLE: "false" }
    assert.deepInclude(yield* addressOf({ ...required, ...more }), {
      endpoint: "https://s3.example.com",
      publicEndpoint: "http://files:8080",
      region: "eu-1",
      forcePathStyle: false
    })
  })
)

it.effect("in a worker, the store of its parent admits the pages of the service", () =>
  Effect.gen(function* () {
    const worker = { ...required, S3_ENDPOINT: "http://127.0.0.1:9000", SVC_WORKER_STORE: "3100" }
    const { admitsPages } = yield* addressOf(worker)
    assert.isTrue(admitsPages("http://localhost:3100"))
    assert.isFalse(admitsPages("http://localhost:3000"))
    const { admitsPages: admitsPublic } = yield* addressOf({ ...worker, PUBLIC_URL: "https://api.example.com" })
    assert.isTrue(admitsPublic("https://api.example.com"))
    assert.isFalse(admitsPublic("http://localhost:3100"))
  })
)

it.effect.each([
  [{ S3_ENDPOINT: "nowhere" }, /^S3_ENDPOINT must be an absolute URL/],
  [{ S3_ENDPOINT: "ftp://s3.example.com" }, /^S3_ENDPOINT must be an http or https URL/],
  [{ S3_ENDPOINT: "https://example.com/s3" }, /^S3_ENDPOINT must be .* without path/],
  [{ S3_ENDPOINT: "https://user:secret@example.com" }, /^S3_ENDPOINT must be (?!.*secret)/],
  [{ S3_ENDPOINT: "https://example.com?a=b" }, /^S3_ENDPOINT must be/],
  [{ S3_PUBLIC_ENDPOINT: "files.example.com" }, /^S3_PUBLIC_ENDPOINT must be/],
  [{ S3_ACCESS_KEY: "" }, /^S3_ACCESS_KEY must be set/],
  [{ S3_SECRET_KEY: " " }, /^S3_SECRET_KEY must be set/],
  [{ S3_FORCE_PATH_STYLE: "yes" }, /^S3_FORCE_PATH_STYLE must be true or false/]
] as const)("refuses %j", ([settings, line]) =>
  Effect.gen(function* () {
    const { message } = yield* Effect.flip(addressOf({ ...required, ...settings }))
    assert.match(message, line)
    assert.notInclude(message, "\n")
  })
)
