import { createHash } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Forbidden, Gone, InvalidRequest, type StepUpRequired, type Unavailable } from "../../domain/errors.ts"
import { type Browser } from "../../domain/identity/Identity.ts"
import { type ConsentRequest, type ConsentSession } from "../../domain/oauth2/OAuth2.ts"
import { onOwnTables } from "../OwnTables.ts"
import { type Session, Sessions } from "../identity/Sessions.ts"
import { type IdPError } from "../ports/IdP.ts"
import { type ChallengeError, OAuth2, type OAuth2Error, type Redirect, type Rejection } from "../ports/OAuth2.ts"
import { OAuth2Claims } from "./Claims.ts"

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

/** 30 days, in s. */
const defaultRememberFor = 30 * 24 * 3600

/** A user's grant: some or all of the requested scopes and audiences. */
export interface Grant {
  readonly scope: ReadonlyArray<string>
  /** undefined: all that were requested. */
  readonly audience: ReadonlyArray<string> | undefined
  readonly remember: boolean
  /** s; 0: forever; undefined: 30 days. */
  readonly rememberFor?: number | undefined
}

export type ConsentError = ChallengeError | IdPError | StepUpRequired | Forbidden

/** The consents that users give to clients (spec: OAuth2 bridge and consent). */
export class OAuth2Consents extends Context.Service<
  OAuth2Consents,
  {
    /** 403 `CHALLENGE_FORBIDDEN` when the browser has a session that is not the request's subject's. */
    readonly find: (challenge: string, browser: Browser) => Effect.Effect<ConsentRequest, ConsentError>
    /** The browser's session, if any; 403 `CHALLENGE_FORBIDDEN` when it is not the subject's. */
    readonly sessionOf: (
      subject: string,
      browser: Browser
    ) => Effect.Effect<Session | undefined, IdPError | StepUpRequired | Forbidden>
    readonly accept: (
      challenge: string,
      browser: Browser,
      grant: Grant
    ) => Effect.Effect<Redirect, ConsentError | InvalidRequest>
    /** Grants everything that is requested, without asking the user; the consent is not stored. */
    readonly acceptAll: (request: ConsentRequest) => Effect.Effect<Redirect, ConsentError>
    readonly reject: (challenge: string, browser: Browser, why: Rejection) => Effect.Effect<Redirect, ConsentError>
    readonly list: (subject: string) => Effect.Effect<ReadonlyArray<ConsentSession>, OAuth2Error>
    /** Revokes the consent of one client, or of all if undefined, and its tokens. */
    readonly revoke: (subject: string, clientId: string | undefined) => Effect.Effect<void, OAuth2Error>
    /** Revokes the subject's sign-ins and consents of all clients. */
    readonly signOut: (subject: string) => Effect.Effect<void, OAuth2Error>
  }
>()("svc/services/OAuth2Consents") {
  static readonly layer = Layer.effect(
    OAuth2Consents,
    Effect.gen(function* () {
      const oauth2 = yield* OAuth2
      const claims = yield* OAuth2Claims
      const requests = yield* makeRequests
      const sessions = yield* Sessions

      const sessionOf = Effect.fn("OAuth2Consents.sessionOf")(function* (subject: string, browser: Browser) {
        const session = yield* sessions.optional(browser)
        if (session === undefined || session.identity.id === subject) return session
        return yield* new Forbidden({
          error: "This session does not belong to the subject of the challenge",
          code: "CHALLENGE_FORBIDDEN"
        })
      })

      const find = Effect.fn("OAuth2Consents.find")(function* (challenge: string, browser: Browser) {
        const request = yield* requests.withRestart(challenge, oauth2.consent(challenge))
        yield* sessionOf(request.subject, browser)
        return request
      })

      const grantTo = Effect.fn("OAuth2Consents.grantTo")(function* (request: ConsentRequest, grant: Grant) {
        const resolved = yield* claims.of(request.subject, grant.scope)
        if (resolved === undefined) {
          return yield* oauth2.rejectConsent(request.challenge, {
            error: "access_denied",
            errorDescription: "The identity no longer exists or is inactive"
          })
        }
        return yield* requests.withRestart(
          request.challenge,
          oauth2.acceptConsent(request.challenge, {
            grantScope: grant.scope,
            grantAudience: grant.audience ?? request.requestedAudience,
            remember: grant.remember,
            rememberFor: grant.rememberFor ?? defaultRememberFor,
            ...resolved
          })
        )
      })

      return OAuth2Consents.of({
        find,
        sessionOf,
        accept: Effect.fn("OAuth2Consents.accept")(function* (challenge, browser, grant) {
          const request = yield* find(challenge, browser)
          const details = [
            ...beyond("grant_scope", grant.scope, request.requestedScope),
            ...beyond("grant_access_token_audience", grant.audience ?? [], request.requestedAudience)
          ]
          if (details.length > 0) {
            return yield* new InvalidRequest({ error: "The grant exceeds what the client requested", details })
          }
          return yield* grantTo(request, grant)
        }),
        acceptAll: (request) =>
          grantTo(request, { scope: request.requestedScope, audience: undefined, remember: false, rememberFor: 0 }),
        reject: Effect.fn("OAuth2Consents.reject")(function* (challenge, browser, why) {
          yield* find(challenge, browser)
          return yield* requests.withRestart(challenge, oauth2.rejectConsent(challenge, why))
        }),
        list: oauth2.consents,
        revoke: oauth2.revokeConsents,
        signOut: (subject) => Effect.andThen(oauth2.revokeLogins(subject), oauth2.revokeConsents(subject, undefined))
      })
    })
  )
}

const beyond = (name: string, given: ReadonlyArray<string>, requested: ReadonlyArray<string>) =>
  given
    .filter((one) => !requested.includes(one))
    .slice(0, 20)
    .map((one) => `${name}: ${JSON.stringify(one.slice(0, 100))} was not requested`)
