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
  type Unauthorized,
  Unavailable
} from "../../domain/errors.ts"
import {
  type Credential,
  type Identity,
  type IdentitySession,
  type SessionSummary
} from "../../domain/identity/Identity.ts"

/** The idp is not configured (503), down (502) or slow (504). */
export type IdPTrouble = Unavailable | BadGateway | GatewayTimeout
/** No session (401), or one that owes a second factor or is not fresh enough (403). */
export type SessionTrouble = IdPTrouble | Unauthorized | StepUpRequired
/** What a flow may also be: unknown (404), somebody else's (403), expired (410), in conflict with what is set up (409). */
export type FlowTrouble = SessionTrouble | InvalidRequest | NotFound | Forbidden | Gone | Conflict

/** The second factors of an identity (spec: MFA status). */
export interface Factors {
  readonly totp: boolean
  /** `id` is base64url without padding, as browsers know it; without passwordless ones. */
  readonly webauthn: ReadonlyArray<{
    readonly id: string
    readonly displayName: string
    readonly addedAt: string | null
  }>
  readonly recoveryCodes: { readonly count: number; readonly used: number }
}

/** Set-Cookie lines of the idp that its user's browser must get. */
export type RelayedCookies = ReadonlyArray<string>

/**
 * Port: the identity provider. Its methods speak of factors, sessions and flows; how the idp builds its forms is the
 * layer's affair. Real layer: layers/IdPKratos.ts, and layers/IdPNone.ts when IDP_PUBLIC_URL is not set.
 */
export class IdP extends Context.Service<
  IdP,
  {
    readonly configured: boolean
    /** Whether public and admin address answer; never fails. */
    readonly ready: Effect.Effect<boolean>

    /** Whose session it is. 401 when it is none any more, 403 `aal2_required` when a second factor is due. */
    readonly session: (
      credential: Credential
    ) => Effect.Effect<{ readonly session: IdentitySession; readonly cookies: RelayedCookies }, SessionTrouble>
    /** The current session first. */
    readonly sessions: (credential: Credential) => Effect.Effect<ReadonlyArray<SessionSummary>, SessionTrouble>
    /** Ends another session of the same identity; 404 when it has no such session. */
    readonly revokeSession: (credential: Credential, id: string) => Effect.Effect<void, SessionTrouble | NotFound>
    /** Ends the session that the credential is of. */
    readonly logout: (credential: Credential) => Effect.Effect<void, SessionTrouble>
    /** Where a browser signs in and then comes back to. `refresh` asks for credentials even of who is signed in. */
    readonly loginUrl: (options: {
      readonly returnTo: string
      readonly aal?: "aal2"
      readonly refresh?: boolean
    }) => Effect.Effect<string, IdPTrouble>

    /** Admin: 404 when there is no such identity. */
    readonly identity: (id: string) => Effect.Effect<Identity, IdPTrouble | NotFound>
    /** Admin: a page of identities; `next` is the token of the page behind it, null on the last. `pageSize` 1–250. */
    readonly identities: (page: {
      readonly pageSize: number
      readonly pageToken?: string
      /** Only who signs in by this name. */
      readonly identifier?: string
    }) => Effect.Effect<
      { readonly identities: ReadonlyArray<Identity>; readonly next: string | null },
      IdPTrouble | InvalidRequest
    >
    /** Admin. */
    readonly factors: (identityId: string) => Effect.Effect<Factors, IdPTrouble | NotFound>

    /** 409 `TOTP_EXISTS` when there is one. `account` and `issuer` are for the otpauth URI. */
    readonly beginTotp: (credential: Credential) => Effect.Effect<
      {
        readonly flowId: string
        readonly secret: Redacted.Redacted
        readonly issuer: string
        readonly cookies: RelayedCookies
      },
      FlowTrouble
    >
    /** 400 `INVALID_CODE` when it is wrong. */
    readonly confirmTotp: (
      credential: Credential,
      flowId: string,
      code: string
    ) => Effect.Effect<RelayedCookies, FlowTrouble>
    /** 404 `TOTP_NOT_FOUND` when there is none. */
    readonly removeTotp: (credential: Credential) => Effect.Effect<RelayedCookies, FlowTrouble>

    /** `publicKey`: PublicKeyCredentialCreationOptions as JSON (WebAuthn 3), registered keys in excludeCredentials. */
    readonly beginWebAuthn: (
      credential: Credential
    ) => Effect.Effect<
      { readonly flowId: string; readonly options: { readonly publicKey: unknown }; readonly cookies: RelayedCookies },
      FlowTrouble
    >
    /** `attestation`: the credential as JSON text. 400 `INVALID_WEBAUTHN` when it does not hold. */
    readonly confirmWebAuthn: (
      credential: Credential,
      flowId: string,
      attestation: string,
      displayName: string
    ) => Effect.Effect<RelayedCookies, FlowTrouble>
    /** One key by its id's bytes, or all. 404 `WEBAUTHN_NOT_FOUND` when there is none such. */
    readonly removeWebAuthn: (
      credential: Credential,
      id: Uint8Array | undefined
    ) => Effect.Effect<RelayedCookies, FlowTrouble>

    /** New codes, not good before they are confirmed; the old ones are until then. */
    readonly beginRecoveryCodes: (
      credential: Credential
    ) => Effect.Effect<
      { readonly flowId: string; readonly codes: ReadonlyArray<string>; readonly cookies: RelayedCookies },
      FlowTrouble
    >
    readonly confirmRecoveryCodes: (
      credential: Credential,
      flowId: string
    ) => Effect.Effect<RelayedCookies, FlowTrouble>
    /** Nothing to do when there are none. */
    readonly removeRecoveryCodes: (credential: Credential) => Effect.Effect<RelayedCookies, FlowTrouble>

    /** `publicKey`: PublicKeyCredentialRequestOptions as JSON. */
    readonly beginPasskeyLogin: Effect.Effect<
      { readonly flowId: string; readonly options: { readonly publicKey: unknown }; readonly cookies: RelayedCookies },
      FlowTrouble
    >
    /**
     * `assertion`: the credential as JSON text. 401 `INVALID_PASSKEY` when it does not hold. `due` says that a second
     * factor is still to be shown, and where; the cookie is set all the same.
     */
    readonly passkeyLogin: (
      flowId: string,
      assertion: string
    ) => Effect.Effect<
      {
        readonly session: IdentitySession | null
        readonly due: StepUpRequired | null
        readonly cookies: RelayedCookies
      },
      FlowTrouble
    >

    readonly beginRecovery: Effect.Effect<{ readonly id: string; readonly expiresAt: string | null }, FlowTrouble>
    /** The same answer whether the address is known or not. */
    readonly recover: (flowId: string, email: string) => Effect.Effect<void, FlowTrouble>
  }
>()("svc/services/IdP") {}

/** 503, for what needs an address of the idp that is not set. */
export const notConfigured = (name: "IDP_PUBLIC_URL" | "IDP_ADMIN_URL") =>
  new Unavailable({ error: `No identity provider is configured (${name})`, code: "NOT_CONFIGURED" })
