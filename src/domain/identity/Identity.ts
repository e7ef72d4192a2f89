import { type Redacted } from "effect"

/** A person's account at the identity provider (spec: Sessions). Never contains credentials. */
export interface Identity {
  /** UUID. */
  readonly id: string
  readonly state: "active" | "inactive"
  readonly schemaId: string
  readonly traits: Readonly<Record<string, unknown>>
  readonly metadataPublic: Readonly<Record<string, unknown>>
  /** E-mail addresses, and whether the identity provider has verified them. */
  readonly addresses: ReadonlyArray<{ readonly value: string; readonly verified: boolean }>
  readonly createdAt: string | null
  readonly updatedAt: string | null
}

/**
 * What a browser or app sends to prove its session. `Token`: cookie `svc_session`, a session token of the identity
 * provider. `Cookie`: the identity provider's own cookie `idp_session`, its raw value. Only one of them is ever sent
 * upstream.
 */
export type Credential =
  | { readonly _tag: "Token"; readonly value: Redacted.Redacted }
  | { readonly _tag: "Cookie"; readonly value: Redacted.Redacted }

/** A browser or app that may have a session. */
export interface Browser {
  /** At most one of each kind, in the order in which they are tried; empty without a session cookie. */
  readonly credentials: ReadonlyArray<Credential>
  /** Where a browser returns to after a step-up at the identity provider; undefined: the provider's default. */
  readonly returnTo: string | undefined
}

/** A valid session at the identity provider. */
export interface IdentitySession {
  /** UUID. */
  readonly id: string
  readonly identity: Identity
  /** Authenticator assurance level: aal2 once a second factor was used. */
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

/** The name that users recognise their account by: an e-mail address, else the id. */
export const accountOf = ({ addresses, id, traits }: Identity): string => {
  const email = traits["email"]
  return (typeof email === "string" && email !== "" ? email : addresses[0]?.value) ?? id
}

/** "unverified": the identity claims an administrator's e-mail address, but has not verified it. */
export type AdminVerdict = "admin" | "other" | "unverified"

/**
 * Whether an identity may use the management API. `admins` holds ids and e-mail addresses in lower case. An address
 * counts only when the identity provider has verified it: otherwise anyone could sign up with an administrator's address.
 */
export const adminVerdict = (admins: ReadonlySet<string>, identity: Identity): AdminVerdict => {
  const { addresses, id, metadataPublic, state, traits } = identity
  if (state !== "active") return "other"
  if (metadataPublic["svc_role"] === "admin" || admins.has(id.toLowerCase())) return "admin"
  const matching = addresses.filter(({ value }) => admins.has(value.toLowerCase()))
  if (matching.some(({ verified }) => verified)) return "admin"
  const claimed = typeof traits["email"] === "string" && admins.has(traits["email"].toLowerCase())
  return matching.length > 0 || claimed ? "unverified" : "other"
}
