import { ConfigProvider, Effect, Layer } from "effect"
import { vi } from "vitest"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { layerExternalS3 } from "../../../src/layers/storage/Address.ts"
import { layerEmbeddedS3 } from "../../../src/layers/storage/Embedded.ts"
import { layerObjectStoreWith } from "../../../src/layers/storage/client/ObjectStore.ts"
import { objectStoreContract } from "../../contract/storage/objectStore.ts"
import { otherStore } from "../../support/storage/external.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"

vi.setConfig({ testTimeout: 60_000 })

/** Low, so that copies in parts don't need gigabytes; S3 requires 5 MiB per part. */
const limits = { whole: 6 * 1024 * 1024, part: 5 * 1024 * 1024 }

const layerDataDir = Layer.unwrap(
  Effect.map(
    Effect.acquireRelease(Effect.promise(makeDataDir), (path) => Effect.promise(() => removeDataDir(path))),
    DataDir.at
  )
)
const settings = (env: Readonly<Record<string, string>>) => ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))

objectStoreContract(
  "the embedded store",
  layerObjectStoreWith(limits).pipe(
    Layer.provide(layerEmbeddedS3),
    Layer.provide(layerDataDir),
    Layer.provide(settings({ S3_EMBEDDED_PORT: "0" }))
  ),
  limits.whole
)

if (otherStore !== undefined) {
  objectStoreContract(
    "the store of S3_TEST_ENDPOINT",
    layerObjectStoreWith(limits).pipe(Layer.provide(layerExternalS3), Layer.provide(settings(otherStore))),
    limits.whole
  )
}
