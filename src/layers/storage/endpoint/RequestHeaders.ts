import { type IncomingMessage, type ServerResponse } from "node:http"
import { algorithms, checksumHeader } from "./Checksums.ts"
import { s3Error } from "./Error.ts"
import { ownerAccount } from "./policy/Document.ts"

/** The minimum speed of a sender. */
interface BodyTimeouts {
  /** The maximum wait for the next byte, in ms. */
  readonly idle: number
  /** At least `bytes` must arrive in every `window` milliseconds of waiting. */
  readonly window: number
  readonly bytes: number
}

const defaultTimeouts: BodyTimeouts = { idle: 20_000, window: 60_000, bytes: 16 * 1024 }

/**
 * The body of a request as it arrives. Sends 100 Continue when reading starts, and leaves the connection open if the
 * body is not read to its end, so that a response can be sent. Throws RequestTimeout if the sender is too slow and
 * IncompleteBody if it disconnects.
 */
export const requestBody = (
  message: IncomingMessage,
  response: ServerResponse,
  timeouts = defaultTimeouts
): AsyncIterable<Buffer> => ({
  async *[Symbol.asyncIterator]() {
    let wake: (() => void) | undefined
    let failed: Error | undefined
    let waiting: number | undefined
    let waited = 0
    let received = 0
    const signal = () => wake?.()
    const onClose = () => {
      if (!message.complete) failed ??= s3Error("IncompleteBody")
      signal()
    }
    const timer = setInterval(
      () => {
        if (waiting === undefined) return
        const now = performance.now()
        const idle = now - waiting
        const window = waited + idle
        if (idle > timeouts.idle || (window > timeouts.window && received < timeouts.bytes)) {
          failed ??= s3Error("RequestTimeout")
          signal()
        } else if (window > timeouts.window) {
          waited = -idle
          received = 0
        }
      },
      Math.min(1000, timeouts.idle / 4)
    )
    message.on("readable", signal).on("end", signal).on("close", onClose).on("error", onClose)
    try {
      if (expectsContinue(message)) response.writeContinue()
      for (;;) {
        const chunk: Buffer | null = message.read()
        if (chunk !== null) {
          received += chunk.length
          yield chunk
          continue
        }
        if (message.readableEnded) return
        if (message.destroyed) onClose()
        if (failed !== undefined) throw failed
        waiting = performance.now()
        await new Promise<void>((resolve) => (wake = resolve))
        wake = undefined
        waited += performance.now() - waiting
        waiting = undefined
      }
    } finally {
      clearInterval(timer)
      message.off("readable", signal).off("end", signal).off("close", onClose).off("error", onClose)
    }
  }
})

const expectsContinue = (message: IncomingMessage) => message.headers.expect?.toLowerCase() === "100-continue"

/**
 * The headers of S3's API that each operation honours. A request with any other `x-amz-` header is refused, because its
 * sender relies on what the header asks for.
 */

/** Honoured on every request. */
const common = new Set([
  "x-amz-date",
  "x-amz-content-sha256",
  "x-amz-decoded-content-length",
  "x-amz-expected-bucket-owner",
  "x-amz-sdk-checksum-algorithm",
  "x-amz-trailer",
  // Every request is free of charge.
  "x-amz-request-payer",
  // These describe the sender.
  "x-amz-cf-id",
  "x-amz-user-agent"
])

/** The checksum of a body. */
export const bodyHeaders: ReadonlyArray<string> = algorithms.map(checksumHeader)

/** `x-amz-meta-` stands for all names that begin with it. */
export const newObjectHeaders: ReadonlyArray<string> = [
  "x-amz-acl",
  "x-amz-meta-",
  "x-amz-server-side-encryption",
  "x-amz-storage-class",
  "x-amz-tagging"
]

export const copySourceHeaders: ReadonlyArray<string> = [
  "x-amz-copy-source",
  "x-amz-copy-source-if-match",
  "x-amz-copy-source-if-modified-since",
  "x-amz-copy-source-if-none-match",
  "x-amz-copy-source-if-unmodified-since",
  "x-amz-source-expected-bucket-owner"
]

/** No object is locked, so there is nothing to bypass. */
export const removalHeaders: ReadonlyArray<string> = ["x-amz-bypass-governance-retention"]

/** RestoreStatus, the only attribute of listings, is that of archived objects, of which there are none. */
export const listingHeaders: ReadonlyArray<string> = ["x-amz-optional-object-attributes"]

/** Headers, or the fields of a form, by lower-case name. */
interface Given {
  readonly names: Iterable<string>
  readonly header: (name: string) => string | undefined
}

/**
 * Throws NotImplemented and similar errors for a header that is not honoured, AccessDenied for another bucket owner.
 * `encrypted`: whether the disk is.
 */
export const checkHeaders = ({ header, names }: Given, honoured: ReadonlyArray<string>, encrypted: boolean) => {
  for (const name of names) {
    if (!name.startsWith("x-amz-") || common.has(name) || honoured.includes(name)) continue
    if (name.startsWith("x-amz-meta-") && honoured.includes("x-amz-meta-")) continue
    if (name.startsWith("x-amz-checksum-") && !bodyHeaders.includes(name) && !described.has(name)) {
      throw s3Error("InvalidRequest", "The algorithm type you specified in x-amz-checksum- header is invalid.")
    }
    if (name.startsWith("x-amz-grant-")) throw s3Error("AccessControlListNotSupported")
    throw s3Error("NotImplemented", "A header you provided implies functionality that is not implemented", {
      Header: name
    })
  }
  checkEncryption(header("x-amz-server-side-encryption"), encrypted)
  for (const name of ["x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"]) {
    if ((header(name) ?? ownerAccount) !== ownerAccount) throw s3Error("AccessDenied", "Access Denied")
  }
}

/** Headers that begin like those of a checksum. */
const described = new Set(["x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"])

/** The endpoint does not encrypt by itself. Throws NotImplemented. */
export const checkEncryption = (algorithm: string | undefined, encrypted: boolean) => {
  if (algorithm === undefined || (algorithm === "AES256" && encrypted)) return
  throw s3Error(
    "NotImplemented",
    algorithm === "AES256"
      ? "This endpoint does not encrypt objects; set S3_EMBEDDED_ENCRYPTED if its disk is encrypted"
      : "The only server-side encryption is AES256",
    { Header: "x-amz-server-side-encryption" }
  )
}
