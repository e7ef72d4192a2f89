import { Context, type Effect, type Stream } from "effect"
import {
  type NotImplemented,
  type StepUpRequired,
  type TooManyRequests,
  type Unavailable
} from "../../../domain/errors.ts"
import {
  type Credential,
  type Identity,
  type IdentitySession,
  type SessionSummary,
  type SignInFactor
} from "../../../domain/identity/Identity.ts"
import { type ExportedAccount } from "../../../domain/identity/KratosIdentity.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { type FlowError, type RelayedCookies } from "../IdP.ts"
import { type ProviderLink, type Provider } from "./Providers.ts"

/** The device that sends the request, for lists of sessions and for limits. */
export interface Device {
  /** The client by which attempts are counted (ClientAddress.ts); undefined: they are not, as for operators' programs. */
  readonly client: string | undefined
  readonly ip: string | null
  readonly userAgent: string | null
  /** The value of `deviceCookie`, which may be forged. */
  readonly mark?: string | undefined
}

/** The cookie of browsers that have signed in before. */
export const deviceCookie = "svc_device"

/** Set for requests of browsers and apps. */
export const CurrentDevice = Context.Reference<Device>("svc/services/CurrentDevice", {
  defaultValue: () => ({ client: undefined, ip: null, userAgent: null })
})

/** A new session. */
export interface SignedIn {
  readonly credential: Credential
  /** Null when a second factor is required; then `stepUp` is set. */
  readonly session: IdentitySession | null
  readonly stepUp: StepUpRequired | null
  readonly cookies: RelayedCookies
}

/** The content of a mailed message: a code to type, or the token of its link. */
export type MailProof = { readonly code: string } | { readonly token: string }

/** The proofs of a confirmation: the sessions of the browser, and the password that was chosen at the registration. */
export interface ConfirmedBy {
  readonly credentials: ReadonlyArray<Credential>
  readonly password?: string
}

/** The proof of a second factor. `assertion`: the credential as JSON text. */
export type FactorProof =
  | { readonly method: "totp" | "lookup_secret"; readonly code: string }
  | { readonly method: "webauthn"; readonly flowId: string; readonly assertion: string }

/** The factors with which a session can be completed. */
export interface DueFactors {
  readonly totp: boolean
  readonly webauthn: { readonly flowId: string; readonly options: { readonly publicKey: unknown } } | null
  readonly recoveryCodes: boolean
}

/** How people can sign in and get back in. */
export interface Methods {
  readonly password: boolean
  readonly passkey: boolean
  readonly registration: boolean
  /** Whether e-mails are delivered, rather than kept for administrators. */
  readonly mail: boolean
  /** Whether an account is created only when its address is confirmed. */
  readonly verification: boolean
  /** Other services at which people can sign in. */
  readonly providers: ReadonlyArray<Provider>
}

export interface Passkey {
  readonly id: string
  readonly display_name: string
  readonly added_at: string
  readonly last_used_at: string | null
  readonly backed_up: boolean
}

export type AccountError = FlowError | TooManyRequests | NotImplemented

type Call<A> = Effect.Effect<A, AccountError>

/** How an attempt that the browser came back from has ended. */
interface Returned {
  readonly provider: Provider
  readonly returnTo: string | undefined
  /** Whether it was to link an account, not to sign in. */
  readonly linking: boolean
  /** A session, or undefined after linking. */
  readonly outcome: Call<SignedIn | undefined>
}

/** Signing in at other services, and linking accounts there to one's own. */
export interface ProviderCalls {
  readonly list: ReadonlyArray<Provider>
  /**
   * Returns the browser's next URL. `browser`: a secret of its cookie. `credential`: links the account to that
   * session's.
   */
  readonly begin: (given: {
    readonly provider: string
    readonly callback: string
    readonly returnTo: string | undefined
    readonly browser: string
    readonly again?: boolean
    readonly credential?: Credential
  }) => Call<string>
  /** 410 `FLOW_EXPIRED` unless this browser has begun this attempt at this provider, and not used it yet. */
  readonly finish: (given: {
    readonly provider: string
    readonly query: URLSearchParams
    readonly browser: string
    readonly credentials: ReadonlyArray<Credential>
  }) => Call<Returned>
  readonly links: (credential: Credential) => Call<ReadonlyArray<ProviderLink>>
  /** 409 `LAST_SIGN_IN_METHOD` if the person could not sign in without it. */
  readonly unlink: (credential: Credential, provider: string) => Call<void>
}

