import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { type IncomingMessage } from "node:http"
import { S3Error, s3Error } from "./Error.ts"

/** A request whose path names a bucket and a key. It is not authenticated yet. */
export interface S3Request {
  /** 16 hex digits, returned as x-amz-request-id. */
  readonly id: string
  readonly message: IncomingMessage
  readonly method: string
  /** The path as sent, without the query. */
  readonly path: string
  /** Empty if the path is `/`. */
  readonly bucket: string
  /** Empty for the bucket itself. */
  readonly key: string
  /** Decoded, in the order sent. */
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  /** The first parameter of this name. */
  readonly param: (name: string) => string | undefined
  /** The lower-case names that `header` accepts. */
  readonly headerNames: ReadonlyArray<string>
  /**
   * Returns a header by its lower-case name; `x-amz-…` parameters that signers move into the query of presigned URLs
   * count as headers.
   */
  readonly header: (name: string) => string | undefined
}

export const newRequestId = () => randomUUID().replaceAll("-", "").slice(16).toUpperCase()

/** Fails with InvalidURI. */
export const parseRequest = (message: IncomingMessage, id: string): S3Request => {
  const url = stripOrigin(message.url ?? "/")
  const mark = url.indexOf("?")
  const path = mark === -1 ? url : url.slice(0, mark)
  const query = parseQuery(mark === -1 ? "" : url.slice(mark + 1))
  const slash = path.indexOf("/", 1)
  const params = new Map<string, string>()
  for (const [name, value] of query) if (!params.has(name)) params.set(name, value)
  const hoisted = new Map<string, string>()
  if (params.has("X-Amz-Signature") || (params.has("Signature") && params.has("AWSAccessKeyId"))) {
    for (const [name, value] of params) {
      const lower = name.toLowerCase()
      if (lower.startsWith("x-amz-") && !signingParams.has(lower)) hoisted.set(lower, value)
    }
  }
  return {
    id,
    message,
    method: message.method ?? "",
    path,
    bucket: decode(slash === -1 ? path.slice(1) : path.slice(1, slash)),
    key: slash === -1 ? "" : decode(path.slice(slash + 1)),
    query,
    param: (name) => params.get(name),
    headerNames: [...new Set([...Object.keys(message.headers), ...hoisted.keys()])],
    header: (name) => {
      const value = message.headers[name]
      return Array.isArray(value) ? value.join(",") : (value ?? hoisted.get(name))
    }
  }
}

/** The parameters of a presigned URL's signature itself. */
const signingParams = new Set([
  "x-amz-algorithm",
  "x-amz-credential",
  "x-amz-date",
  "x-amz-expires",
  "x-amz-signedheaders",
  "x-amz-signature",
  "x-amz-security-token"
])

/** Proxies may send the absolute form of the request target. */
const stripOrigin = (url: string) => {
  if (url.startsWith("/")) return url
  const path = /^https?:\/\/[^/?]*(.*)$/i.exec(url)?.[1]
  if (path === undefined) throw s3Error("InvalidURI")
  return path.startsWith("/") ? path : `/${path}`
}

const decode = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw s3Error("InvalidURI", "The specified URI is not valid percent-encoded UTF-8.")
  }
}

/** Presigned URLs have one for each header and metadata name. */
const maximumParameters = 200

const parseQuery = (text: string): Array<readonly [string, string]> => {
  const pairs = text.split("&", maximumParameters + 1).filter((pair) => pair !== "")
  if (pairs.length > maximumParameters) {
    throw s3Error("InvalidURI", `The query has more than ${maximumParameters} parameters.`)
  }
  return pairs.map((pair) => {
    const equals = pair.indexOf("=")
    const part = (value: string) => decode(value.replaceAll("+", " "))
    return equals === -1 ? [part(pair), ""] : [part(pair.slice(0, equals)), part(pair.slice(equals + 1))]
  })
}

/** Runs a function that may throw an S3Error; anything else that it throws is a defect. */
export const tryS3 = <A>(run: () => A): Effect.Effect<A, S3Error> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(run())
    } catch (cause) {
      return refusalOf(cause)
    }
  })

/** Runs a promise that may reject with an S3Error; any other rejection is a defect. */
export const tryS3Promise = <A>(run: () => Promise<A>): Effect.Effect<A, S3Error> =>
  Effect.callback((resume) => {
    run().then(
      (value) => resume(Effect.succeed(value)),
      (cause: unknown) => resume(refusalOf(cause))
    )
  })

const refusalOf = (cause: unknown): Effect.Effect<never, S3Error> =>
  cause instanceof S3Error ? Effect.fail(cause) : Effect.die(cause)
