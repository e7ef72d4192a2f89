import { type Redacted, Schema } from "effect"
import { JsonObjectSchema } from "../text/JsonObjectSchema.ts"

/** A person's account at the identity provider (spec: Sessions), with the fields that its user may see. */
export const Identity = Schema.Struct({
  /** UUID. */
  id: Schema.String,
  state: Schema.Literals(["active", "inactive"]),
  schema_id: Schema.String,
  traits: JsonObjectSchema,
  metadata_public: JsonObjectSchema,
  /** E-mail addresses, and whether the identity provider has verified them. */
  addresses: Schema.Array(Schema.Struct({ value: Schema.String, verified: Schema.Boolean })),
  created_at: Schema.NullOr(Schema.String),
  updated_at: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Identity" })
export type Identity = typeof Identity.Type

/**
 * The proof of a session that a browser or app sends. `Token`: cookie `svc_session`, a session token of the identity
 * provider. `Cookie`: the identity provider's own cookie `idp_session`, its raw value. Only one of them is ever sent
 * upstream.
 */
export type Credential =
  | { readonly _tag: "Token"; readonly value: Redacted.Redacted }
  | { readonly _tag: "Cookie"; readonly value: Redacted.Redacted }

/** A browser or app that may have a session. */
export interface Browser {
  /** At most one credential of each kind, in the order in which they are tried; empty without a session cookie. */
  readonly credentials: ReadonlyArray<Credential>
  /** The URL to which a browser returns after a step-up at the identity provider; undefined: the provider's default. */
  readonly returnTo: string | undefined
}

/** Authenticator assurance level: aal2 once a second factor was used. */
const aal = Schema.Literals(["aal1", "aal2"])

/** ISO 8601. */
const times = { authenticated_at: Schema.String, issued_at: Schema.String, expires_at: Schema.String }

/** A valid session at the identity provider. `id` is a UUID. */
export const IdentitySession = Schema.Struct({
  id: Schema.String,
  aal,
  methods: Schema.Array(Schema.String),
  ...times,
  identity: Identity
}).annotate({ identifier: "Session" })
export type IdentitySession = typeof IdentitySession.Type

/** One of an identity's sessions, for account pages. */
export const SessionSummary = Schema.Struct({
  id: Schema.String,
  current: Schema.Boolean,
  aal,
  ...times,
  devices: Schema.Array(
    Schema.Struct({
      ip_address: Schema.NullOr(Schema.String),
      user_agent: Schema.NullOr(Schema.String),
      location: Schema.NullOr(Schema.String)
    })
  )
})
export type SessionSummary = typeof SessionSummary.Type

/** A factor with which a person can sign in, without its secrets. Times are null if they are not recorded. */
export const SignInFactor = Schema.Struct({
  type: Schema.Literals(["password", "passkey", "webauthn", "provider", "totp", "recovery_codes"]),
  /** The key's id in base64url, or the provider of a linked account. */
  id: Schema.NullOr(Schema.String),
  /** The name of a key, or of the account at a provider. */
  name: Schema.NullOr(Schema.String),
  /** How many recovery codes were not used; null for other types. */
  unused: Schema.NullOr(Schema.Int),
  created_at: Schema.NullOr(Schema.String),
  last_used_at: Schema.NullOr(Schema.String)
}).annotate({ identifier: "SignInFactor" })
export type SignInFactor = typeof SignInFactor.Type

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
  const { addresses, id, metadata_public, state, traits } = identity
  if (state !== "active") return "other"
  if (metadata_public["svc_role"] === "admin" || admins.has(id.toLowerCase())) return "admin"
  const matching = addresses.filter(({ value }) => admins.has(value.toLowerCase()))
  if (matching.some(({ verified }) => verified)) return "admin"
  const claimed = typeof traits["email"] === "string" && admins.has(traits["email"].toLowerCase())
  return matching.length > 0 || claimed ? "unverified" : "other"
}
