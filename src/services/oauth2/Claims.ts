import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { type ClaimsConfig, resolveClaims, templateProblems } from "../../domain/oauth2/ClaimsTemplate.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { onOwnTables } from "../OwnTables.ts"
import { IdP, type IdPError } from "../ports/IdP.ts"

/** The claims of one user's tokens. */
export interface ResolvedClaims {
  readonly idTokenClaims: Readonly<Record<string, unknown>>
  readonly accessTokenClaims: Readonly<Record<string, unknown>>
}

const Templates = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

/** The claims that tokens get beside the server's own: templates, resolved when a user consents. */
export class OAuth2Claims extends Context.Service<
  OAuth2Claims,
  {
    readonly config: Effect.Effect<ClaimsConfig, Unavailable>
    /** Replaces both objects. `details` has a line for each invalid template. */
    readonly setConfig: (
      config: Readonly<Record<keyof ClaimsConfig, JsonObject>>
    ) => Effect.Effect<ClaimsConfig, InvalidRequest | Unavailable>
    /** undefined when the identity no longer exists or is inactive. */
    readonly of: (subject: string) => Effect.Effect<ResolvedClaims | undefined, IdPError>
  }
>()("svc/services/OAuth2Claims") {
  static readonly layer = Layer.effect(
    OAuth2Claims,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const idp = yield* IdP

      const stored = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Schema.Struct({ id_token_claims: Templates, access_token_claims: Templates }),
        execute: () => sql`
          select id_token_claims::text as id_token_claims, access_token_claims::text as access_token_claims
          from svc.oauth2_claims`
      })
      const config = Effect.map(
        onOwnTables(stored(undefined)),
        ([row]): ClaimsConfig => row ?? { id_token_claims: {}, access_token_claims: {} }
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
        const hasNone = Object.keys(access_token_claims).length + Object.keys(id_token_claims).length === 0
        const found = yield* Effect.result(idp.identity(subject))
        if (found._tag === "Failure") {
          if (found.failure instanceof NotFound) return undefined
          // Without the identity provider's admin address identities can't be read, which is fine without templates.
          const notConfigured = found.failure instanceof Unavailable && found.failure.code === "NOT_CONFIGURED"
          if (notConfigured && hasNone) return { idTokenClaims: {}, accessTokenClaims: {} }
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
