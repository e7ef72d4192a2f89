import { Effect, Schema } from "effect"
import { createTarDecoder, type TarHeader } from "modern-tar"
import { createHash } from "node:crypto"
import { chmod, mkdir, open, symlink } from "node:fs/promises"
import { dirname, join, normalize } from "node:path"
import { type BaseBackup, manifestFile, partFile } from "../../../domain/recovery/Archive.ts"
import { type Archive } from "../store/Archive.ts"
import { ArchiveTrouble } from "../store/Store.ts"

/** The manifest of a base backup (PostgreSQL documentation, 77.1). */
const Manifest = Schema.Struct({
  Files: Schema.Array(
    Schema.Struct({
      Path: Schema.optionalKey(Schema.String),
      /** In hex, for names that are not UTF-8. */
      "Encoded-Path": Schema.optionalKey(Schema.String),
      Size: Schema.Int,
      "Checksum-Algorithm": Schema.optionalKey(Schema.String),
      Checksum: Schema.optionalKey(Schema.String)
    })
  )
})
const decodeManifest = Schema.decodeUnknownEffect(Schema.fromJsonString(Manifest))

const trouble = (reason: string) => new ArchiveTrouble({ reason })

/** Where files are written; undefined: they are only compared with the manifest. */
type Target = string | undefined

/** Directories of tablespaces in a restored cluster, which must not be those of the running one. */
const tablespaces = "restored_tablespaces"

/** The path in the target; refuses names that lead out of it. */
const placeIn = (target: string, name: string) => {
  const path = normalize(name)
  if (path.startsWith("/") || path.split("/").includes("..")) throw new Error(`${name} leads out of the directory`)
  return join(target, path)
}

const writeEntry = async (target: string, name: string, header: TarHeader, body: AsyncIterable<Uint8Array>) => {
  const path = placeIn(target, name)
  if (header.type === "directory") {
    await mkdir(path, { recursive: true, mode: 0o700 })
    await chmod(path, 0o700)
    return undefined
  }
  if (header.type === "symlink" || header.type === "link") {
    const oid = /^(?:\.\/)?pg_tblspc\/(\d+)$/.exec(header.name)?.[1]
    // Other links, such as of pg_wal to another disk, become what they lead to in the archive: nothing.
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    if (oid === undefined) await mkdir(path, { recursive: true, mode: 0o700 })
    else await symlink(join("..", tablespaces, oid), path)
    return undefined
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const handle = await open(path, "wx", 0o600)
  const hash = createHash("sha256")
  try {
    for await (const bytes of body) {
      hash.update(bytes)
      await handle.writeFile(bytes)
    }
  } finally {
    await handle.close()
  }
  return hash.digest("hex")
}

const digest = async (header: TarHeader, body: AsyncIterable<Uint8Array>) => {
  const hash = createHash("sha256")
  for await (const bytes of body) hash.update(bytes)
  return header.type === "file" || header.type === undefined ? hash.digest("hex") : undefined
}

/**
 * Reads the files of a base backup, compares them with the checksums of its manifest, and writes them to a directory if
 * one is given. `report`: the bytes read so far.
 */
export const readBaseFiles = Effect.fnUntraced(function* (
  archive: Archive,
  base: BaseBackup,
  target: Target,
  report: (bytes: number) => void = () => undefined
) {
  const text = (yield* archive.get(manifestFile(base.id))).toString("utf8")
  const manifest = yield* Effect.mapError(decodeManifest(text), () =>
    trouble("The manifest of a base backup is damaged")
  )
  const expected = new Map(
    manifest.Files.map((file) => [
      file.Path ?? Buffer.from(file["Encoded-Path"] ?? "", "hex").toString("utf8"),
      file.Checksum
    ])
  )
  let read = 0
  for (const volume of base.volumes) {
    const folder = volume.name === "base" ? "" : `${tablespaces}/${volume.name}`
    const inManifest = volume.name === "base" ? "" : `pg_tblspc/${volume.name}/`
    const parts = async function* () {
      for (let part = 1; part <= volume.parts; part++) {
        const bytes = await Effect.runPromise(archive.get(partFile(base.id, volume.name, part)))
        report((read += bytes.length))
        yield new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      }
    }
    yield* Effect.tryPromise({
      try: async () => {
        if (target !== undefined && folder !== "") await mkdir(join(target, folder), { recursive: true, mode: 0o700 })
        const entries = ReadableStream.from(parts()).pipeThrough(createTarDecoder())
        for await (const { body, header } of entries) {
          const name = header.name.replace(/^\.\//, "")
          const sum =
            target === undefined
              ? await digest(header, body)
              : await writeEntry(join(target, folder), name, header, body)
          if (sum === undefined) {
            await body.cancel().catch(() => undefined)
            continue
          }
          const listed = `${inManifest}${name}`
          // backup_label and tablespace_map are listed, too.
          if (!expected.has(listed)) throw new Error(`${listed} is not in the manifest`)
          if (expected.get(listed) !== sum) throw new Error(`${listed} differs from its checksum`)
          expected.delete(listed)
        }
      },
      catch: (cause) =>
        cause instanceof ArchiveTrouble
          ? cause
          : trouble(
              `Base backup ${base.id} in ${archive.place}: ${cause instanceof Error ? cause.message : String(cause)}`
            )
    })
  }
  const [missing] = expected.keys()
  if (missing !== undefined) {
    return yield* trouble(`Base backup ${base.id} in ${archive.place} lacks ${expected.size} files, such as ${missing}`)
  }
})
