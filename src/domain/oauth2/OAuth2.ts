/**
 * Characters of a challenge that are taken. Servers keep nothing of a request but put it into its challenge, with the
 * whole client; together with a path of ours it must stay within the longest URL (16 KiB).
 */
export const longestChallenge = 14_000

/** What the OAuth 2.0 server tells of a client (RFC 7591 names). */
export interface OAuth2Client {
  readonly client_id: string
  readonly client_name: string
  readonly logo_uri: string
  readonly tos_uri: string
  readonly policy_uri: string
  readonly redirect_uris: ReadonlyArray<string>
  readonly post_logout_redirect_uris: ReadonlyArray<string>
  readonly grant_types: ReadonlyArray<string>
  readonly response_types: ReadonlyArray<string>
  /** Names separated by spaces. */
  readonly scope: string
  readonly audience: ReadonlyArray<string>
  readonly token_endpoint_auth_method: string
  /** The server's own field, beside `metadata.skip_consent`. */
  readonly skip_consent: boolean
  readonly metadata: Readonly<Record<string, unknown>>
  readonly created_at: string | null
  readonly updated_at: string | null
}

/** Somebody is to be signed in (OpenID Connect Core 3.1.2.1). */
export interface LoginRequest {
  readonly challenge: string
  /** The server knows the subject by its own cookie. */
  readonly skip: boolean
  /** "" unless `skip`. */
  readonly subject: string
  readonly client: OAuth2Client
  /** The authorization request that began it. */
  readonly requestUrl: string
}

/** Somebody is to say what a client may. */
export interface ConsentRequest {
  readonly challenge: string
  readonly subject: string
  /** Consent was remembered. */
  readonly skip: boolean
  readonly client: OAuth2Client
  readonly requestedScope: ReadonlyArray<string>
  readonly requestedAudience: ReadonlyArray<string>
  readonly requestUrl: string
}

/** A client asks to sign somebody out (OpenID Connect RP-Initiated Logout 1.0). */
export interface LogoutRequest {
  readonly challenge: string
  readonly subject: string
  /** Whether a client began it, rather than the person itself. */
  readonly rpInitiated: boolean
  readonly client: OAuth2Client | null
}

/** What somebody has allowed a client (spec: Consent session). */
export interface ConsentSession {
  readonly client: OAuth2Client
  readonly requestedScope: ReadonlyArray<string>
  readonly grantScope: ReadonlyArray<string>
  readonly remember: boolean
  /** ISO 8601. */
  readonly handledAt: string | null
}
