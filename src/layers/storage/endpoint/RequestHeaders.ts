import { s3Error } from "./Error.ts"
import { checksumHeader, algorithms } from "./Checksums.ts"
import { ownerAccount } from "./policy/Document.ts"

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
