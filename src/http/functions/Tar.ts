import { Effect, Schema } from "effect"
import { unpackTar } from "modern-tar"
import { isUtf8 } from "node:buffer"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { InvalidRequest } from "../../domain/errors.ts"
import { maxSourceBytes, SourceFiles } from "../../domain/functions/Function.ts"
import { issueLines } from "../wire/RequestErrors.ts"

/** Files of at most `maxSourceBytes`, and the headers of a thousand of them. */
const maxTarBytes = maxSourceBytes + 2 * 1024 * 1024

const invalid = (error: string) => new InvalidRequest({ error })
const notTar = invalid("The body is no tar archive, plain or compressed by gzip")

const decode = Schema.decodeUnknownEffect(SourceFiles)
const inflate = promisify(gunzip)

const plain = (bytes: Uint8Array) =>
  bytes[0] !== 0x1f || bytes[1] !== 0x8b
    ? Effect.succeed(bytes)
    : Effect.tryPromise({
        try: () => inflate(bytes, { maxOutputLength: maxTarBytes }),
        catch: (cause) =>
          (cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? invalid("The files exceed 10 MiB") : notTar
      })

/**
 * The files of a tar archive (POSIX.1-2017, pax), plain or compressed by gzip (RFC 1952). Fails for anything in it that is
 * neither a file nor a folder, such as a link, and for paths that leave the folder.
 */
export const filesOfTar = Effect.fnUntraced(function* (body: Uint8Array) {
  const bytes = yield* plain(body)
  const entries = yield* Effect.tryPromise({ try: () => unpackTar(bytes, { strict: true }), catch: () => notTar })
  const files = new Map<string, SourceFiles[string]>()
  for (const { data, header } of entries) {
    if (header.type === "directory") continue
    const path = header.name.replace(/^\.\//, "")
    if (header.type !== "file")
      return yield* invalid(`The archive has ${path} as a ${header.type}: only files and folders can be deployed`)
    if (files.has(path)) return yield* invalid(`The archive has ${path} twice`)
    const content = Buffer.from(data ?? new Uint8Array())
    files.set(path, isUtf8(content) ? content.toString("utf8") : { base64: content.toString("base64") })
  }
  if (files.size === 0) return yield* notTar
  return yield* decode(Object.fromEntries(files)).pipe(
    Effect.mapError((error) => new InvalidRequest({ error: "Invalid archive", details: issueLines(error.issue) }))
  )
})
