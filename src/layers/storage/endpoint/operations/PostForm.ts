import { Busboy } from "@fastify/busboy"
import { Effect } from "effect"
import { once } from "node:events"
import { type Readable } from "node:stream"
import { S3Error, s3Error } from "../Error.ts"
import { tryS3Promise } from "../Request.ts"

/** In bytes, of all fields before the file. */
const maximumFields = 20 * 1024

/** An HTML form: its fields, then a file. */
export interface PostForm {
  /** The fields before the file by lower-case name; of duplicates the first. */
  readonly fields: ReadonlyMap<string, string>
  readonly filename: string
  /** The file's bytes. Throws S3Errors, such as IncompleteBody for a truncated form. */
  readonly bytes: AsyncIterable<Uint8Array>
}

const malformed = (why?: string) => s3Error("MalformedPOSTRequest", why)

/** Reads a form up to the start of its file. Fails with MalformedPOSTRequest and similar errors. */
export const readForm = (contentType: string, body: AsyncIterable<Buffer>) =>
  Effect.gen(function* () {
    const stopped = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    )
    return yield* tryS3Promise(() => open(contentType, body, stopped.signal))
  })

const open = async (contentType: string, body: AsyncIterable<Buffer>, signal: AbortSignal): Promise<PostForm> => {
  const parser = makeParser(contentType)
  const fields = new Map<string, string>()
  let size = 0
  const opened = Promise.withResolvers<PostForm>()
  const ended = Promise.withResolvers<void>()
  for (const { promise } of [opened, ended]) promise.catch(() => undefined)
  const fail = (cause: unknown) => {
    const error = cause instanceof S3Error ? cause : malformed()
    opened.reject(error)
    ended.reject(error)
  }
  parser
    .on("field", (name, value, nameTruncated, valueTruncated) => {
      size += Buffer.byteLength(name) + Buffer.byteLength(value)
      if (size > maximumFields || nameTruncated || valueTruncated) {
        fail(s3Error("MaxMessageLengthExceeded", "The form's fields exceed the maximum allowed size"))
      }
      const lower = name.toLowerCase()
      if (!fields.has(lower)) fields.set(lower, value)
    })
    .on("file", (name, stream, filename) => {
      stream.on("error", fail)
      if (name.toLowerCase() !== "file") {
        fail(s3Error("InvalidArgument", "POST requires exactly one file upload per request.", { ArgumentName: "file" }))
      }
      opened.resolve({ fields, filename: filename ?? "", bytes: fileBytes(stream, ended.promise) })
    })
    .on("error", fail)
    .on("finish", () => {
      opened.reject(
        s3Error("InvalidArgument", "POST requires exactly one file upload per request.", { ArgumentName: "file" })
      )
      ended.resolve()
    })
  void pump(parser, body, signal).catch(fail)
  return await opened.promise
}

const makeParser = (contentType: string) => {
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      isPartAFile: (name) => name?.toLowerCase() === "file",
      fileHwm: 256 * 1024,
      limits: { fieldSize: maximumFields, fields: 200, files: 1, headerPairs: 20, headerSize: 8192 }
    })
  } catch {
    throw malformed()
  }
}

const pump = async (parser: Busboy, body: AsyncIterable<Buffer>, signal: AbortSignal) => {
  for await (const chunk of body) {
    if (signal.aborted) return
    if (!parser.write(chunk)) await once(parser, "drain", { signal })
  }
  parser.end()
}

type Busboy = ReturnType<typeof makeParser>

const fileBytes = async function* (stream: Readable, whole: Promise<void>) {
  let failed = false
  whole.catch(() => {
    failed = true
    stream.destroy()
  })
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) yield chunk
  } catch (cause) {
    if (!failed) throw cause
  }
  // Fields after the file are ignored, but the form must be complete.
  await whole
}
