import { createHash } from "node:crypto"
import { type Effect } from "effect"
import { loopTurn } from "../../../services/LoopTurn.ts"
import {
  type Algorithm,
  checksumHeader,
  type Hasher,
  isChecksum,
  makeHasher,
  namedAlgorithm,
  parseAlgorithm,
  sentChecksum
} from "./Checksums.ts"
import { type S3Error, s3Error } from "./Error.ts"
import { tryS3Promise, type S3Request } from "./Request.ts"
import { type Signer } from "./signature/SigV4.ts"
import { ChunkDecoder } from "./signature/Chunks.ts"
import { type Checksum } from "./store/Model.ts"

/** The maximum size of one request's body. */
export const maximumPut = 5 * 1024 ** 3
/** The limits of an XML or JSON document: reading its tags is what takes time. */
const documentLimits = {
  owner: { bytes: 2 * 1024 ** 2, tags: 100_000 },
  anonymous: { bytes: 256 * 1024, tags: 5000 }
}

/** Documents of more tags take milliseconds to parse. */
const manyTags = 500

/** A request's body, with the chunked encoding removed. */
export interface S3Payload {
  readonly size: number
  /** Can be read once. Throws an S3Error at its end if the bytes don't match the headers and signatures. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** Available after `bytes` has ended: the checksum that was sent, or computed because of `defaultAlgorithm`. */
  readonly checksum: () => Checksum | undefined
  readonly by: "owner" | "anonymous"
  /** The sender's address. */
  readonly address: string
  /** Content-MD5 in hex. Not verified here: the caller computes the MD5 of `bytes` anyway. */
  readonly md5: string | undefined
}

export interface PayloadOptions {
  /** The checksum to compute if none is sent. */
  readonly algorithm?: Algorithm | undefined
  /** The subject of the headers x-amz-checksum-…; default `body`. A trailer always describes the body. */
  readonly checksumOf?: "body" | "object"
}

/** Validates all headers about the body before it is read. Throws S3Errors. */
export const s3PayloadOf = (
  request: S3Request,
  caller: Signer,
  body: AsyncIterable<Buffer>,
  options: PayloadOptions = {}
): S3Payload => {
  const encoding = bodyEncoding(request, caller)
  const size = encoding.chunked ? decodedLength(request) : contentLength(request)
  if (size > maximumPut) throw tooLarge(size)
  const md5 = contentMd5(request)
  const ofObject = options.checksumOf === "object"
  const expected = (ofObject ? undefined : headerChecksum(request, size)) ?? trailerChecksum(request, encoding.trailer)
  if (expected === undefined && !ofObject) checkAnnounced(request)
  const algorithm = expected?.algorithm ?? options.algorithm
  let checksum: Checksum | undefined
  const bytes = async function* () {
    const hash = encoding.sha256 === undefined ? undefined : createHash("sha256")
    const hasher: Hasher | undefined = algorithm === undefined ? undefined : makeHasher(algorithm)
    const decoder = encoding.chunked
      ? new ChunkDecoder(encoding.signed && caller?.version === "AWS4-HMAC-SHA256" ? caller : undefined)
      : undefined
    let received = 0
    for await (const chunk of body) {
      for (const data of decoder === undefined ? [chunk] : decoder.write(chunk)) {
        received += data.length
        if (received > size) throw s3Error("IncompleteBody", "The request body is longer than the headers announce")
        hash?.update(data)
        hasher?.update(data)
        yield data
      }
    }
    const trailers = decoder?.finish(encoding.trailer)
    if (received !== size) throw s3Error("IncompleteBody")
    if (hash !== undefined && hash.digest("hex") !== encoding.sha256) throw s3Error("XAmzContentSHA256Mismatch")
    if (hasher === undefined || algorithm === undefined) return
    const value = await hasher.value()
    const expectedValue = expected === undefined ? value : (expected.value ?? trailers?.get(checksumHeader(algorithm)))
    if (expectedValue === undefined || !isChecksum(algorithm, expectedValue)) throw invalidChecksum(algorithm)
    if (expectedValue !== value) {
      throw s3Error("BadDigest", `The ${algorithm} you specified did not match the calculated checksum.`)
    }
    checksum = { algorithm, value, type: "FULL_OBJECT" }
  }
  const by = caller === undefined ? "anonymous" : "owner"
  const address = request.message.socket.remoteAddress ?? ""
  return { size, bytes: bytes(), checksum: () => checksum, by, address, md5 }
}

interface BodyEncoding {
  readonly chunked: boolean
  /** Whether each chunk is signed. */
  readonly signed: boolean
  readonly trailer: boolean
  /** The expected hash of the whole body, in hex. */
  readonly sha256: string | undefined
}

const bodyEncoding = (request: S3Request, caller: Signer): BodyEncoding => {
  const plain = { chunked: false, signed: false, trailer: false, sha256: undefined }
  const given = request.header("x-amz-content-sha256")
  // No hash was promised: only the framing can be checked.
  if (given === undefined || given === "UNSIGNED-PAYLOAD") return plain
  if (/^[0-9a-f]{64}$/i.test(given)) return { ...plain, sha256: given.toLowerCase() }
  if (given === "STREAMING-UNSIGNED-PAYLOAD-TRAILER") return { ...plain, chunked: true, trailer: true }
  if (given.startsWith("STREAMING-AWS4-HMAC-SHA256-PAYLOAD") && caller?.by === "header") {
    if (given === "STREAMING-AWS4-HMAC-SHA256-PAYLOAD") return { ...plain, chunked: true, signed: true }
    if (given.endsWith("PAYLOAD-TRAILER")) return { ...plain, chunked: true, signed: true, trailer: true }
  }
  if (given.startsWith("STREAMING-AWS4-ECDSA-P256-SHA256")) throw s3Error("NotImplemented")
  throw s3Error(
    "InvalidArgument",
    "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 value."
  )
}

