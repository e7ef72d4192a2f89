import { Effect, type Scope } from "effect"
import { type Readable } from "node:stream"
import { percentEncode } from "../../../domain/text/UriText.ts"
import { momentParameter } from "../Address.ts"
import { type S3Payload, type PayloadOptions } from "./Payload.ts"
import { type S3Error, s3Error } from "./Error.ts"
import { type S3Request } from "./Request.ts"
import { type Signer, type StoreOwner } from "./signature/SigV4.ts"
import { type BucketInfo, type LocalStore, type ObjectInfo } from "./store/Model.ts"
import { xmlDocument, type XmlElements } from "./Xml.ts"

/** A request with everything that operations need to answer it. */
export interface Exchange {
  readonly request: S3Request
  readonly caller: Signer
  readonly store: LocalStore
  readonly settings: S3Settings
  /** The time whose objects are read, in ms; undefined: those of now. */
  readonly at: number | undefined
  /** Undefined if the bucket does not exist. */
  readonly bucketInfo: BucketInfo | undefined
  /** The decoded body; throws an S3Error if the headers are invalid. */
  readonly payload: (options?: PayloadOptions) => S3Payload
  /** The body as received. */
  readonly rawBody: AsyncIterable<Buffer>
}

export interface S3Settings {
  readonly owner: StoreOwner
  readonly region: string
  /** Whether the operator declares that the disk of the objects is encrypted. */
  readonly encrypted: boolean
  /** Whether a page's origin is the service's own, for clients that reach the endpoint at `host`. */
  readonly isOwnPage: (origin: string, host: string) => boolean
  /** A bucket that only requests with this header may use or find. */
  readonly hidden?: { readonly bucket: string; readonly header: { readonly name: string; readonly value: string } }
}

/** The bucket that a request may not use, if there is one. */
export const hiddenFrom = ({ header }: S3Request, { hidden }: S3Settings) =>
  hidden === undefined || header(hidden.header.name) === hidden.header.value ? undefined : hidden.bucket

/** A response. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A stream is only opened to be sent, and must have as many bytes as Content-Length. */
  readonly body?: string | (() => Readable) | undefined
}

export interface S3Operation {
  /** The action in bucket policies; undefined if only the owner is allowed. `anyone`: the operation authorizes itself. */
  readonly action: string | undefined
  /** The action with a `versionId` in the query; default `action`. */
  readonly versionAction?: string
  /** The `x-amz-` headers that the operation supports in addition to those of every request; default none. */
  readonly headers?: ReadonlyArray<string>
  /** Whether it can read the objects of an earlier time. */
  readonly past?: true
  /** Whether it reads or writes the bytes of objects. */
  readonly onBytes?: true
  readonly run: (exchange: Exchange) => Effect.Effect<Reply, S3Error, Scope.Scope>
}

/**
 * The time whose objects the owner asks for, in ms. It is in the query, all of which a signature of version 4 covers. Throws
 * AccessDenied to others, and InvalidArgument.
 */
export const momentOf = ({ param }: S3Request, caller: Signer): number | undefined => {
  const text = param(momentParameter)
  if (text === undefined) return undefined
  if (caller?.version !== "AWS4-HMAC-SHA256") {
    throw s3Error("AccessDenied", "Only requests signed with AWS4-HMAC-SHA256 can read the objects of an earlier time")
  }
  if (/^\d{1,15}$/.test(text) && param("versionId") === undefined) return Number(text)
  throw s3Error("InvalidArgument", "The time must be in milliseconds since 1970, without a version id", {
    ArgumentName: momentParameter,
    ArgumentValue: text.slice(0, 200)
  })
}

/** An object of the request's time, with its bytes. Fails with NoSuchKey, and as the store does for versions. */
export const openedObject = ({ at, request: { bucket, key }, store }: Exchange, version: string | undefined) =>
  at === undefined ? store.get(bucket, key, version) : store.history.get(bucket, key, at)

/** Like `openedObject`, without the bytes. */
export const foundObject = ({ at, request: { bucket, key }, store }: Exchange, version: string | undefined) =>
  at === undefined
    ? store.head(bucket, key, version)
    : Effect.map(store.history.get(bucket, key, at), ({ info }) => info)

/** The version that the query names. Throws InvalidArgument. */
export const versionParam = ({ param }: S3Request): string | undefined => {
  const version = param("versionId")
  if (version !== "") return version
  throw s3Error("InvalidArgument", "Version id cannot be the empty string", {
    ArgumentName: "versionId",
    ArgumentValue: ""
  })
}

/** The header with a version's id, in buckets that have or had versioning. */
export const versionHeader = (
  { bucketInfo }: Pick<Exchange, "bucketInfo">,
  { versionId }: Pick<ObjectInfo, "versionId">
): Readonly<Record<string, string>> =>
  versionId === undefined && bucketInfo?.versioning === undefined ? {} : { "x-amz-version-id": versionId ?? "null" }

export const emptyReply = (status: number, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  headers: status === 204 || status === 304 ? headers : { ...headers, "Content-Length": "0" }
})

export const xmlReply = (
  root: string,
  elements: XmlElements,
  headers: Readonly<Record<string, string>> = {}
): Reply => ({
  status: 200,
  headers: { ...headers, "Content-Type": "application/xml" },
  body: xmlDocument(root, elements)
})

/** An integer parameter, `fallback` if absent, capped at `maximum`. Throws InvalidArgument. */
export const limitParam = ({ param }: Pick<S3Request, "param">, name: string, maximum: number, fallback = maximum) => {
  const text = param(name)
  if (text === undefined || text === "") return fallback
  if (!/^\d{1,10}$/.test(text) || Number(text) > 2 ** 31 - 1) {
    throw s3Error("InvalidArgument", `Argument ${name} must be an integer between 0 and ${2 ** 31 - 1}`, {
      ArgumentName: name,
      ArgumentValue: text
    })
  }
  return Math.min(Number(text), maximum)
}

/** The encoding of names that `encoding-type` requests. Throws InvalidArgument. */
export const encodingOf = ({ param }: S3Request) => {
  const type = param("encoding-type")
  if (type === undefined || type === "") return { type: undefined, encode: (name: string) => name }
  if (type !== "url") throw s3Error("InvalidArgument", "Invalid Encoding Method specified in Request")
  // Slashes are kept and a space becomes a plus, as in S3.
  return {
    type,
    encode: (name: string) =>
      encodeURIComponent(name)
        .replaceAll("%2F", "/")
        .replaceAll("%20", "+")
        .replaceAll(/[!'()~]/g, percentEncode)
  }
}

export const ownerXml = { ID: "svc", DisplayName: "svc" }
