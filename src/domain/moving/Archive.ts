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
/** Of any S3 server: a name without a slash. */
const Bucket = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/))
const Texts = Schema.Record(Schema.String, Schema.String)

export const MovedInstallation = Schema.Struct({
  part: Schema.Literal("installation"),
  id: Schema.String,
  created_at: Schema.String,
  version: Schema.String,
  /** The newest migration of the service's own tables; null: it has none. */
  migration: Schema.NullOr(Schema.Int),
  server_version: Schema.String,
  /** The login that owns the service's tables. */
  owner: Schema.String
})
export type MovedInstallation = typeof MovedInstallation.Type

/** The parts of an archive in their order: what it is, files, roles, buckets with their objects, the database, the manifest. */
export const MovingPart = Schema.Union([
  MovedInstallation,
  Schema.Struct({
    part: Schema.Literal("file"),
    name: Schema.Literals(["secrets.json", "keys.json", "settings.env"]),
    size: Size
  }),
  Schema.Struct({ part: Schema.Literal("roles"), size: Size }),
  Schema.Struct({
    part: Schema.Literal("bucket"),
    name: Bucket,
    /** JSON of the policy, of the rules of CORS and of the life cycle. */
    policy: Optional,
    cors: Optional,
    lifecycle: Optional
  }),
  Schema.Struct({
    part: Schema.Literal("object"),
    bucket: Bucket,
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
    /** A chain of SHA-256 over the heads and the digests of the bodies of all parts before it, in hexadecimal. */
    digest: Schema.String
  })
])
export type MovingPart = typeof MovingPart.Type
export type MovedObject = Extract<MovingPart, { readonly part: "object" }>
export type MovingManifest = Extract<MovingPart, { readonly part: "manifest" }>

/** How far an archive is written: what the parts up to here amount to, and the part in which the last segment ends. */
export const MovingPosition = Schema.Struct({
  parts: Size,
  objects: Size,
  bytes: Size,
  digest: Schema.String,
  /** The last complete part. */
  after: Schema.NullOr(MovingPart),
  /** Its bytes that are written, head included, and the SHA-256 of the bytes of its body among them. */
  open: Schema.NullOr(Schema.Struct({ head: MovingPart, offset: Size, digest: Schema.String }))
})
export type MovingPosition = typeof MovingPosition.Type

/** Bytes of the body that follows a head. */
export const bodySize = (part: MovingPart): number => ("size" in part ? part.size : 0)
