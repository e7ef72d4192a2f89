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

/** The server is not configured (503), down or refuses our token (502), or slow (504). */
export type OAuth2Trouble = Unavailable | BadGateway | GatewayTimeout
/** An unknown challenge (404 `CHALLENGE_NOT_FOUND`), or one that is expired or used (410 `CHALLENGE_EXPIRED`). */
export type ChallengeTrouble = OAuth2Trouble | NotFound | Gone

/** Where the user's browser goes next; never followed from here. */
export interface Onward {
  readonly redirectTo: string
}

/** Why a challenge is rejected (RFC 6749 4.1.2.1), told to the client. */
export interface Rejection {
  readonly error: string
  readonly errorDescription?: string
}

/** A client as its owner gives it; RFC 7591 names, checked by the server too. */
export type ClientFields = Readonly<Record<string, unknown>>

/**
 * Port: the OAuth 2.0 server's admin side. Real layer: layers/OAuth2Hydra.ts, and layers/OAuth2None.ts when
 * OAUTH2_ADMIN_URL is not set. OAUTH2_ADMIN_TOKEN goes to the admin address only.
 */
export class OAuth2 extends Context.Service<
  OAuth2,
  {
    readonly configured: boolean
    /** Whether it answers; never fails. */
    readonly ready: Effect.Effect<boolean>

    readonly login: (challenge: string) => Effect.Effect<LoginRequest, ChallengeTrouble>
    readonly acceptLogin: (
      challenge: string,
      given: {
        readonly subject: string
        readonly acr: string
        readonly amr: ReadonlyArray<string>
        /** The idp's session, so that ending one can end the other. */
        readonly sessionId: string
        /** s; 0: as long as the server keeps it. */
        readonly rememberFor: number
      }
    ) => Effect.Effect<Onward, ChallengeTrouble>
    readonly rejectLogin: (challenge: string, why: Rejection) => Effect.Effect<Onward, ChallengeTrouble>

    readonly consent: (challenge: string) => Effect.Effect<ConsentRequest, ChallengeTrouble>
    readonly acceptConsent: (
      challenge: string,
      given: {
        readonly grantScope: ReadonlyArray<string>
        readonly grantAudience: ReadonlyArray<string>
        readonly remember: boolean
        /** s; 0: for ever. */
        readonly rememberFor: number
        readonly idTokenClaims: Readonly<Record<string, unknown>>
        readonly accessTokenClaims: Readonly<Record<string, unknown>>
      }
    ) => Effect.Effect<Onward, ChallengeTrouble>
    readonly rejectConsent: (challenge: string, why: Rejection) => Effect.Effect<Onward, ChallengeTrouble>

    readonly logoutRequest: (challenge: string) => Effect.Effect<LogoutRequest, ChallengeTrouble>
    readonly acceptLogout: (challenge: string) => Effect.Effect<Onward, ChallengeTrouble>
    readonly rejectLogout: (challenge: string) => Effect.Effect<void, ChallengeTrouble>

    /** All pages of them. */
    readonly consents: (subject: string) => Effect.Effect<ReadonlyArray<ConsentSession>, OAuth2Trouble>
    /** Of one client, or of all; with the tokens granted by them. */
    readonly revokeConsents: (subject: string, clientId: string | undefined) => Effect.Effect<void, OAuth2Trouble>
    readonly revokeLogins: (subject: string) => Effect.Effect<void, OAuth2Trouble>

    readonly clients: (page: {
      readonly pageSize: number
      readonly pageToken?: string
    }) => Effect.Effect<
      { readonly clients: ReadonlyArray<OAuth2Client>; readonly next: string | null },
      OAuth2Trouble | InvalidRequest
    >
    readonly client: (id: string) => Effect.Effect<OAuth2Client, OAuth2Trouble | NotFound>
    /** `secret` is shown this once; null for public clients. */
    readonly createClient: (
      fields: ClientFields
    ) => Effect.Effect<
      { readonly client: OAuth2Client; readonly secret: string | null },
      OAuth2Trouble | InvalidRequest | Conflict
    >
    /** Sets the keys of `metadata` that are given, removes those that are null, leaves the others. */
    readonly mergeClientMetadata: (
      id: string,
      metadata: Readonly<Record<string, unknown>>
    ) => Effect.Effect<OAuth2Client, OAuth2Trouble | NotFound | InvalidRequest>
    readonly removeClient: (id: string) => Effect.Effect<void, OAuth2Trouble | NotFound>
    /** The old secret is good no more. */
    readonly rotateSecret: (
      id: string
    ) => Effect.Effect<
      { readonly client: OAuth2Client; readonly secret: string },
      OAuth2Trouble | NotFound | InvalidRequest
    >
  }
>()("svc/services/OAuth2") {}
