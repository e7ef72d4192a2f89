import { type Effect, type Scope } from "effect"
import { type Readable } from "node:stream"
import { type Algorithm } from "./Checksums.ts"
import { type Payload } from "./Payload.ts"
import { type S3Error, s3Error } from "./Error.ts"
import { type S3Request } from "./Request.ts"
import { type Caller, type Owner } from "./signature/SigV4.ts"
import { type BucketInfo, type Store } from "./store/Model.ts"
import { xmlDocument, type XmlElements } from "./Xml.ts"

/** One request on its way through an operation. */
export interface Exchange {
  readonly request: S3Request
  readonly caller: Caller
  readonly store: Store
  readonly settings: S3Settings
  /** Undefined when there is none of that name. */
  readonly bucketInfo: BucketInfo | undefined
  /** The bytes that came with it; throws an S3Error when the headers are wrong. `own`: see `payloadOf`. */
  readonly payload: (own?: Algorithm) => Payload
  /** As they come. */
  readonly rawBody: AsyncIterable<Buffer>
}

export interface S3Settings {
  readonly owner: Owner
  readonly region: string
}

/** What is answered. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A stream is opened only to be sent, and has as many bytes as Content-Length says. */
  readonly body?: string | (() => Readable) | undefined
}

export interface Operation {
  /** What the bucket's policy knows it as; undefined when only the owner may do it. */
  readonly action: string | undefined
  readonly run: (exchange: Exchange) => Effect.Effect<Reply, S3Error, Scope.Scope>
}

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

/** An integer parameter, `fallback` when absent; anything over `maximum` counts as that. Throws InvalidArgument. */
export const limitParam = ({ param }: S3Request, name: string, maximum: number, fallback = maximum) => {
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

/** Undefined, or what encodes names as `encoding-type=url` asks. Throws InvalidArgument. */
export const encodingOf = ({ param }: S3Request) => {
  const type = param("encoding-type")
  if (type === undefined || type === "") return { type: undefined, encode: (name: string) => name }
  if (type !== "url") throw s3Error("InvalidArgument", "Invalid Encoding Method specified in Request")
  // As S3's own: slashes stay, a space is a plus.
  return {
    type,
    encode: (name: string) =>
      encodeURIComponent(name)
        .replaceAll("%2F", "/")
        .replaceAll("%20", "+")
        .replaceAll(/[!'()~]/g, escapeOne)
  }
}

const escapeOne = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

export const ownerXml = { ID: "svc", DisplayName: "svc" }
