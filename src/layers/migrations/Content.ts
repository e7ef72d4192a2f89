import { isUtf8 } from "node:buffer"
import { createHash, hash } from "node:crypto"
import { createReadStream } from "node:fs"
import { realpath, stat } from "node:fs/promises"
import { sep } from "node:path"
import { type MigrationLayout } from "../../domain/migrations/Migration.ts"

/** Bytes. */
export const maxFileSize = 16 * 1024 * 1024
export const tooLarge = "it is larger than 16 MiB"

export type MigrationSource =
  | { readonly path: string; readonly size: number; readonly problem?: undefined }
  | { readonly problem: string }

/** Resolves a path to a regular file below the directory, or the problem with it. Rejects when nothing exists there. */
export const migrationSourceOf = async (directory: string, path: string): Promise<MigrationSource> => {
  const [root, real] = [await realpath(directory), await realpath(path)]
  if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return { problem: "it is outside the directory" }
  const status = await stat(real)
  return status.isFile() ? { path: real, size: status.size } : { problem: "it is not a regular file" }
}

const sha256 = (data: Uint8Array | string) => hash("sha256", data)

/** The checksum as the tool computes it; Drizzle decodes a file as text first, even if it is binary. */
export const checksumOf = (
  bytes: Buffer,
  layout: MigrationLayout
): { checksum: string; problem: string | undefined } => {
  if (!isUtf8(bytes)) {
    const checksum = layout.startsWith("drizzle") ? sha256(bytes.toString("utf8")) : sha256(bytes)
    return { checksum, problem: "it is not UTF-8" }
  }
  return { checksum: sha256(bytes), problem: bytes.includes(0) ? "it contains a NUL character" : undefined }
}

/** Checksums of the same text with LF and with CR LF, which Prisma considers equal. */
export const otherLineEnds = (bytes: Buffer): ReadonlyArray<string> => {
  const text = bytes.toString("utf8")
  return [text.replaceAll("\r\n", "\n"), text.replaceAll("\n", "\r\n")].filter((one) => one !== text).map(sha256)
}

/** The checksum of a file of any size. */
export const streamedChecksum = async (path: string): Promise<string> => {
  const digest = createHash("sha256")
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer)
  return digest.digest("hex")
}

/** Text without the byte order mark, which PostgreSQL would parse as a name. */
export const withoutMark = (bytes: Buffer): string => new TextDecoder("utf-8").decode(bytes)
