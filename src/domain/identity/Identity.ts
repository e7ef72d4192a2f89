import { type Redacted } from "effect"

/** Somebody whom the idp knows (spec: Sessions). Credentials are never in it. */
export interface Identity {
  /** UUID. */
  readonly id: string
  readonly state: "active" | "inactive"
  readonly schemaId: string
  readonly traits: Readonly<Record<string, unknown>>
  readonly metadataPublic: Readonly<Record<string, unknown>>
  /** E-mail addresses and whether their owner has proved to have them. */
  readonly addresses: ReadonlyArray<{ readonly value: string; readonly verified: boolean }>
  readonly createdAt: string | null
  readonly updatedAt: string | null
}

/**
 * What a browser or app shows to say who it is. `Token`: cookie `svc_session`, an idp session token. `Cookie`: the idp's
 * own cookie `idp_session`, its raw value. Only one of them ever goes upstream (facts/idp-oauth2.md 7.1).
 */
export type Credential =
  | { readonly _tag: "Token"; readonly value: Redacted.Redacted }
  | { readonly _tag: "Cookie"; readonly value: Redacted.Redacted }

/** A good session at the idp. */
export interface IdentitySession {
  /** UUID. */
  readonly id: string
  readonly identity: Identity
  /** Assurance level: how many factors were shown. */
  readonly aal: "aal1" | "aal2"
  readonly methods: ReadonlyArray<string>
  /** ISO 8601. */
  readonly authenticatedAt: string
  readonly issuedAt: string
  readonly expiresAt: string
}

/** One of an identity's sessions, for account pages. */
export interface SessionSummary {
  readonly id: string
  readonly current: boolean
  readonly aal: "aal1" | "aal2"
  readonly authenticatedAt: string
  readonly issuedAt: string
  readonly expiresAt: string
  readonly devices: ReadonlyArray<{
    readonly ipAddress: string | null
    readonly userAgent: string | null
    readonly location: string | null
  }>
}
