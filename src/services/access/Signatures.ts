import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac, timingSafeEqual } from "node:crypto"
import { type Unavailable } from "../../domain/errors.ts"
import { onOwnTables } from "../OwnTables.ts"

/** HMAC signatures of values that browsers carry from one request to the next, so that only this service can make them. */
export class IdentitySignatures extends Context.Service<
  IdentitySignatures,
  {
    /** 43 characters of base64url. A signature is valid for its `purpose` only. */
    readonly sign: (purpose: string, text: string) => Effect.Effect<string, Unavailable>
    readonly verify: (purpose: string, text: string, signature: string) => Effect.Effect<boolean, Unavailable>
  }
>()("svc/services/IdentitySignatures") {
  static readonly layer = Layer.effect(
    IdentitySignatures,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let cached: string | undefined

      const secret = Effect.gen(function* () {
        if (cached !== undefined) return cached
        const [row] = yield* onOwnTables(sql<{ secret: string }>`select secret from svc.identity_secret`)
        if (row === undefined) return yield* Effect.die("svc.identity_secret is empty")
        return (cached = row.secret)
      })
      const sign = (purpose: string, text: string) =>
        Effect.map(secret, (key) => createHmac("sha256", key).update(`${purpose}\0${text}`).digest("base64url"))

      return IdentitySignatures.of({
        sign,
        verify: (purpose, text, signature) =>
          Effect.map(sign(purpose, text), (expected) => {
            const [given, right] = [Buffer.from(signature), Buffer.from(expected)]
            return given.length === right.length && timingSafeEqual(given, right)
          })
      })
    })
  )
}
