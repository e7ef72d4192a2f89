import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac, timingSafeEqual } from "node:crypto"
import { type Unavailable } from "../../domain/errors.ts"
import { onOwnTables } from "../OwnTables.ts"

/** Marks on what browsers carry for us from one request to the next, so that nobody else can make it. */
export class IdentityMarks extends Context.Service<
  IdentityMarks,
  {
    /** 43 characters of base64url. `purpose` keeps marks of one kind from being good as another. */
    readonly make: (purpose: string, text: string) => Effect.Effect<string, Unavailable>
    readonly check: (purpose: string, text: string, mark: string) => Effect.Effect<boolean, Unavailable>
  }
>()("svc/services/IdentityMarks") {
  static readonly layer = Layer.effect(
    IdentityMarks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let known: string | undefined

      const secret = Effect.gen(function* () {
        if (known !== undefined) return known
        const [row] = yield* onOwnTables(sql<{ secret: string }>`select secret from svc.identity_secret`)
        if (row === undefined) return yield* Effect.die("svc.identity_secret is empty")
        return (known = row.secret)
      })
      const make = (purpose: string, text: string) =>
        Effect.map(secret, (key) => createHmac("sha256", key).update(`${purpose}\0${text}`).digest("base64url"))

      return IdentityMarks.of({
        make,
        check: (purpose, text, mark) =>
          Effect.map(make(purpose, text), (expected) => {
            const [given, right] = [Buffer.from(mark), Buffer.from(expected)]
            return given.length === right.length && timingSafeEqual(given, right)
          })
      })
    })
  )
}
