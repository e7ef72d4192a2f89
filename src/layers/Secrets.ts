import { Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { secret } from "../domain/Settings.ts"
import { JwtSecret } from "../services/Tokens.ts"
import { DataDir } from "./DataDir.ts"

const given = secret("SVC_JWT_SECRET")

/** SVC_JWT_SECRET, or none. */
export const layerJwtSecret = Layer.effect(
  JwtSecret,
  Effect.map(given, (secret) => ({ secret }))
)

/** SVC_JWT_SECRET, or one made at the first start and kept in the data directory. */
export const layerJwtSecretKept = Layer.effect(
  JwtSecret,
  Effect.gen(function* () {
    const dir = yield* DataDir
    const secret = (yield* given) ?? (yield* dir.secret("jwt_secret", () => randomBytes(48).toString("base64url")))
    return { secret }
  })
)
