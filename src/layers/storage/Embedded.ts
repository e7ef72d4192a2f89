import { Effect, Layer, Redacted, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { flag, integer, text } from "../../domain/Settings.ts"
import { sampleOf } from "../../domain/metrics/Sample.ts"
import { CurrentMeters } from "../../services/metrics/Meters.ts"
import { DataDir } from "../process/DataDir.ts"
import { fileStore } from "../../services/supabase/FileBytes.ts"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import { supabaseEnabled } from "../../services/supabase/Settings.ts"
import { ObjectStoreAddress, apiPort, ownPages, ownRequest, publicEndpoint } from "./Address.ts"
import { applyLifecycles } from "./endpoint/lifecycle/Expiry.ts"
import { serveS3 } from "./endpoint/Server.ts"
import { makeLocalStore } from "./endpoint/store/LocalStore.ts"
import { type LocalStore } from "./endpoint/store/Model.ts"
import { StartError } from "../process/StartError.ts"

/** The settings of the embedded endpoint. */
export const embeddedStoreSettings = Effect.all({
  pagesPort: apiPort,
  port: integer("S3_EMBEDDED_PORT", 9000, 0, 65_535),
  host: text("HOST", "127.0.0.1"),
  region: text("S3_REGION", "us-east-1"),
  encrypted: flag("S3_EMBEDDED_ENCRYPTED", false),
  supabase: supabaseEnabled,
  files: fileStore,
  // The endpoint serves path style alone, but a value that is neither true nor false is refused everywhere.
  forcePathStyle: flag("S3_FORCE_PATH_STYLE", true)
}).pipe(Effect.mapError(({ message }) => new StartError({ message })))

/** The host at which this process reaches a server that listens on `host`. */
const reachable = (host: string) => {
  if (host === "0.0.0.0") return "127.0.0.1"
  if (host === "::") return "[::1]"
  return host.includes(":") ? `[${host}]` : host
}

/** Reports the bytes of the history, which the thread of the index is asked for, not each reader of the metrics. */
const sampleHistory = Effect.fnUntraced(function* (store: LocalStore) {
  let { bytes } = yield* store.history.state
  yield* (yield* CurrentMeters).sample(() => [sampleOf("svc_storage_history_bytes", {}, bytes)])
  yield* Effect.tap(store.history.state, (state) =>
    Effect.sync(() => {
      bytes = state.bytes
    })
  ).pipe(Effect.repeat(Schedule.spaced("15 seconds")), Effect.forkScoped)
})

/**
 * The embedded S3 endpoint on HOST:S3_EMBEDDED_PORT, with its objects and credentials in the data directory. It stops
 * with the scope. Fails if another process uses the directory.
 *
 * The service uses it like an external store, through the AWS SDK and HTTP on the loopback interface, although the server
 * runs in the same process. Each request of its own (a listing, a metadata change, a small upload) is signed, sent, authenticated, answered in XML and parsed again, which takes about 1 ms of processor time. In
 * return there is one implementation of ObjectStore, and one contract test for both stores. Presigned transfers do not
 * pay this price: clients send them directly to the endpoint, and whether a bucket exists is asked of the store itself.
 */
export const layerEmbeddedS3 = Layer.effect(
  ObjectStoreAddress,
  Effect.gen(function* () {
    const { encrypted, files, host, pagesPort, port, region, supabase } = yield* embeddedStoreSettings
    const recovery = yield* RecoverySettings
    const dir = yield* DataDir
    yield* Effect.catchTag(dir.lock, "DataDirInUse", ({ message }) => new StartError({ message }))
    const accessKey = Redacted.value(
      yield* dir.secret("s3_access_key", () => `SVC${randomBytes(10).toString("hex").toUpperCase().slice(0, 17)}`)
    )
    const secretKey = yield* dir.secret("s3_secret_key", () => randomBytes(30).toString("base64url"))
    const store = yield* dir.part(
      "objects",
      makeLocalStore(join(dir.path, "objects"), dir.owner, { ...recovery, except: recovery.bucket })
    )
    const owner = { accessKey, secretKey: Redacted.value(secretKey) }
    const isOwnPage = yield* ownPages(pagesPort)
    const hidden = supabase ? { hidden: { bucket: files, header: ownRequest(owner.secretKey) } } : {}
    const taken = yield* serveS3(store, { owner, region, encrypted, isOwnPage, ...hidden }, { host, port })
    yield* applyLifecycles(store)
    yield* sampleHistory(store)
    const endpoint = `http://${reachable(host)}:${taken}`
    const known = yield* publicEndpoint(endpoint)
    if ((host === "0.0.0.0" || host === "::") && known === endpoint) {
      yield* Effect.logWarning(
        `Presigned URLs use ${endpoint}, which only this machine can reach: set S3_PUBLIC_ENDPOINT to the store's public address`
      )
    }
    return {
      endpoint,
      publicEndpoint: known,
      region,
      accessKey,
      secretKey,
      forcePathStyle: true,
      isEmbedded: true,
      keepFrom: store.history.keepFrom,
      journal: store.journal,
      admitsPages: (origin: string) => isOwnPage(origin, new URL(known).host),
      hasBucket: (bucket: string) =>
        Effect.match(store.bucket(bucket), { onFailure: () => false, onSuccess: () => true })
    }
  })
).pipe(Layer.provide(RecoverySettings.layer))

/** The endpoint that another process runs on the data directory, for command-line tools; if there is none, one of its own. */
export const layerEmbeddedS3AttachOrStart = Layer.unwrap(
  Effect.gen(function* () {
    const dir = yield* DataDir
    const { host, port, region } = yield* embeddedStoreSettings
    const ours = yield* Effect.scoped(Effect.match(dir.lock, { onSuccess: () => true, onFailure: () => false }))
    if (ours) return layerEmbeddedS3
    if (port === 0) {
      return yield* new StartError({
        message: "The running service has its objects on a port that can't be known: set S3_EMBEDDED_PORT, or stop it"
      })
    }
    const [accessKey, secretKey] = yield* Effect.all([dir.stored("s3_access_key"), dir.stored("s3_secret_key")])
    if (accessKey === undefined || secretKey === undefined) {
      return yield* new StartError({ message: `${dir.path} (SVC_DATA_DIR) has no credentials of its store` })
    }
    const endpoint = `http://${reachable(host)}:${port}`
    return Layer.succeed(ObjectStoreAddress, {
      endpoint,
      publicEndpoint: endpoint,
      region,
      accessKey: Redacted.value(accessKey),
      secretKey,
      forcePathStyle: true,
      admitsPages: () => false
    })
  })
)
