import { Context, type Effect } from "effect"
import { type ClientError, type NotImplemented, type Unavailable } from "../../../domain/errors.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { type GivenIdToken } from "../identity/Providers.ts"

type Call<A> = Effect.Effect<A, ClientError>

/** A user as Supabase's clients read it. */
export type User = JsonObject & { readonly id: string }

/** The tokens with which a client acts as a user. */
export interface AuthSession {
  readonly access_token: string
  readonly token_type: "bearer"
  readonly expires_in: number
  readonly expires_at: number
  readonly refresh_token: string
  readonly user: User
  /** The provider's token, to call its API; returned once. */
  readonly provider_token?: string
  readonly provider_refresh_token?: string
}

/** The session that a verified access token is of. */
export interface CurrentSession {
  readonly id: string
  readonly userId: string
  readonly aal: string
  /** Seconds since its sign-in. */
  readonly age: number
}

/** PKCE (RFC 7636) of a client that is to exchange a code, rather than find tokens in the URL. */
export interface Challenge {
  readonly value: string
  readonly method: "s256" | "plain"
}

/** How a mail's recipient comes back to the app. */
export interface MailRequest {
  readonly email: string
  readonly challenge: Challenge | undefined
  readonly redirectTo: string
}

export type MailKind =
  | "signup"
  | "magiclink"
  | "recovery"
  | "invite"
  | "email_change_new"
  | "email_change_current"
  | "reauthentication"

/** The token of a mail's link, or the code in it with the address that it was sent to. */
export type OneTimeProof =
  | { readonly type: string; readonly tokenHash: string }
  | { readonly type: string; readonly email: string; readonly code: string }

/** Further proof about the person who has a mail. */
export interface Shown {
  /** Whether a browser has opened the link, rather than the client sent its token. */
  readonly byLink: boolean
  /** The password of the sign-up whose address the mail confirms. */
  readonly password: string | undefined
}

/** How a link or provider has ended: signed in, or a step of several done. */
export type Proven =
  | { readonly session: AuthSession; readonly type: string }
  | { readonly code: string; readonly type: string }
  | { readonly message: string; readonly type: string }

/** A page of users, by the time at which they were created. */
export interface UserPage {
  readonly page: number
  readonly perPage: number
  /** A part of the address or of the full name; "" for all. */
  readonly filter: string
  readonly ascending: boolean
}

/** The fields of a user that admins set. */
export interface UserChange {
  readonly email?: string
  readonly password?: string
  readonly passwordHash?: string
  readonly confirmed?: boolean
  readonly userMetadata?: JsonObject
  readonly appMetadata?: JsonObject
  readonly role?: string
  /** Seconds; 0 ends a ban. */
  readonly banSeconds?: number
}

/** A sign-in at another service. */
export interface Attempt {
  readonly provider: string
  readonly redirectTo: string
  readonly challenge: Challenge | undefined
}

/** The fields that users change of themselves. */
export interface OwnChange {
  readonly email: string | undefined
  readonly password: string | undefined
  readonly currentPassword: string | undefined
  readonly nonce: string | undefined
  readonly data: JsonObject | undefined
  readonly challenge: Challenge | undefined
  readonly redirectTo: string
}

/** The relying party and origins of a page that requests the options of a key. */
export interface RelyingParty {
  readonly rpId: string | undefined
  readonly origins: ReadonlyArray<string> | undefined
}

/** A key's signature, as the JSON text of a credential. */
export interface KeyProof {
  readonly type: "create" | "request"
  readonly credential: string
}

/** A challenge of WebAuthn; `options` are what a page passes to the browser, as JSON. */
interface PasskeyChallenge {
  readonly challenge_id: string
  readonly options: object
  readonly expires_at: number
}

interface Passkey {
  readonly id: string
  readonly friendly_name: string
  readonly created_at: string
  readonly last_used_at?: string
}

interface GeneratedLink {
  readonly user: User
  readonly properties: {
    readonly action_link: string
    readonly email_otp: string
    readonly hashed_token: string
    readonly redirect_to: string
    readonly verification_type: string
  }
}

/** The sign-in API of Supabase's clients, on accounts that this service keeps. */
export interface AuthCalls {
  readonly providers: ReadonlyArray<string>
  readonly authenticate: (token: string) => Call<CurrentSession>

