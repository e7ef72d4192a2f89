import { Effect, Redacted } from "effect"
import { type EncryptionKey } from "../../domain/connections/SealedText.ts"
import { secret, text } from "../../domain/Settings.ts"
import { JwtSecret } from "../../services/access/Tokens.ts"
import { uploadDays } from "../../services/storage/UploadExpiry.ts"
import { EncryptionKeys } from "../../services/ports/EncryptionKeys.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { loginUri } from "../postgres/Login.ts"
import { compileCache } from "../process/CompileCache.ts"
import { ObjectStoreAddress, apiPort, parentStoreVariable } from "../storage/Address.ts"

const textOf = ({ key }: EncryptionKey) => key.export().toString("base64")

/**
 * The settings by which a worker uses the embedded parts of this process as a replica uses servers elsewhere. They are
 * variables of its environment, which other users of the machine cannot read.
 */
export const workerEnvironment = Effect.gen(function* () {
  const env: Record<string, string> = {}
  const cache = process.env["NODE_COMPILE_CACHE"] ?? compileCache()
  if (cache !== undefined) env["NODE_COMPILE_CACHE"] = cache
  if ((yield* secret("DATABASE_URL")) === undefined) {
    env["DATABASE_URL"] = loginUri(yield* PostgresAddress)
    const jwt = (yield* JwtSecret).secret
    if (jwt !== undefined) env["SVC_JWT_SECRET"] = Redacted.value(jwt)
    const { current, old } = yield* EncryptionKeys
    if (current !== undefined) env["SVC_ENCRYPTION_KEY"] = textOf(current)
    env["SVC_ENCRYPTION_KEYS_OLD"] = old.map(textOf).join(",")
  }
  if ((yield* text("S3_ENDPOINT", undefined)) === undefined) {
    const store = yield* ObjectStoreAddress
    env["S3_ENDPOINT"] = store.endpoint
    env["S3_PUBLIC_ENDPOINT"] = store.publicEndpoint
    env["S3_REGION"] = store.region
    env["S3_ACCESS_KEY"] = store.accessKey
    env["S3_SECRET_KEY"] = Redacted.value(store.secretKey)
    env["S3_FORCE_PATH_STYLE"] = String(store.forcePathStyle)
    env[parentStoreVariable] = String(yield* apiPort)
    // Otherwise workers would use the default for a store of the operator's own.
    env["S3_UPLOAD_DAYS"] = String(yield* uploadDays)
  }
  return env
})
