import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { createHash } from "node:crypto"
import { Gone, type Unavailable } from "../../domain/errors.ts"
import { onOwnTables } from "../OwnTables.ts"

interface OAuth2Requests {
  /** Stores where a request started, for two days. */
  readonly remember: (challenge: string, requestUrl: string) => Effect.Effect<void, Unavailable>
  /** Adds the URL that starts the request again, if it is known, to a Gone without a URL. */
  readonly withRestart: <A, E>(
    challenge: string,
    effect: Effect.Effect<A, E>
  ) => Effect.Effect<A, E | Gone | Unavailable>
}

/**
 * The URLs at which authorization requests started. The server does not return them for an expired challenge, and users
 * who took too long at the sign-in page would be stuck there.
 */
export const makeRequests = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const remember = Effect.fn("OAuth2Requests.remember")((challenge: string, requestUrl: string) =>
    Effect.andThen(
      sql`insert into svc.oauth2_requests (challenge_hash, request_url) values (${hashOf(challenge)}, ${requestUrl})
          on conflict (challenge_hash) do nothing`,
      sql`delete from svc.oauth2_requests where created_at < now() - interval '2 days'`
    ).pipe(onOwnTables, Effect.asVoid)
  )

  const find = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({ request_url: Schema.String }),
    execute: (challenge) => sql`select request_url from svc.oauth2_requests where challenge_hash = ${hashOf(challenge)}`
  })
  const startOf = (challenge: string) =>
    Effect.map(onOwnTables(find(challenge)), ([row]) =>
      row !== undefined && /^https?:\/\//i.test(row.request_url) ? row.request_url : null
    )

  const requests: OAuth2Requests = {
    remember,
    withRestart: (challenge, effect) =>
      Effect.catchIf(
        effect,
        (error): error is typeof error & Gone => error instanceof Gone && error.redirect_to === null,
        ({ code, error }) =>
          Effect.flatMap(startOf(challenge), (redirect_to) => Effect.fail(new Gone({ error, code, redirect_to })))
      )
  }
  return requests
})

const hashOf = (challenge: string) => createHash("sha256").update(challenge).digest("base64url")
