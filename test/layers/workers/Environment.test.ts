import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { type Login, parseLogin } from "../../../src/layers/postgres/Login.ts"
import { ObjectStoreAddress } from "../../../src/layers/storage/Address.ts"
import { workerEnvironment } from "../../../src/layers/workers/Environment.ts"
import { JwtSecret } from "../../../src/services/access/Tokens.ts"
import { EncryptionKeys } from "../../../src/services/ports/EncryptionKeys.ts"

const database = "postgres://user@db.example.com/main"

const environment = (settings: Readonly<Record<string, string>>) =>
  Effect.provide(
    workerEnvironment,
    Layer.mergeAll(
      Layer.succeed(ObjectStoreAddress, {
        endpoint: "http://127.0.0.1:9000",
        publicEndpoint: "https://files.example.com",
        region: "us-east-1",
        accessKey: "key",
        secretKey: Redacted.make("secret"),
        forcePathStyle: true,
        admitsPages: () => true
      }),
      Layer.succeed(PostgresAddress, parseLogin(database) as Login),
      Layer.succeed(JwtSecret, { secret: undefined }),
      Layer.succeed(EncryptionKeys, { current: undefined, old: [] }),
      ConfigProvider.layer(ConfigProvider.fromEnvRecord({ DATABASE_URL: database, ...settings }))
    )
  )

it.effect("workers end open uploads of the embedded store as a single process does", () =>
  Effect.gen(function* () {
    assert.deepInclude(yield* environment({}), { S3_ENDPOINT: "http://127.0.0.1:9000", S3_UPLOAD_DAYS: "7" })
    assert.deepInclude(yield* environment({ S3_UPLOAD_DAYS: "0" }), { S3_UPLOAD_DAYS: "0" })
    assert.notProperty(yield* environment({ S3_ENDPOINT: "https://s3.example.com" }), "S3_UPLOAD_DAYS")
  })
)
