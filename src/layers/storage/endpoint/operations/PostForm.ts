import { s3Error } from "../Error.ts"
import { tryS3Promise } from "../Request.ts"

/** Maximum bytes of everything but the file, before it and after it. */
const maximumFields = 20 * 1024
/** Maximum bytes of the headers of one part. */
const maximumHeaders = 4 * 1024
const maximumParts = 100

/** An HTML form (multipart/form-data, RFC 7578): its fields, then a file. */
export interface PostForm {
  /** The fields before the file by lower-case name; of duplicates the first. */
  readonly fields: ReadonlyMap<string, string>
  readonly filename: string
  /** The file's bytes. Throws S3Errors, such as MalformedPOSTRequest for a truncated form. */
  readonly bytes: AsyncIterable<Uint8Array>
}

const malformed = (why?: string) => s3Error("MalformedPOSTRequest", why)

/** Reads a form up to the start of its file. Fails with MalformedPOSTRequest and similar errors. */
export const readForm = (contentType: string, body: AsyncIterable<Buffer>) =>
  tryS3Promise(() => open(contentType, body))

/** RFC 2046 allows 70 characters. Throws MalformedPOSTRequest. */
const boundaryOf = (contentType: string) => {
  const parameter = /;\s?boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))(?:\s?;|$)/i.exec(contentType.slice(0, 1024))
  const boundary = parameter?.[1] ?? parameter?.[2]
  if (boundary === undefined) throw malformed("The Content-Type has no boundary of 1 to 70 characters.")
  return boundary
}

const open = async (contentType: string, body: AsyncIterable<Buffer>): Promise<PostForm> => {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`, "latin1")
  const reader = new FormReader(body)
  const fields = new Map<string, string>()
  await reader.until(delimiter, maximumFields)
  for (let parts = 0; parts < maximumParts; parts++) {
    const part = await nextPart(reader)
    if (part === undefined) {
      throw s3Error("InvalidArgument", "POST requires exactly one file upload per request.", { ArgumentName: "file" })
    }
    if (part.name === "file") {
      return { fields, filename: part.filename, bytes: fileBytes(reader, delimiter) }
    }
    const value = (await reader.until(delimiter, maximumFields)).toString("utf8")
    if (part.name !== undefined && !fields.has(part.name)) fields.set(part.name, value)
  }
  throw malformed(`The form has more than ${maximumParts} fields.`)
}

interface Part {
  /** The name in lower case; undefined for a part that is no field of a form. */
  readonly name: string | undefined
  readonly filename: string
}

/** The headers of the next part, after a delimiter; undefined after the last one. */
const nextPart = async (reader: FormReader): Promise<Part | undefined> => {
  if (await reader.startsWith("--")) return undefined
  const [padding = "", ...headers] = (await reader.until(headersEnd, maximumHeaders)).toString("utf8").split("\r\n")
  if (padding.trim() !== "") throw malformed()
  const disposition = headers.find((header) => /^content-disposition:/i.test(header)) ?? ""
  const found = new Map<string, string>()
  for (const [, name = "", quoted, plain] of disposition.matchAll(parameters)) {
    found.set(name.toLowerCase(), quoted?.replaceAll(/\\(["\\])/g, "$1") ?? plain ?? "")
  }
  return {
    name: found.get("name")?.toLowerCase(),
    // Some browsers send the file's whole path.
    filename: found.get("filename")?.replace(/^.*[/\\]/s, "") ?? ""
  }
}

const headersEnd = Buffer.from("\r\n\r\n")
const parameters = /;\s?([^=;\s"]+)=(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))/g

/** The bytes up to the delimiter. Fields after the file are ignored, but the form must be complete. */
const fileBytes = async function* (reader: FormReader, delimiter: Buffer) {
  yield* reader.through(delimiter)
  reader.refill()
  while ((await nextPart(reader)) !== undefined) await reader.until(delimiter, maximumFields)
}

/** Reads a body up to strings of bytes. Throws MalformedPOSTRequest at its end. */
class FormReader {
  private readonly body: AsyncIterator<Buffer>
  // The first delimiter of a form has no line end before it.
  private rest = Buffer.from("\r\n")
  private left = maximumFields

  constructor(body: AsyncIterable<Buffer>) {
    this.body = body[Symbol.asyncIterator]()
  }

  /** Allows another `maximumFields` bytes outside the file. */
  refill() {
    this.left = maximumFields
  }

  async startsWith(text: string) {
    while (this.rest.length < text.length) this.rest = Buffer.concat([this.rest, await this.next()])
    return this.rest.toString("latin1", 0, text.length) === text
  }

  /** The bytes before `end`, at most `maximum`. */
  async until(end: Buffer, maximum: number): Promise<Buffer> {
    for (let from = 0; ;) {
      const found = this.rest.indexOf(end, from)
      const size = found === -1 ? this.rest.length - end.length : found
      if (size > maximum || size > this.left) {
        throw s3Error("MaxMessageLengthExceeded", "The form's fields exceed the maximum allowed size", {
          MaxMessageLengthBytes: String(maximumFields)
        })
      }
      if (found !== -1) {
        const bytes = this.rest.subarray(0, found)
        this.rest = this.rest.subarray(found + end.length)
        this.left -= found + end.length
        return bytes
      }
      from = Math.max(0, size + 1)
      this.rest = Buffer.concat([this.rest, await this.next()])
    }
  }

  /** The bytes before `end` as a stream of any length. */
  async *through(end: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const found = this.rest.indexOf(end)
      const size = found === -1 ? this.rest.length - end.length + 1 : found
      if (size > 0) yield this.rest.subarray(0, size)
      this.rest = this.rest.subarray(found === -1 ? Math.max(0, size) : found + end.length)
      if (found !== -1) return
      this.rest = Buffer.concat([this.rest, await this.next()])
    }
  }

  private async next(): Promise<Buffer> {
    const { done, value } = await this.body.next()
    if (done === true) throw malformed()
    return value
  }
}
