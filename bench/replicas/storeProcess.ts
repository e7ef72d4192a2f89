/** The embedded object store as a process of its own: `node storeProcess.ts DIRECTORY`, on S3_EMBEDDED_PORT. */
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { DataDir } from "../../src/layers/process/DataDir.ts"
import { ObjectStoreAddress } from "../../src/layers/storage/Address.ts"
import { layerEmbeddedS3 } from "../../src/layers/storage/Embedded.ts"

const [, , directory = ""] = process.argv
const runtime = ManagedRuntime.make(Layer.provide(layerEmbeddedS3, DataDir.at(directory)))
const { accessKey, secretKey } = await runtime.runPromise(Effect.service(ObjectStoreAddress))
process.stdout.write(`${JSON.stringify({ accessKey, secretKey: Redacted.value(secretKey) })}\n`)
