import { Schema } from "effect"
import { Model } from "effect/schema"
import { hash, randomBytes } from "node:crypto"
import { isStorable } from "../text/StorableText.ts"

export const KeyId = Schema.Int.pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

export const KeyType = Schema.Literals(["anon", "service_role"])
export type KeyType = typeof KeyType.Type

/** 0–100 characters that PostgreSQL can store. */
export const Label = Schema.String.check(Schema.isMaxCodePoints(100), isStorable)

/** Requests per minute, at least 1; null: unlimited. */
export const RateLimit = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_147_483_647 })))

const Timestamp = Model.Field({ select: Schema.DateTimeUtcFromDate, json: Schema.DateTimeUtcFromString })
const OptionalTimestamp = Model.Field({
  select: Schema.NullOr(Schema.DateTimeUtcFromDate),
  json: Schema.NullOr(Schema.DateTimeUtcFromString)
})

/** An API key as it is stored and returned (spec: API key). Only the SHA-256 of the raw key is stored. */
export class ApiKey extends Model.Class<ApiKey>("ApiKey")({
  id: Model.Field({ select: KeyId, json: KeyId }),
  key_type: KeyType,
  /** The first 12 characters of the raw key. */
  key_prefix: Schema.String,
  label: Schema.String,
  created_at: Timestamp,
  last_used_at: OptionalTimestamp,
  rate_limit: RateLimit,
  revoked_at: OptionalTimestamp
}) {}

const prefixes: Readonly<Record<KeyType, string>> = { anon: "svc_pk_", service_role: "svc_sk_" }

/** A new raw key: `svc_pk_` or `svc_sk_`, then 32 random bytes in base64url. */
export const makeRawKey = (type: KeyType) => prefixes[type] + randomBytes(32).toString("base64url")

export const prefixOf = (rawKey: string) => rawKey.slice(0, 12)

/** The SHA-256 of a raw key, in lower-case hex. */
export const keyHashOf = (rawKey: string) => hash("sha256", rawKey, "hex")

/** Whether a text has the form of a raw key; anything else needs no look-up. */
export const looksLikeKey = (text: string) => /^svc_[ps]k_[A-Za-z0-9_-]{43}$/.test(text)
