import { Context, type Effect } from "effect"
import {
  type BadGateway,
  type Conflict,
  type GatewayTimeout,
  type Gone,
  type InvalidRequest,
  type NotFound,
  type Unavailable
} from "../../domain/errors.ts"
import {
  type ConsentRequest,
  type ConsentSession,
  type LoginRequest,
  type LogoutRequest,
  type OAuth2Client
} from "../../domain/oauth2/OAuth2.ts"

/** The server is not configured (503), is down or rejects this service's token (502), or is slow (504). */
export type OAuth2Error = Unavailable | BadGateway | GatewayTimeout
/** The challenge is unknown (404 `CHALLENGE_NOT_FOUND`), or has expired or been used (410 `CHALLENGE_EXPIRED`). */
export type ChallengeError = OAuth2Error | NotFound | Gone

/** The next URL of the user's browser; this service never follows it. */
export interface Redirect {
  readonly redirectTo: string
}

/** Why a challenge is rejected (RFC 6749 4.1.2.1); passed on to the client. */
export interface Rejection {
  readonly error: string
  readonly errorDescription?: string
}

/** The fields of a new client; RFC 7591 names, also validated by the server. */
export type ClientFields = Readonly<Record<string, unknown>>

/**
 * Port: the administration of an OAuth 2.0 server. Implemented by layers/oauth2/hydra, by services/oauth2/server
 * without OAUTH2_ADMIN_URL, and by layers/oauth2/layer.ts. OAUTH2_ADMIN_TOKEN is sent to the admin address only.
 */
export class OAuth2 extends Context.Service<
  OAuth2,
  {
    readonly configured: boolean
    /** Whether the server is ready; never fails. */
    readonly ready: Effect.Effect<boolean>

    readonly login: (challenge: string) => Effect.Effect<LoginRequest, ChallengeError>
    readonly acceptLogin: (
      challenge: string,
      given: {
        readonly subject: string
        readonly acr: string
        readonly amr: ReadonlyArray<string>
        /** The session at the identity provider, so that ending one can end the other. */
        readonly sessionId: string
        /**
         * The time of the user's authentication, in s since 1970. Ory Hydra ignores it and uses the time of the call.
         */
        readonly authenticatedAt: number
        /** s; 0: the server's default. */
        readonly rememberFor: number
      }
    ) => Effect.Effect<Redirect, ChallengeError>
    readonly rejectLogin: (challenge: string, why: Rejection) => Effect.Effect<Redirect, ChallengeError>

    readonly consent: (challenge: string) => Effect.Effect<ConsentRequest, ChallengeError>
    readonly acceptConsent: (
      challenge: string,
      given: {
        readonly grantScope: ReadonlyArray<string>
        readonly grantAudience: ReadonlyArray<string>
        readonly remember: boolean
        /** s; 0: forever. */
        readonly rememberFor: number
        readonly idTokenClaims: Readonly<Record<string, unknown>>
        /** Names of claims that need not be stored, by a server that looks them up when it issues a token. */
        readonly lookedUp?: ReadonlyArray<string>
        readonly accessTokenClaims: Readonly<Record<string, unknown>>
      }
    ) => Effect.Effect<Redirect, ChallengeError>
    readonly rejectConsent: (challenge: string, why: Rejection) => Effect.Effect<Redirect, ChallengeError>

    readonly logoutRequest: (challenge: string) => Effect.Effect<LogoutRequest, ChallengeError>
    readonly acceptLogout: (challenge: string) => Effect.Effect<Redirect, ChallengeError>
    readonly rejectLogout: (challenge: string) => Effect.Effect<void, ChallengeError>

    /** Reads all pages. */
    readonly consents: (subject: string) => Effect.Effect<ReadonlyArray<ConsentSession>, OAuth2Error>
    /** Revokes the consent of one client, or of all if undefined, and its tokens. */
    readonly revokeConsents: (subject: string, clientId: string | undefined) => Effect.Effect<void, OAuth2Error>
    readonly revokeLogins: (subject: string) => Effect.Effect<void, OAuth2Error>

    readonly clients: (page: {
      readonly pageSize: number
      readonly pageToken?: string
    }) => Effect.Effect<
      { readonly clients: ReadonlyArray<OAuth2Client>; readonly next: string | null },
      OAuth2Error | InvalidRequest
    >
    readonly client: (id: string) => Effect.Effect<OAuth2Client, OAuth2Error | NotFound>
    /** `secret` is returned only once; null for public clients. */
    readonly createClient: (
      fields: ClientFields
    ) => Effect.Effect<
      { readonly client: OAuth2Client; readonly secret: string | null },
      OAuth2Error | InvalidRequest | Conflict
    >
    /** Sets the given keys of `metadata`, removes those that are null and leaves the others; replaces the given fields. */
    readonly mergeClientMetadata: (
      id: string,
      metadata: Readonly<Record<string, unknown>>,
      fields?: ClientFields
    ) => Effect.Effect<OAuth2Client, OAuth2Error | NotFound | InvalidRequest>
    readonly removeClient: (id: string) => Effect.Effect<void, OAuth2Error | NotFound>
    /** Invalidates the old secret. */
    readonly rotateSecret: (
      id: string
    ) => Effect.Effect<
      { readonly client: OAuth2Client; readonly secret: string },
      OAuth2Error | NotFound | InvalidRequest
    >
  }
>()("svc/services/OAuth2") {}
