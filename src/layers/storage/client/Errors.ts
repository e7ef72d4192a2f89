import { Data } from "effect"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable
} from "../../../domain/errors.ts"
import { type StoreError } from "../../../services/ports/ObjectStore.ts"

/**
 * A call that failed, before it is known what that means here. `code` is S3's, or one of ours for answers that never
 * came: `Timeout`, `Unreachable`. `status` is 0 for those.
 */
export class S3Failure extends Data.TaggedError("S3Failure")<{
  readonly code: string
  readonly status: number
  readonly message: string
}> {}

interface SdkError extends Error {
  readonly Code?: string
  readonly code?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

/** What the SDK throws. */
export const failureOf = (cause: unknown): S3Failure => {
  const error = cause as SdkError
  const status = error.$metadata?.httpStatusCode
  // The SDK says TimeoutError of a connection that was cut, too; that one has a code.
  if (error.name === "TimeoutError" && (error.code ?? "ETIMEDOUT") === "ETIMEDOUT") {
    return new S3Failure({ code: "Timeout", status: 0, message: error.message })
  }
  if (status === undefined) {
    const message = [error.code, error.message].filter((part) => part !== undefined && part !== "").join(": ")
    return new S3Failure({ code: "Unreachable", status: 0, message })
  }
  // An answer to HEAD has no body to read a code from: the name is then a guess of the SDK's.
  return new S3Failure({ code: error.Code ?? error.name, status, message: error.message })
}

/** What a call was about, for the texts of its errors. */
export interface About {
  readonly bucket?: string
  readonly key?: string
  readonly uploadId?: string
}

const quoted = (text: string | undefined) => `"${(text ?? "").slice(0, 200)}"`

const credentialCodes = new Set([
  "InvalidAccessKeyId",
  "SignatureDoesNotMatch",
  "InvalidToken",
  "ExpiredToken",
  "AuthorizationHeaderMalformed",
  "RequestTimeTooSkewed"
])

const notFound = (code: string, error: string) => new NotFound({ error, code })
const invalid = (code: string, error: string) => new InvalidRequest({ error, code })
const conflict = (code: string, error: string) => new Conflict({ error, code })
const busy = new Unavailable({ error: "The object store has too much to do", code: "STORE_BUSY", retry_after: 2 })

/** S3's codes that have a meaning of their own here. */
const meanings: Readonly<Record<string, (about: About, message: string) => StoreError>> = {
  NoSuchBucket: ({ bucket }) => notFound("BUCKET_NOT_FOUND", `There is no bucket ${quoted(bucket)}`),
  NoSuchKey: ({ key }) => notFound("OBJECT_NOT_FOUND", `There is no object ${quoted(key)}`),
  NoSuchUpload: () => notFound("UPLOAD_NOT_FOUND", "There is no such upload, or it is completed or aborted"),
  BucketAlreadyOwnedByYou: ({ bucket }) => conflict("BUCKET_EXISTS", `There is a bucket ${quoted(bucket)} already`),
  BucketAlreadyExists: ({ bucket }) => conflict("BUCKET_EXISTS", `Somebody has a bucket ${quoted(bucket)} already`),
  BucketNotEmpty: ({ bucket }) => conflict("BUCKET_NOT_EMPTY", `The bucket ${quoted(bucket)} is not empty`),
  OperationAborted: () => conflict("STORE_CONFLICT", "Another change of the bucket is under way: try again"),
  PreconditionFailed: ({ key }) => conflict("OBJECT_CHANGED", `The object ${quoted(key)} was changed meanwhile`),
  ConditionalRequestConflict: ({ key }) =>
    conflict("OBJECT_CHANGED", `The object ${quoted(key)} was changed meanwhile`),
  InvalidBucketName: () => invalid("STORE_REFUSED", "The object store does not take this bucket name"),
  MalformedPolicy: (_, message) => invalid("INVALID_POLICY", `The object store refuses the policy: ${message}`),
  InvalidPart: () => invalid("INVALID_PART", "A part is missing, or its ETag is not the one that its upload gave"),
  InvalidPartOrder: () => invalid("INVALID_PART_ORDER", "The parts are not in ascending order"),
  EntityTooSmall: () => invalid("PART_TOO_SMALL", "Every part but the last must have at least 5 MiB"),
  MetadataTooLarge: () => invalid("METADATA_TOO_LARGE", "The metadata is larger than the object store takes"),
  SlowDown: () => busy,
  TooManyRequests: () => busy,
  ServiceUnavailable: () => busy,
  AccessDenied: () =>
    new Forbidden({ error: "The object store does not allow this, to its owner either", code: "STORE_ACCESS_DENIED" }),
  NotImplemented: () =>
    new BadGateway({ error: "The object store does not know how to do this", code: "STORE_UNSUPPORTED" }),
  Timeout: () => new GatewayTimeout({ error: "The object store did not answer in time", code: "STORE_TIMEOUT" }),
  Unreachable: () => new BadGateway({ error: "The object store does not answer", code: "STORE_UNAVAILABLE" })
}

/** The failure in our words. */
export const meaningOf = ({ code, message, status }: S3Failure, about: About): StoreError => {
  const meaning = Object.hasOwn(meanings, code) ? meanings[code] : undefined
  if (meaning !== undefined) return meaning(about, message)
  if (credentialCodes.has(code)) {
    const error = "The object store refuses the credentials of this service"
    return new BadGateway({ error, code: "STORE_CREDENTIALS_REFUSED" })
  }
  if (status === 403) return meaningOf(new S3Failure({ code: "AccessDenied", status, message }), about)
  if (status >= 400 && status < 500) return invalid("STORE_REFUSED", `The object store refuses this: ${code}`)
  return new BadGateway({ error: "The object store failed", code: "STORE_UNAVAILABLE" })
}
