import { createHash, type Hash } from "node:crypto"
import { s3Error } from "../Error.ts"
import { type SignedV4 } from "./SigV4.ts"
import { emptyHash, hmac, sameSignature, sha256 } from "./Signing.ts"

const maximumLine = 1024
const maximumTrailer = 16 * 1024
const newline = 10

/**
 * Decodes S3's `aws-chunked` encoding: `<hex size>[;chunk-signature=…]\r\n<bytes>\r\n`, a chunk of size 0, trailers.
 * With `signed` it verifies the chain of signatures; data is yielded before its signature is verified, so it must not be
 * used before `finish`. Throws S3Errors.
 */
export class ChunkDecoder {
  private state: "line" | "data" | "after" | "trailer" = "line"
  private rest = Buffer.alloc(0)
  /** Remaining bytes of the current chunk, or of the line end after it. */
  private left = 0
  private given = ""
  private hash: Hash | undefined
  private previous: string
  private readonly signed: SignedV4 | undefined

  constructor(signed: SignedV4 | undefined) {
    this.signed = signed
    this.previous = signed?.signature ?? ""
  }

  /** The data in the next bytes of the body, without copying. */
  *write(input: Buffer): Generator<Buffer> {
    let at = 0
    while (at < input.length) {
      if (this.state === "data") {
        const data = input.subarray(at, at + this.left)
        this.hash?.update(data)
        this.left -= data.length
        at += data.length
        yield data
        if (this.left === 0) this.endChunk()
      } else if (this.state === "after") {
        const expected = this.left === 2 ? 13 : newline
        if (input[at] !== expected) throw malformed()
        at++
        if (--this.left === 0) this.state = "line"
      } else if (this.state === "trailer") {
        this.keep(input.subarray(at), maximumTrailer)
        at = input.length
      } else {
        const end = input.indexOf(newline, at)
        this.keep(input.subarray(at, end === -1 ? input.length : end), maximumLine)
        at = end === -1 ? input.length : end + 1
        if (end !== -1) this.startChunk()
      }
    }
  }

  private keep(bytes: Buffer, maximum: number) {
    if (this.rest.length + bytes.length > maximum) throw malformed()
    this.rest = Buffer.concat([this.rest, bytes])
  }

  private startChunk() {
    const match = /^([0-9a-f]{1,13})(?:;chunk-signature=([0-9a-f]{64}))?\r$/i.exec(this.rest.toString("latin1"))
    if (match === null || (this.signed !== undefined && match[2] === undefined)) throw malformed()
    this.rest = Buffer.alloc(0)
    this.left = Number.parseInt(match[1] ?? "", 16)
    this.given = match[2] ?? ""
    if (this.left === 0) {
      this.check(emptyHash)
      this.state = "trailer"
    } else {
      this.hash = this.signed === undefined ? undefined : createHash("sha256")
      this.state = "data"
    }
  }

  private endChunk() {
    if (this.hash !== undefined) this.check(this.hash.digest("hex"))
    this.left = 2
    this.state = "after"
  }

  private check(hash: string) {
    if (this.signed === undefined) return
    const { key, scope, timestamp } = this.signed
    const text = ["AWS4-HMAC-SHA256-PAYLOAD", timestamp, scope, this.previous, emptyHash, hash].join("\n")
    if (!sameSignature(hmac(key, text).digest("hex"), this.given)) throw s3Error("SignatureDoesNotMatch")
    this.previous = this.given
  }

  /** Ends the body and returns its trailers by lower-case name. With `signedTrailer` they must be signed as well. */
  finish(signedTrailer: boolean): ReadonlyMap<string, string> {
    if (this.state !== "trailer") throw s3Error("IncompleteBody", "The request body terminated unexpectedly")
    const trailers = new Map<string, string>()
    for (const line of this.rest.toString("latin1").split("\n")) {
      const colon = line.indexOf(":")
      if (colon > 0) trailers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
      else if (line.trim() !== "") throw malformed()
    }
    const signature = trailers.get("x-amz-trailer-signature")
    trailers.delete("x-amz-trailer-signature")
    if (signedTrailer && this.signed !== undefined) {
      const { key, scope, timestamp } = this.signed
      const canonical = [...trailers].map(([name, value]) => `${name}:${value}\n`).join("")
      const hash = sha256(Buffer.from(canonical, "latin1"))
      const text = ["AWS4-HMAC-SHA256-TRAILER", timestamp, scope, this.previous, hash].join("\n")
      if (!sameSignature(hmac(key, text).digest("hex"), signature ?? "")) throw s3Error("SignatureDoesNotMatch")
    }
    return trailers
  }
}

const malformed = () => s3Error("InvalidRequest", "The body is not well-formed aws-chunked data")
