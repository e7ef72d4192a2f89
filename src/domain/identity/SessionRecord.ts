import { Schema } from "effect"
import { type Identity, type IdentitySession, type SessionSummary } from "./Identity.ts"
import { isoTime } from "../text/IsoTime.ts"
import { JsonObject } from "../text/JsonObject.ts"

/** An identity as the API returns it: without the fields that only administrators of the identity provider see. */
export const IdentityRecord = Schema.Struct({
  id: Schema.String,
  state: Schema.Literals(["active", "inactive"]),
  schema_id: Schema.String,
  traits: JsonObject,
  metadata_public: JsonObject,
  addresses: Schema.Array(Schema.Struct({ value: Schema.String, verified: Schema.Boolean })),
  created_at: Schema.NullOr(Schema.String),
  updated_at: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Identity" })
export type IdentityRecord = typeof IdentityRecord.Type

const Aal = Schema.Literals(["aal1", "aal2"])
const times = {
  authenticated_at: Schema.String,
  issued_at: Schema.String,
  expires_at: Schema.String
}

/** A valid session: its assurance level and the methods used to sign in. */
export const SessionRecord = Schema.Struct({
  id: Schema.String,
  aal: Aal,
  methods: Schema.Array(Schema.String),
  ...times,
  identity: IdentityRecord
}).annotate({ identifier: "Session" })
export type SessionRecord = typeof SessionRecord.Type

const Device = Schema.Struct({
  ip_address: Schema.NullOr(Schema.String),
  user_agent: Schema.NullOr(Schema.String),
  location: Schema.NullOr(Schema.String)
})

/** One of an identity's sessions, for account pages. */
export const SessionListRecord = Schema.Struct({
  id: Schema.String,
  current: Schema.Boolean,
  aal: Aal,
  ...times,
  devices: Schema.Array(Device)
})
export type SessionListRecord = typeof SessionListRecord.Type

export const identityRecord = (identity: Identity): IdentityRecord => ({
  id: identity.id,
  state: identity.state,
  schema_id: identity.schemaId,
  traits: identity.traits,
  metadata_public: identity.metadataPublic,
  addresses: identity.addresses.map(({ value, verified }) => ({ value, verified })),
  created_at: isoTime(identity.createdAt),
  updated_at: isoTime(identity.updatedAt)
})

const timesOf = ({ authenticatedAt, expiresAt, issuedAt }: IdentitySession | SessionSummary) => ({
  authenticated_at: isoTime(authenticatedAt),
  issued_at: isoTime(issuedAt),
  expires_at: isoTime(expiresAt)
})

export const sessionRecord = (session: IdentitySession): SessionRecord => ({
  id: session.id,
  aal: session.aal,
  methods: session.methods,
  ...timesOf(session),
  identity: identityRecord(session.identity)
})

export const sessionListRecord = (session: SessionSummary): SessionListRecord => ({
  id: session.id,
  current: session.current,
  aal: session.aal,
  ...timesOf(session),
  devices: session.devices.map(({ ipAddress, location, userAgent }) => ({
    ip_address: ipAddress,
    user_agent: userAgent,
    location
  }))
})
