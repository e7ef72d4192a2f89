import { Schema } from "effect"

/** The version of the layout; an archive of a newer one is refused. */
export const movingFormat = 1

/** The first bytes of an archive. */
export const movingMagic = "SVCMOVE1"

/** The first line after the magic, the only text that is not encrypted: how the key is derived from the passphrase. */
export const MovingHeader = Schema.Struct({
  format: Schema.Int,
  kdf: Schema.Literal("scrypt"),
  /** Base64 of 32 bytes. */
  salt: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/]{43}=$/)),
  /** Bounded, because the file may be made by an attacker. */
  cost: Schema.Int.check(Schema.isBetween({ minimum: 2 ** 14, maximum: 2 ** 20 }))
})
export type MovingHeader = typeof MovingHeader.Type

const Size = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Optional = Schema.NullOr(Schema.String)
const Texts = Schema.Record(Schema.String, Schema.String)

/** The parts of an archive in their order: what it is, files, roles, buckets with their objects, the database, the manifest. */
export const MovingPart = Schema.Union([
  Schema.Struct({
    part: Schema.Literal("installation"),
    id: Schema.String,
    created_at: Schema.String,
    version: Schema.String,
    /** The newest migration of the service's own tables; null: it has none. */
    migration: Schema.NullOr(Schema.Int),
    server_version: Schema.String,
    /** The login that owns the service's tables. */
    owner: Schema.String
  }),
  Schema.Struct({
    part: Schema.Literal("file"),
    name: Schema.Literals(["secrets.json", "keys.json", "settings.env"]),
    size: Size
  }),
  Schema.Struct({ part: Schema.Literal("roles"), size: Size }),
  Schema.Struct({
    part: Schema.Literal("bucket"),
    name: Schema.String,
    /** JSON of the policy, of the rules of CORS and of the life cycle. */
    policy: Optional,
    cors: Optional,
    lifecycle: Optional
  }),
  Schema.Struct({
    part: Schema.Literal("object"),
    bucket: Schema.String,
    key: Schema.String,
    size: Size,
    content_type: Optional,
    content_disposition: Optional,
    cache_control: Optional,
    content_encoding: Optional,
    content_language: Optional,
    expires: Optional,
    metadata: Texts,
    tags: Texts
  }),
  Schema.Struct({ part: Schema.Literal("database"), size: Size }),
  Schema.Struct({
    part: Schema.Literal("manifest"),
    /** Parts before this one, of them objects, and bytes of their bodies. */
    parts: Size,
    objects: Size,
    bytes: Size,
    /** SHA-256 of all heads and of the digests of all bodies before it, in hexadecimal. */
    digest: Schema.String
  })
])
export type MovingPart = typeof MovingPart.Type
export type MovedObject = Extract<MovingPart, { readonly part: "object" }>
export type MovedInstallation = Extract<MovingPart, { readonly part: "installation" }>
export type MovingManifest = Extract<MovingPart, { readonly part: "manifest" }>

/** Bytes of the body that follows a head. */
export const bodySize = (part: MovingPart): number => ("size" in part ? part.size : 0)
