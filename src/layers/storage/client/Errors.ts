import { Data } from "effect"
import { type ErrorCode } from "../../../domain/codes/ErrorCode.ts"
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
 * A failed call to the store. `code` is S3's, or `Timeout` or `Unreachable` with status 0 when there was no response.
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

/** The failure that the SDK threw. */
export const storeFailureOf = (cause: unknown): S3Failure => {
  const error = cause as SdkError
  const status = error.$metadata?.httpStatusCode
  // The SDK also throws TimeoutError for a connection that was reset; that one has a code.
  if (error.name === "TimeoutError" && (error.code ?? "ETIMEDOUT") === "ETIMEDOUT") {
    return new S3Failure({ code: "Timeout", status: 0, message: error.message })
  }
  if (status === undefined) {
    const message = [error.code, error.message].filter((part) => part !== undefined && part !== "").join(": ")
    return new S3Failure({ code: "Unreachable", status: 0, message })
  }
  // A response to HEAD has no body with a code: the name is then the SDK's guess.
  return new S3Failure({ code: error.Code ?? error.name, status, message: error.message })
}

/** The subject of a call, for the texts of its errors. */
export interface Subject {
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

const notFound = (code: ErrorCode, error: string) => new NotFound({ error, code })
const invalid = (code: ErrorCode, error: string) => new InvalidRequest({ error, code })
const conflict = (code: ErrorCode, error: string) => new Conflict({ error, code })
const busy = new Unavailable({
  error: "The object store is overloaded; retry later",
  code: "STORE_BUSY",
  retry_after: 2
})
const full = new Unavailable({
  error: "The object store's disk is full",
  code: "STORE_NO_SPACE",
  hint: "Free some space, for example by deleting objects; reads still work",
  retry_after: 10
})

/** The API's errors by S3's codes. */
const storeErrors: Readonly<Record<string, (subject: Subject, message: string) => StoreError>> = {
  NoSuchBucket: ({ bucket }) => notFound("BUCKET_NOT_FOUND", `The bucket ${quoted(bucket)} does not exist`),
  NoSuchKey: ({ key }) => notFound("OBJECT_NOT_FOUND", `The object ${quoted(key)} does not exist`),
  NoSuchUpload: () => notFound("UPLOAD_NOT_FOUND", "The upload does not exist, or was completed or aborted"),
  BucketAlreadyOwnedByYou: ({ bucket }) => conflict("BUCKET_EXISTS", `The bucket ${quoted(bucket)} already exists`),
  BucketAlreadyExists: ({ bucket }) =>
    conflict("BUCKET_EXISTS", `Another owner already has a bucket ${quoted(bucket)}`),
  BucketNotEmpty: ({ bucket }) => conflict("BUCKET_NOT_EMPTY", `The bucket ${quoted(bucket)} is not empty`),
  ObjectsNotKept: () =>
    new Conflict({
      error: "The object store does not keep the objects of that time",
      code: "OBJECTS_NOT_KEPT",
      hint: "The embedded store keeps them for SVC_PITR_KEEP, other stores in buckets with versioning (docs/storage.md)"
    }),
  OperationAborted: () => conflict("STORE_CONFLICT", "Another change to the bucket is in progress; try again"),
  PreconditionFailed: ({ key }) =>
    conflict("OBJECT_CHANGED", `The object ${quoted(key)} was changed by another request; try again`),
  ConditionalRequestConflict: ({ key }) =>
    conflict("OBJECT_CHANGED", `The object ${quoted(key)} was changed by another request; try again`),
  InvalidBucketName: () => invalid("STORE_REFUSED", "The object store rejected the bucket name"),
  MalformedPolicy: (_, message) => invalid("INVALID_POLICY", `The object store rejected the policy: ${message}`),
  InvalidPart: () =>
    invalid("INVALID_PART", "A part is missing, or its ETag is not the one returned when it was uploaded"),
  InvalidPartOrder: () => invalid("INVALID_PART_ORDER", "The parts are not in ascending order"),
  EntityTooSmall: () => invalid("PART_TOO_SMALL", "Every part but the last must have at least 5 MiB"),
  MetadataTooLarge: () => invalid("METADATA_TOO_LARGE", "The metadata exceeds the object store's limit"),
  InvalidTag: (_, message) => invalid("INVALID_TAG", `The object store rejected the tags: ${message}`),
  InsufficientStorage: () => full,
  XMinioStorageFull: () => full,
  SlowDown: () => busy,
  TooManyRequests: () => busy,
  ServiceUnavailable: () => busy,
  AccessDenied: () =>
    new Forbidden({
      error: "The object store denied this, even for the owner's credentials",
      code: "STORE_ACCESS_DENIED"
    }),
  NotImplemented: () =>
    new BadGateway({ error: "The object store does not support this operation", code: "STORE_UNSUPPORTED" }),
  Timeout: () => new GatewayTimeout({ error: "The object store did not answer in time", code: "STORE_TIMEOUT" }),
  Unreachable: () => new BadGateway({ error: "The object store is unreachable", code: "STORE_UNAVAILABLE" })
}

/** The API's error for a failure. */
export const storeErrorOf = ({ code, message, status }: S3Failure, subject: Subject): StoreError => {
  const known = Object.hasOwn(storeErrors, code) ? storeErrors[code] : undefined
  if (known !== undefined) return known(subject, message)
  if (credentialCodes.has(code)) {
    const error = "The object store rejected the service's credentials"
    return new BadGateway({ error, code: "STORE_CREDENTIALS_REFUSED" })
  }
  // Stores have different codes for a full disk: RFC 4918 11.5.
  if (status === 507) return full
  if (status === 403) return storeErrorOf(new S3Failure({ code: "AccessDenied", status, message }), subject)
  if (status >= 400 && status < 500) return invalid("STORE_REFUSED", `The object store rejected the request: ${code}`)
  return new BadGateway({ error: "The object store failed", code: "STORE_UNAVAILABLE" })
}
