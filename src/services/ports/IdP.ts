import { Context, type Effect, type Redacted } from "effect"
import {
  type BadGateway,
  type Conflict,
  type Forbidden,
  type GatewayTimeout,
  type Gone,
  type InvalidRequest,
  type NotFound,
  type StepUpRequired,
  type TooManyRequests,
  type Unauthorized,
  Unavailable
} from "../../domain/errors.ts"
import {
  type Credential,
  type Identity,
  type IdentitySession,
  type SessionSummary
} from "../../domain/identity/Identity.ts"
import { type Language } from "../../domain/language/Language.ts"

/** The identity provider is not configured (503), down (502) or slow (504). */
export type IdPError = Unavailable | BadGateway | GatewayTimeout
/** There is no session (401), or it needs a second factor or a more recent sign-in (403). */
export type SessionError = IdPError | Unauthorized | StepUpRequired
/**
 * A flow may also be unknown (404), another user's (403), expired (410), or in conflict with the account (409), or its
 * client may have begun too many (429).
 */
export type FlowError = SessionError | InvalidRequest | NotFound | Forbidden | Gone | Conflict | TooManyRequests

/** The second factors of an identity (spec: MFA status). */
export interface Factors {
  readonly totp: boolean
  /** `id` is base64url without padding, as in browsers; excludes passkeys. */
  readonly webauthn: ReadonlyArray<{
    readonly id: string
    readonly displayName: string
    readonly addedAt: string | null
  }>
  readonly recoveryCodes: { readonly count: number; readonly used: number }
}

/** Set-Cookie lines of the identity provider that must reach the user's browser. */
export type RelayedCookies = ReadonlyArray<string>

/**
 * Port: the identity provider. Its methods deal in factors, sessions and flows; the forms of the provider are the
 * layer's concern. Implemented by layers/identity/kratos when IDP_PUBLIC_URL is set, else by
 * services/identity/accounts, or with SVC_IDENTITY=off by layers/identity/None.ts.
 */
export class IdP extends Context.Service<
  IdP,
  {
    readonly configured: boolean
    /** Whether the public and the admin address are ready; never fails. */
    readonly ready: Effect.Effect<boolean>

    /** 401 when the session has ended, 403 `aal2_required` when a second factor is required. */
    readonly session: (
      credential: Credential
    ) => Effect.Effect<{ readonly session: IdentitySession; readonly cookies: RelayedCookies }, SessionError>
    /** The current session first. */
    readonly sessions: (credential: Credential) => Effect.Effect<ReadonlyArray<SessionSummary>, SessionError>
    /** Ends another session of the same identity; 404 when it has no such session. */
    readonly revokeSession: (credential: Credential, id: string) => Effect.Effect<void, SessionError | NotFound>
    /** Ends the credential's session. */
    readonly logout: (credential: Credential) => Effect.Effect<void, SessionError>
    /**
     * The URL where a browser signs in. `refresh` asks for credentials even when the user is signed in. `aal` needs a
     * session in the provider's own cookie. `returnTo` undefined: the provider decides where the browser goes next.
     */
    readonly loginUrl: (options: {
      readonly returnTo: string | undefined
      readonly aal?: "aal2"
      readonly refresh?: boolean
      /** The language that the person is to be asked in. Providers of one's own choose theirs. */
      readonly language?: Language
    }) => Effect.Effect<string, IdPError>

    /** Uses the admin API. 404 when there is no such identity. */
    readonly identity: (id: string) => Effect.Effect<Identity, IdPError | NotFound>
    /** Uses the admin API. `next` is the token of the next page, null on the last one. `pageSize` 1–250. */
    readonly identities: (page: {
      readonly pageSize: number
      readonly pageToken?: string
      /** If set, only identities that sign in with this name. */
      readonly identifier?: string
    }) => Effect.Effect<
      { readonly identities: ReadonlyArray<Identity>; readonly next: string | null },
      IdPError | InvalidRequest
    >
    /** Uses the admin API. */
    readonly factors: (identityId: string) => Effect.Effect<Factors, IdPError | NotFound>

    /** 409 `TOTP_EXISTS` when there is one already. `issuer` is for the otpauth URI. */
    readonly beginTotp: (credential: Credential) => Effect.Effect<
      {
        readonly flowId: string
        readonly secret: Redacted.Redacted
        readonly issuer: string
        readonly cookies: RelayedCookies
      },
      FlowError
    >
    /** 400 `INVALID_CODE` when the code is wrong. */
    readonly confirmTotp: (
      credential: Credential,
      flowId: string,
      code: string
    ) => Effect.Effect<RelayedCookies, FlowError>
    /** Succeeds when there is none. */
    readonly removeTotp: (credential: Credential) => Effect.Effect<RelayedCookies, FlowError>

    /** `publicKey`: PublicKeyCredentialCreationOptions as JSON (WebAuthn 3), registered keys in excludeCredentials. */
    readonly beginWebAuthn: (
      credential: Credential
    ) => Effect.Effect<
      { readonly flowId: string; readonly options: { readonly publicKey: unknown }; readonly cookies: RelayedCookies },
      FlowError
    >
    /** `attestation`: the credential as JSON text. 400 `INVALID_WEBAUTHN` when it can't be verified. */
    readonly confirmWebAuthn: (
      credential: Credential,
      flowId: string,
      attestation: string,
      displayName: string
    ) => Effect.Effect<RelayedCookies, FlowError>
    /** One key by the bytes of its id, or all if undefined. Succeeds when there are none; 404 `WEBAUTHN_NOT_FOUND` for an id that is not there. */
    readonly removeWebAuthn: (
      credential: Credential,
      id: Uint8Array | undefined
    ) => Effect.Effect<RelayedCookies, FlowError>

    /** New codes, valid once they are confirmed; until then the old ones stay valid. */
    readonly beginRecoveryCodes: (
      credential: Credential
    ) => Effect.Effect<
      { readonly flowId: string; readonly codes: ReadonlyArray<string>; readonly cookies: RelayedCookies },
      FlowError
    >
    readonly confirmRecoveryCodes: (credential: Credential, flowId: string) => Effect.Effect<RelayedCookies, FlowError>
    /** Succeeds when there are none. */
    readonly removeRecoveryCodes: (credential: Credential) => Effect.Effect<RelayedCookies, FlowError>

    /** `publicKey`: PublicKeyCredentialRequestOptions as JSON. */
    readonly beginPasskeyLogin: Effect.Effect<
      { readonly flowId: string; readonly options: { readonly publicKey: unknown }; readonly cookies: RelayedCookies },
      FlowError
    >
    /**
     * `assertion`: the credential as JSON text. 401 `INVALID_PASSKEY` when it can't be verified. `stepUp`: a second factor
     * is still required; the cookie is set nevertheless.
     */
    readonly passkeyLogin: (
      flowId: string,
      assertion: string
    ) => Effect.Effect<
      {
        readonly session: IdentitySession | null
        readonly stepUp: StepUpRequired | null
        readonly cookies: RelayedCookies
      },
      FlowError
    >

    readonly beginRecovery: Effect.Effect<{ readonly id: string; readonly expiresAt: string | null }, FlowError>
    /** The answer is the same whether the address exists or not. */
    readonly recover: (flowId: string, email: string) => Effect.Effect<void, FlowError>
  }
>()("svc/services/IdP") {}

/** 503, for calls that need an address of the identity provider that is not set. */
export const notConfigured = (name: "IDP_PUBLIC_URL" | "IDP_ADMIN_URL") =>
  new Unavailable({ error: `No identity provider is configured (${name})`, code: "NOT_CONFIGURED" })
