import { Context, type Effect } from "effect"
import { type BadGateway, type Forbidden, type InvalidRequest } from "../../../domain/errors.ts"

/** Another service at which people can sign in. */
export interface Provider {
  readonly id: string
  readonly label: string
}

/** An account at a provider with which a person signs in. */
export interface ProviderLink extends Provider {
  /** How the provider calls the account. */
  readonly account: string
  readonly added_at: string
  readonly last_used_at: string | null
}

/** A provider's data about the person who has signed in there. */
export interface ProvidedPerson {
  /** Identifies the account together with `subject`; addresses and names may change and be reused. */
  readonly issuer: string
  readonly subject: string
  readonly email: string | undefined
  /** Whether the provider has verified that address. */
  readonly verified: boolean
  readonly name: string | undefined
  /** The account's name for people. */
  readonly account: string
}

/** One attempt to sign in at a provider. */
interface ProviderAttempt {
  readonly state: string
  /** The URL to which the provider returns. */
  readonly callback: string
  readonly verifier: string
  readonly nonce: string
  /**
   * The start of an attempt to prove the same person, in s since 1970; an earlier sign-in at the provider does not
   * count.
   */
  readonly since?: number | undefined
}

/** A person who has signed in, and what the provider gives to call its API for them. */
export interface ProvidedSignIn {
  readonly person: ProvidedPerson
  readonly token: string
  /** Undefined if the provider gives none. */
  readonly refreshToken: string | undefined
}

/** A provider's token that an app got itself, without a redirect. */
export interface GivenIdToken {
  readonly idToken: string
  /** The access token that came with it. */
  readonly accessToken: string | undefined
  /** The text whose SHA-256, in hexadecimal digits, the token contains. */
  readonly nonce: string | undefined
}

/** A provider, reached over its protocol. */
export interface ProviderProtocol extends Provider {
  /** Returns the browser's next URL. `again`: the person must authenticate even if they are signed in there. */
  readonly start: (attempt: ProviderAttempt & { readonly again: boolean }) => Effect.Effect<string, BadGateway>
  /** Returns the person who has signed in. `query`: the one with which the browser came back. */
  readonly finish: (
    attempt: ProviderAttempt,
    query: URLSearchParams
  ) => Effect.Effect<ProvidedSignIn, BadGateway | Forbidden | InvalidRequest>
  /**
   * Returns the person in an ID token that was issued to an app of this service, and for how many seconds it is valid.
   * Undefined for a provider without ID tokens.
   */
  readonly read?: (
    given: GivenIdToken
  ) => Effect.Effect<{ readonly person: ProvidedPerson; readonly seconds: number }, BadGateway | InvalidRequest>
}

/** The providers at which people can sign in. */
export class SignInProviders extends Context.Service<SignInProviders, ReadonlyArray<ProviderProtocol>>()(
  "svc/services/SignInProviders"
) {}
