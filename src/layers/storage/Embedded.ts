import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { integer, text } from "../../domain/Settings.ts"
import { DataDir } from "../process/DataDir.ts"
import { ObjectStoreAddress, publicEndpoint } from "./Address.ts"
import { serveS3 } from "./endpoint/Server.ts"
import { makeStore } from "./endpoint/store/Store.ts"
import { StartError } from "../process/StartError.ts"

const settings = Effect.all({
  port: integer("S3_EMBEDDED_PORT", 9000, 0, 65_535),
  host: text("HOST", "127.0.0.1"),
  region: text("S3_REGION", "us-east-1")
}).pipe(Effect.mapError(({ message }) => new StartError({ message })))

/** A host that listens everywhere is reached here. */
const reachable = (host: string) => {
  if (host === "0.0.0.0") return "127.0.0.1"
  if (host === "::") return "[::1]"
  return host.includes(":") ? `[${host}]` : host
}

/**
 * An S3 endpoint of our own on HOST:S3_EMBEDDED_PORT, its objects and credentials in the data directory, stopped with
 * the scope. Fails when another process has the directory.
 */
export const layerEmbeddedS3 = Layer.effect(
  ObjectStoreAddress,
  Effect.gen(function* () {
    const { host, port, region } = yield* settings
    const dir = yield* DataDir
    yield* Effect.catchTag(dir.lock, "DataDirInUse", ({ message }) => new StartError({ message }))
    const accessKey = Redacted.value(
      yield* dir.secret("s3_access_key", () => `SVC${randomBytes(10).toString("hex").toUpperCase().slice(0, 17)}`)
    )
    const secretKey = yield* dir.secret("s3_secret_key", () => randomBytes(30).toString("base64url"))
    const store = yield* makeStore(join(dir.path, "objects"), dir.owner)
    const owner = { accessKey, secretKey: Redacted.value(secretKey) }
    const taken = yield* serveS3(store, { owner, region }, { host, port })
    const endpoint = `http://${reachable(host)}:${taken}`
    const known = yield* publicEndpoint(endpoint)
    if ((host === "0.0.0.0" || host === "::") && known === endpoint) {
      yield* Effect.logWarning(
        `Presigned URLs name ${endpoint}, which only this machine can reach: set S3_PUBLIC_ENDPOINT to the address that clients know`
      )
    }
    return {
      endpoint,
      publicEndpoint: known,
      region,
      accessKey,
      secretKey,
      forcePathStyle: true
    }
  })
)
