import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { Gone, type Unavailable } from "../../domain/errors.ts"
import { onOwnTables } from "../OwnTables.ts"

/**
 * Where authorization requests began. The server does not tell that of an expired challenge, and somebody who took
 * long at the sign-in page would otherwise be stuck there.
 */
export class OAuth2Requests extends Context.Service<
  OAuth2Requests,
  {
    /** Kept for two days. */
    readonly remember: (challenge: string, requestUrl: string) => Effect.Effect<void, Unavailable>
    /** Puts into a Gone without an address the one that begins the same request again, if we know it. */
    readonly withRestart: <A, E>(
      challenge: string,
      effect: Effect.Effect<A, E>
    ) => Effect.Effect<A, E | Gone | Unavailable>
  }
>()("svc/services/OAuth2Requests") {
  static readonly layer = Layer.effect(
    OAuth2Requests,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const remember = Effect.fn("OAuth2Requests.remember")((challenge: string, requestUrl: string) =>
        Effect.andThen(
          sql`insert into svc.oauth2_requests (challenge_hash, request_url) values (${hashOf(challenge)}, ${requestUrl})
              on conflict (challenge_hash) do nothing`,
          sql`delete from svc.oauth2_requests where created_at < now() - interval '2 days'`
        ).pipe(onOwnTables, Effect.asVoid)
      )

      const began = (challenge: string) =>
        Effect.map(
          onOwnTables(
            sql<{ url: string }>`select request_url as url from svc.oauth2_requests
                                 where challenge_hash = ${hashOf(challenge)}`
          ),
          ([row]) => (row !== undefined && /^https?:\/\//i.test(row.url) ? row.url : null)
        )

      return OAuth2Requests.of({
        remember,
        withRestart: (challenge, effect) =>
          Effect.catchIf(
            effect,
            (error): error is typeof error & Gone => error instanceof Gone && error.redirect_to === null,
            ({ code, error }) =>
              Effect.flatMap(began(challenge), (redirect_to) => Effect.fail(new Gone({ error, code, redirect_to })))
          )
      })
    })
  )
}

const hashOf = (challenge: string) => createHash("sha256").update(challenge).digest("base64url")
