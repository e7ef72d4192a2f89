import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { type Login, parseLogin } from "../../../src/layers/postgres/Login.ts"
import { ObjectStoreAddress } from "../../../src/layers/storage/Address.ts"
import { workerEnvironment } from "../../../src/layers/workers/Workers.ts"
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

it.effect("workers use the embedded store as a single process does: by its address, its days, and its own pages", () =>
  Effect.gen(function* () {
    assert.deepInclude(yield* environment({}), {
      S3_ENDPOINT: "http://127.0.0.1:9000",
      S3_UPLOAD_DAYS: "7",
      SVC_WORKER_STORE: "3000"
    })
    assert.deepInclude(yield* environment({ S3_UPLOAD_DAYS: "0" }), { S3_UPLOAD_DAYS: "0" })
    const elsewhere = yield* environment({ S3_ENDPOINT: "https://s3.example.com" })
    assert.doesNotHaveAnyKeys(elsewhere, ["S3_UPLOAD_DAYS", "SVC_WORKER_STORE"])
  })
)