  /** A user without a session must confirm the address first. */
  readonly signUp: (
    given: MailRequest & { readonly password: string; readonly data: JsonObject }
  ) => Call<AuthSession | { readonly user: User }>
  readonly signInAnonymously: (data: JsonObject) => Call<AuthSession>
  readonly signIn: (email: string, password: string) => Call<AuthSession>
  readonly refresh: (token: string) => Call<AuthSession>
  readonly exchange: (code: string, verifier: string) => Call<AuthSession>
  /** Signs in by an ID token that an app got from a provider, or links that account to a session's. */
  readonly useIdToken: (provider: string, given: GivenIdToken, linkTo: CurrentSession | undefined) => Call<AuthSession>
  readonly sendOtp: (given: MailRequest & { readonly createUser: boolean; readonly data: JsonObject }) => Call<void>
  readonly sendRecovery: (given: MailRequest) => Call<void>
  readonly resend: (given: MailRequest & { readonly kind: "signup" | "email_change" }) => Call<void>
  /** The token of a sign-up's mail, without the password, confirms the address and removes what the sign-up has set. */
  readonly verify: (proof: OneTimeProof, shown: Shown) => Call<Proven>
  /**
   * What a page must request before a mailed link is used: nothing if a client with PKCE exchanges the code that it
   * leads to; otherwise a click, because programs open links of mails too; or the password of a sign-up, which another
   * person may have made.
   */
  readonly asksFor: (tokenHash: string) => Call<"password" | "click" | undefined>
  /** The redirect URL that was stored with the request of a mail; it takes precedence over the link's own. */
  readonly redirectOf: (tokenHash: string) => Call<string | undefined>

  readonly user: (session: CurrentSession) => Call<User>
  readonly update: (session: CurrentSession, change: OwnChange) => Call<User>
  readonly reauthenticate: (session: CurrentSession) => Call<void>
  readonly logout: (session: CurrentSession, scope: "global" | "local" | "others") => Call<void>

  /** Returns the browser's next URL. `browser`: a secret of its cookie. */
  readonly authorize: (given: {
    readonly callback: string
    readonly browser: string
    readonly attempt: Attempt | { readonly ticket: string }
  }) => Call<string>
  /**
   * A ticket to link an account to a session's. The browser begins the attempt, but its request to this has no cookies.
   */
  readonly linkTicket: (session: CurrentSession, attempt: Attempt) => Call<string>
  /** `redirectTo` is available as soon as the attempt is. */
  readonly callback: (given: {
    readonly query: URLSearchParams
    readonly browser: string
  }) => Call<{ readonly redirectTo: string; readonly outcome: Call<Proven> }>
  readonly unlink: (session: CurrentSession, identityId: string) => Call<void>

  readonly enroll: (
    session: CurrentSession,
    given: { readonly name: string; readonly issuer: string | undefined }
  ) => Call<{ readonly id: string; readonly secret: string; readonly uri: string }>
  /** Enrolls a security key; returns the factor's id. */
  readonly enrollKey: (session: CurrentSession, name: string) => Call<string>
  /** `options`: of a security key, to create or to show it. */
  readonly challenge: (
    session: CurrentSession,
    factorId: string,
    page: RelyingParty
  ) => Call<{
    readonly id: string
    readonly type: "totp" | "webauthn"
    readonly expires_at: number
    readonly options: { readonly type: KeyProof["type"]; readonly publicKey: object } | undefined
  }>
  readonly verifyFactor: (
    session: CurrentSession,
    given: {
      readonly factorId: string
      readonly challengeId: string
      readonly proof: { readonly code: string } | KeyProof
    }
  ) => Call<AuthSession>
  readonly unenroll: (session: CurrentSession, factorId: string) => Call<void>

  readonly passkeys: {
    readonly beginRegistration: (session: CurrentSession) => Call<PasskeyChallenge>
    readonly register: (session: CurrentSession, challengeId: string, credential: string) => Call<Passkey>
    readonly beginSignIn: Call<PasskeyChallenge>
    readonly signIn: (challengeId: string, credential: string) => Call<AuthSession>
    readonly list: (userId: string) => Call<ReadonlyArray<Passkey>>
    readonly rename: (userId: string, id: string, name: string) => Call<Passkey>
    readonly remove: (session: CurrentSession, id: string) => Call<void>
  }

  readonly admin: {
    readonly list: (page: UserPage) => Call<{ readonly users: ReadonlyArray<User>; readonly total: number }>
    readonly get: (id: string) => Call<User>
    readonly create: (id: string | undefined, change: UserChange) => Call<User>
    readonly update: (id: string, change: UserChange) => Call<User>
    /** `soft`: its row in auth.users stays, without what identifies the person. */
    readonly remove: (id: string, soft: boolean) => Call<void>
    readonly invite: (given: MailRequest & { readonly data: JsonObject }) => Call<User>
    readonly generateLink: (
      given: MailRequest & {
        readonly kind: MailKind
        readonly password: string | undefined
        readonly newEmail: string | undefined
        readonly data: JsonObject
      }
    ) => Call<GeneratedLink>
    readonly factors: (id: string) => Call<ReadonlyArray<JsonObject>>
    readonly removeFactor: (id: string, factorId: string) => Call<void>
    readonly passkeys: (id: string) => Call<ReadonlyArray<Passkey>>
    readonly removePasskey: (id: string, passkeyId: string) => Call<void>
  }
}

/**
 * Port: the calls of `/auth/v1`. Implemented by services/identity/accounts; with another identity provider, which has neither
 * refresh tokens nor codes for PKCE, it is 501 `USE_IDP`, without one 503.
 */
export class SupabaseAuth extends Context.Service<
  SupabaseAuth,
  { readonly calls: Effect.Effect<AuthCalls, NotImplemented | Unavailable> }
>()("svc/services/SupabaseAuth") {}