const contentLength = ({ key, message, method }: S3Request) => {
  if (message.headers["transfer-encoding"] !== undefined) throw s3Error("MissingContentLength")
  const text = message.headers["content-length"]
  if (text === undefined && method === "PUT" && key !== "") throw s3Error("MissingContentLength")
  return Number(text ?? 0)
}

const decodedLength = (request: S3Request) => {
  const text = request.header("x-amz-decoded-content-length")
  if (text === undefined) throw s3Error("MissingContentLength")
  if (!/^\d{1,15}$/.test(text)) throw s3Error("InvalidArgument", "x-amz-decoded-content-length must be a number")
  return Number(text)
}

const contentMd5 = (request: S3Request) => {
  const text = request.header("content-md5")
  if (text === undefined) return undefined
  const bytes = Buffer.from(text, "base64")
  if (bytes.length !== 16 || bytes.toString("base64") !== text) {
    throw s3Error("InvalidDigest", "The Content-MD5 you specified was invalid.", { "Content-MD5": text })
  }
  return bytes.toString("hex")
}

/** Checksums of an empty body, which SDKs put into presigned URLs before the body is known. */
const emptyChecksums = new Set([
  "AAAAAA==",
  "AAAAAAAAAAA=",
  "2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
  "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
])

/** The checksum of the body in the headers. Throws InvalidRequest. */
const headerChecksum = (request: S3Request, size: number) => {
  const sent = sentChecksum(request.header)
  if (sent === undefined) return undefined
  const hoisted = request.message.headers[checksumHeader(sent.algorithm)] === undefined
  if (hoisted && size > 0 && emptyChecksums.has(sent.value)) return undefined
  if (!isChecksum(sent.algorithm, sent.value)) throw invalidChecksum(sent.algorithm)
  return sent
}

/** The algorithm of the checksum that follows in the trailer. Throws InvalidRequest. */
const trailerChecksum = (request: S3Request, trailer: boolean) => {
  const announced = request.header("x-amz-trailer")
  if (announced === undefined || announced.trim() === "") return undefined
  if (!trailer) {
    throw s3Error("InvalidRequest", "x-amz-trailer requires an x-amz-content-sha256 of the form STREAMING-*-TRAILER")
  }
  const algorithm = parseAlgorithm(announced.trim().toLowerCase().replace("x-amz-checksum-", ""))
  if (algorithm === undefined) {
    throw s3Error("InvalidRequest", "The value specified in the x-amz-trailer header is not supported")
  }
  return { algorithm, value: undefined }
}

/** Throws InvalidRequest if a checksum was announced that neither a header nor a trailer holds. */
const checkAnnounced = ({ message }: S3Request) => {
  const algorithm = namedAlgorithm(message.headers["x-amz-sdk-checksum-algorithm"]?.toString())
  // AWS's SDKs send an MD5 as Content-MD5.
  if (algorithm === undefined || (algorithm === "MD5" && message.headers["content-md5"] !== undefined)) return
  throw s3Error(
    "InvalidRequest",
    "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found."
  )
}

export const invalidChecksum = (algorithm: Algorithm) =>
  s3Error("InvalidRequest", `Value for ${checksumHeader(algorithm)} header is invalid.`)

const tooLarge = (size: number) =>
  s3Error("EntityTooLarge", undefined, { ProposedSize: String(size), MaxSizeAllowed: String(maximumPut) })

/** Throws BadDigest unless `found` matches Content-MD5. */
export const checkMd5 = ({ md5 }: S3Payload, found: string) => {
  if (md5 !== undefined && md5 !== found) {
    throw s3Error("BadDigest", "The Content-MD5 you specified did not match what we received.", {
      ExpectedDigest: md5,
      CalculatedDigest: found
    })
  }
}

/**
 * The whole body as text, within the limits of its sender. Fails with MaxMessageLengthExceeded, BadDigest and similar
 * errors. Senders of long documents take turns in parsing them.
 */
export const readDocument = (payload: S3Payload): Effect.Effect<string, S3Error> =>
  tryS3Promise(async () => {
    const limits = documentLimits[payload.by]
    const tooLong = (extra: Readonly<Record<string, string>>) => s3Error("MaxMessageLengthExceeded", undefined, extra)
    if (payload.size > limits.bytes) throw tooLong({ MaxMessageLengthBytes: String(limits.bytes) })
    const chunks: Array<Uint8Array> = []
    for await (const chunk of payload.bytes) chunks.push(chunk)
    const all = Buffer.concat(chunks)
    checkMd5(payload, createHash("md5").update(all).digest("hex"))
    let tags = 0
    for (let at = all.indexOf("<"); at !== -1; at = all.indexOf("<", at + 1)) {
      if (++tags > limits.tags) throw tooLong({ MaxMessageLengthTags: String(limits.tags) })
    }
    if (tags > manyTags) await loopTurn(payload.address)
    return all.toString("utf8")
  })
