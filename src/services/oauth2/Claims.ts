import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ClaimsConfig } from "../../domain/oauth2/ClaimsConfig.ts"
import { resolveClaims, templateProblems } from "../../domain/oauth2/ClaimsTemplate.ts"
import { InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { IdP, type IdPTrouble } from "../ports/IdP.ts"
import { onOwnTables } from "../OwnTables.ts"

/** What the tokens of one person say. */
export interface ResolvedClaims {
  readonly idTokenClaims: Readonly<Record<string, unknown>>
  readonly accessTokenClaims: Readonly<Record<string, unknown>>
}

/** Claims that tokens get beside the server's own: templates, and what becomes of them when somebody consents. */
export class OAuth2Claims extends Context.Service<
  OAuth2Claims,
  {
    readonly config: Effect.Effect<ClaimsConfig, Unavailable>
    /** Replaces both objects. `details` has a line for each template that is none. */
    readonly setConfig: (
      config: Readonly<Record<keyof ClaimsConfig, JsonObject>>
    ) => Effect.Effect<ClaimsConfig, InvalidRequest | Unavailable>
    /** undefined when there is no such identity any more, or it is inactive. */
    readonly of: (subject: string) => Effect.Effect<ResolvedClaims | undefined, IdPTrouble>
  }
>()("svc/services/OAuth2Claims") {
  static readonly layer = Layer.effect(
    OAuth2Claims,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const idp = yield* IdP

      const config = Effect.map(
        onOwnTables(sql<{ id: string; access: string }>`
          select id_token_claims::text as id, access_token_claims::text as access from svc.oauth2_claims`),
        ([row]): ClaimsConfig => ({
          id_token_claims: JSON.parse(row?.id ?? "{}") as ClaimsConfig["id_token_claims"],
          access_token_claims: JSON.parse(row?.access ?? "{}") as ClaimsConfig["access_token_claims"]
        })
      )

      const setConfig = Effect.fn("OAuth2Claims.setConfig")(function* (
        given: Readonly<Record<keyof ClaimsConfig, JsonObject>>
      ) {
        const details = [
          ...templateProblems(given.id_token_claims, "id_token_claims"),
          ...templateProblems(given.access_token_claims, "access_token_claims")
        ]
        if (details.length > 0) return yield* new InvalidRequest({ error: "Invalid claims", details })
        yield* onOwnTables(sql`
          update svc.oauth2_claims set id_token_claims = ${JSON.stringify(given.id_token_claims)}::json,
            access_token_claims = ${JSON.stringify(given.access_token_claims)}::json`)
        return yield* config
      })

      const of = Effect.fn("OAuth2Claims.of")(function* (subject: string) {
        const { access_token_claims, id_token_claims } = yield* config
        const none = Object.keys(access_token_claims).length + Object.keys(id_token_claims).length === 0
        const found = yield* Effect.result(idp.identity(subject))
        if (found._tag === "Failure") {
          if (found.failure instanceof NotFound) return undefined
          // Without the idp's admin address nobody can be looked up, nor need be when nothing is to be said of them.
          const unknowable = found.failure instanceof Unavailable && found.failure.code === "NOT_CONFIGURED"
          if (unknowable && none) return { idTokenClaims: {}, accessTokenClaims: {} }
          return yield* found.failure
        }
        if (found.success.state !== "active") return undefined
        return {
          idTokenClaims: resolveClaims(id_token_claims, found.success),
          accessTokenClaims: resolveClaims(access_token_claims, found.success)
        }
      })

      return OAuth2Claims.of({ config, setConfig, of })
    })
  )
}
