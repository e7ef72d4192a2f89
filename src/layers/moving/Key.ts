import { Schema } from "effect"
import { createHmac, createSecretKey, type KeyObject, randomBytes, scrypt } from "node:crypto"
import { promisify } from "node:util"
import { movingFormat, MovingHeader, movingMagic } from "../../domain/moving/Archive.ts"

/** An archive can't be used; the message is for the operator. */
export class ArchiveRefused extends Error {
  override readonly name = "ArchiveRefused"
}

/** What the segments of one archive are sealed with. */
export interface ArchiveKey {
  /** The first line of the archive, which every segment is bound to. */
  readonly line: string
  readonly key: KeyObject
}

const noArchive = "It is no archive of svc export, or its beginning is damaged"

const headerOf = (line: string): MovingHeader => {
  if (!line.startsWith(movingMagic)) throw new ArchiveRefused(noArchive)
  let json: unknown
  try {
    json = JSON.parse(line.slice(movingMagic.length))
  } catch {
    throw new ArchiveRefused(noArchive)
  }
  const format = (json as { readonly format?: unknown } | null)?.format
  if (typeof format === "number" && format > movingFormat) {
    throw new ArchiveRefused(
      `The archive has format ${format}, and this release reads formats up to ${movingFormat}: use a newer release`
    )
  }
  if (!Schema.is(MovingHeader)(json)) throw new ArchiveRefused(noArchive)
  return json
}

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

/** The key of an archive by its first line. */
export const archiveKeyOf = async (passphrase: string, line: string): Promise<ArchiveKey> => {
  const { cost: N, salt } = headerOf(line)
  // Keyboards write the same character as one or as several code points.
  const text = passphrase.normalize("NFKC")
  const bytes = await derive(text, Buffer.from(salt, "base64"), 32, { N, r: 8, p: 1, maxmem: 256 * N * 8 })
  return { line, key: createSecretKey(bytes) }
}

/**
 * The key of a new archive.
 *
 * @param cost of scrypt: memory of 128 MiB, and about a second
 */
export const newArchiveKey = (passphrase: string, cost = 2 ** 17): Promise<ArchiveKey> => {
  const header: MovingHeader = { format: movingFormat, kdf: "scrypt", salt: randomBytes(32).toString("base64"), cost }
  return archiveKeyOf(passphrase, `${movingMagic}${JSON.stringify(header)}\n`)
}

/** Shows later whether a passphrase is the one of this key. */
export const keyDigest = ({ key, line }: ArchiveKey) => createHmac("sha256", key).update(line).digest("hex")

/** The place of a segment in its archive, under which it is sealed: it opens at no other. */
export const segmentPlace = ({ line }: ArchiveKey, index: number) => `${line}${index}`