/** The users' functions on their own accounts, beyond the port IdP. */
export interface AccountCalls {
  readonly methods: Methods
  /** A flow id instead of a session: the address must be confirmed first; the same answer for an address that is taken. */
  readonly register: (given: {
    readonly email: string
    readonly password: string
    readonly traits: JsonObject
    readonly kind: Credential["_tag"]
  }) => Call<SignedIn | { readonly flowId: string }>
  /** 401 `INVALID_CREDENTIALS`, the same for unknown addresses, wrong passwords and disabled accounts. */
  readonly signIn: (given: {
    readonly identifier: string
    readonly password: string
    readonly kind: Credential["_tag"]
  }) => Call<SignedIn>
  /** Signs in by a passkey; 401 `INVALID_PASSKEY`. The flow is one of the port IdP's. */
  readonly signInByPasskey: (flowId: string, assertion: string, kind: Credential["_tag"]) => Call<SignedIn>
  readonly dueFactors: (credential: Credential) => Call<DueFactors>
  /** Completes a session; after five wrong codes it ends. */
  readonly showFactor: (credential: Credential, proof: FactorProof) => Call<SignedIn>
  /** Makes the sign-in recent again, by the password. */
  readonly reauthenticate: (credential: Credential, password: string) => Call<SignedIn>
  /** Signs in by a recovery message. */
  readonly confirmRecovery: (flowId: string, proof: MailProof, kind: Credential["_tag"]) => Call<SignedIn>
  /** Sends a message to an address that is not verified yet; the answer is the same for every address. */
  readonly verify: (email: string) => Call<{ readonly flowId: string }>
  /**
   * Confirms an address: of an account; of a change, in the session that requested it (403 `FLOW_FORBIDDEN`); or of a
   * registration, which signs in. A registration's link needs the password: 400 `PASSWORD_REQUIRED`.
   */
  readonly confirmVerification: (
    flowId: string,
    proof: MailProof,
    kind: Credential["_tag"],
    by: ConfirmedBy
  ) => Call<SignedIn | undefined>
  /** Ends all other sessions. */
  readonly setPassword: (credential: Credential, password: string) => Call<SignedIn>
  /** Replaces the traits other than `email`. */
  readonly setTraits: (credential: Credential, traits: JsonObject) => Call<Identity>
  /** The new address counts once it is confirmed. */
  readonly changeEmail: (credential: Credential, email: string) => Call<{ readonly flowId: string }>
  readonly remove: (credential: Credential) => Call<void>
  readonly passkeys: (credential: Credential) => Call<ReadonlyArray<Passkey>>
  readonly beginPasskey: (
    credential: Credential
  ) => Call<{ readonly flowId: string; readonly options: { readonly publicKey: unknown } }>
  readonly confirmPasskey: (
    credential: Credential,
    flowId: string,
    attestation: string,
    displayName: string
  ) => Call<Passkey>
  readonly renamePasskey: (credential: Credential, id: string, displayName: string) => Call<Passkey>
  readonly removePasskey: (credential: Credential, id: string) => Call<void>
  readonly providers: ProviderCalls
}

/** An account to create. */
export interface NewAccount {
  /** A UUID; default: a new one. */
  readonly id?: string
  readonly email: string
  readonly traits: JsonObject
  readonly metadataPublic?: JsonObject
  /** A hash is imported as it is. */
  readonly password?: string
  readonly passwordHash?: string
  readonly verified?: boolean
  readonly state?: Identity["state"]
}

/** Changes of an account; omitted fields stay. */
export interface AccountChange {
  readonly state?: Identity["state"]
  readonly traits?: JsonObject
  readonly metadataPublic?: JsonObject
  readonly verified?: boolean
  /** `updated_at` as it was read: the change is refused if there was another since. */
  readonly readAt?: string
}

export type FactorKind = "totp" | "webauthn" | "passkeys" | "recovery_codes" | "providers"

/** Makes the first administrator, by a link. */
export interface FirstAdministrator {
  /** The path of a new link, which replaces those before; undefined once there is an administrator. */
  readonly link: Call<string | undefined>
  /** 410 `LINK_EXPIRED` if the link is not valid. */
  readonly check: (flowId: string, token: string) => Call<void>
  /** Makes an account the administrator: a new one, or that of a session. */
  readonly claim: (
    flowId: string,
    token: string,
    by: { readonly email: string; readonly password: string } | { readonly credential: Credential }
  ) => Call<SignedIn>
}

/** The operators' functions on all accounts. */
export interface AccountAdmin {
  readonly create: (account: NewAccount) => Call<Identity>
  /** Accounts with a part of an address, in any case; pages as those of `IdP.identities`. */
  readonly search: (
    part: string,
    pageSize: number,
    pageToken: string | undefined
  ) => Call<{ readonly identities: ReadonlyArray<Identity>; readonly next: string | null }>
  /** 409 `IDENTITY_CHANGED`, see `readAt`; `ADDRESS_UNCONFIRMED` for an administrator whose address is not proven. */
  readonly change: (id: string, change: AccountChange) => Call<Identity>
  readonly remove: (id: string) => Call<void>
  /** The newest first; none is `current`. */
  readonly sessions: (id: string) => Call<ReadonlyArray<SessionSummary>>
  /** Returns how many there were. */
  readonly endSessions: (id: string) => Call<number>
  readonly factors: (id: string) => Call<ReadonlyArray<SignInFactor>>
  /** All accounts with their password hashes, by id. */
  readonly exported: Stream.Stream<ExportedAccount, Unavailable>
  readonly removeFactor: (id: string, kind: FactorKind) => Call<void>
  /** Activates an account too. One whose address is not confirmed is claimed first: password, factors, links and sessions end. */
  readonly makeAdministrator: (id: string) => Call<void>
  /** A link that signs its owner in once, and its end. It removes what another person may have set before the address was confirmed. */
  readonly recoveryLink: (id: string) => Call<{ readonly link: string; readonly expiresAt: string }>
  readonly first: FirstAdministrator
}

/**
 * Port: accounts with more functions than the port IdP has. Implemented by services/identity/accounts; with another
 * identity provider both fail with 501 `USE_IDP` and its address, without one with 503 `NOT_CONFIGURED`.
 */
export class Accounts extends Context.Service<
  Accounts,
  {
    readonly calls: Effect.Effect<AccountCalls, NotImplemented | Unavailable>
    readonly admin: Effect.Effect<AccountAdmin, NotImplemented | Unavailable>
  }
>()("svc/services/Accounts") {}
