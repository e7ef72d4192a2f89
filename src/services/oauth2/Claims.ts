import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import {
  type ClaimsConfig,
  claimsProblems,
  currentClaims,
  type GivenClaims,
  grantedClaims,
  type ResolvedClaims
} from "../../domain/oauth2/ClaimsConfig.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { audited } from "../audit/Change.ts"
import { onOwnTables } from "../OwnTables.ts"
import { IdP, type IdPError } from "../ports/IdP.ts"

const Texts = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

const isUnreadable = (error: IdPError | NotFound) => error instanceof Unavailable && error.code === "NOT_CONFIGURED"

/** The claims of tokens in addition to the server's own: standard ones and templates, resolved when a user consents. */
export class OAuth2Claims extends Context.Service<
  OAuth2Claims,
  {
    readonly config: Effect.Effect<ClaimsConfig, Unavailable>
    /** Replaces the whole configuration. `details` has a line for each invalid template or scope. */
    readonly setConfig: (config: GivenClaims) => Effect.Effect<ClaimsConfig, InvalidRequest | Unavailable>
    /** The claims that a configuration, by default the current one, gives an identity for these scopes. */
    readonly preview: (request: {
      readonly subject: string
      readonly scope: ReadonlyArray<string>
      readonly config?: GivenClaims
    }) => Effect.Effect<ResolvedClaims, InvalidRequest | NotFound | IdPError>
    /** The claims of the granted scopes; undefined when the identity no longer exists or is inactive. */
    readonly of: (subject: string, scope: ReadonlyArray<string>) => Effect.Effect<ResolvedClaims | undefined, IdPError>
    /** The ID token's claims now, from those that were stored when the user consented. */
    readonly current: (
      stored: JsonObject,
      subject: string,
      scope: ReadonlyArray<string>
    ) => Effect.Effect<JsonObject, IdPError>
  }
>()("svc/services/OAuth2Claims") {
  static readonly layer = Layer.effect(
    OAuth2Claims,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const idp = yield* IdP

      const stored = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Schema.Struct({ id_token_claims: Texts, access_token_claims: Texts, claim_scopes: Texts }),
        execute: () => sql`
          select id_token_claims::text as id_token_claims, access_token_claims::text as access_token_claims,
            claim_scopes::text as claim_scopes
          from svc.oauth2_claims`
      })
      const config = Effect.map(onOwnTables(stored(undefined)), ([row]): ClaimsConfig => {
        const { claim_scopes = {}, ...claims } = row ?? { id_token_claims: {}, access_token_claims: {} }
        return Object.keys(claim_scopes).length === 0 ? claims : { ...claims, claim_scopes }
      })

      const check = (given: GivenClaims) => {
        const details = claimsProblems(given)
        return details.length === 0
          ? Effect.void
          : Effect.fail(new InvalidRequest({ error: "Invalid claims", details }))
      }

      const setConfig = Effect.fn("OAuth2Claims.setConfig")(function* (given: GivenClaims) {
        yield* check(given)
        const before = yield* config
        const update = sql`
          update svc.oauth2_claims set id_token_claims = ${JSON.stringify(given.id_token_claims)}::json,
            access_token_claims = ${JSON.stringify(given.access_token_claims)}::json,
            claim_scopes = ${JSON.stringify(given.claim_scopes ?? {})}::json`
        yield* onOwnTables(
          audited(sql, update, () => ({ subject: "oauth2:claims", before: { ...before }, after: { ...given } }))
        )
        return yield* config
      })

      const of = Effect.fn("OAuth2Claims.of")(function* (subject: string, scope: ReadonlyArray<string>) {
        const current = yield* config
        const { access_token_claims, id_token_claims } = current
        const hasNone = Object.keys(access_token_claims).length + Object.keys(id_token_claims).length === 0
        const found = yield* Effect.result(idp.identity(subject))
        if (found._tag === "Failure") {
          if (found.failure instanceof NotFound) return undefined
          // Identities can't be read without the identity provider's admin address, which is fine without templates.
          if (isUnreadable(found.failure) && hasNone) return { idTokenClaims: {}, lookedUp: [], accessTokenClaims: {} }
          return yield* found.failure
        }
        if (found.success.state !== "active") return undefined
        return grantedClaims(current, found.success, scope)
      })

      const preview: OAuth2Claims["Service"]["preview"] = Effect.fn("OAuth2Claims.preview")(function* (request) {
        if (request.config !== undefined) yield* check(request.config)
        // Checked: templates and scopes are texts.
        const wanted = (request.config as ClaimsConfig | undefined) ?? (yield* config)
        return grantedClaims(wanted, yield* idp.identity(request.subject), request.scope)
      })

      const current: OAuth2Claims["Service"]["current"] = Effect.fn("OAuth2Claims.current")(
        function* (stored, subject, scope) {
          const found = yield* idp.identity(subject).pipe(
            // Identities can't be looked up without the identity provider's admin address.
            Effect.catchIf(isUnreadable, () => Effect.undefined),
            Effect.catchIf(
              (error) => error instanceof NotFound,
              () => Effect.succeed("gone" as const)
            )
          )
          if (found === "gone") return {}
          return found === undefined ? stored : currentClaims(yield* config, found, scope, stored)
        }
      )

      return OAuth2Claims.of({ config, preview, setConfig, of, current })
    })
  )
}
