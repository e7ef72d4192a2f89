import { isUtf8 } from "node:buffer"
import { createHash, hash } from "node:crypto"
import { type Dirent, createReadStream } from "node:fs"
import { readFile, readdir, realpath, stat } from "node:fs/promises"
import { join, sep } from "node:path"
import {
  type JournalEntry,
  type MigrationFile,
  type MigrationFolder,
  type MigrationLayout,
  byName,
  drizzleMillis,
  journalEntries
} from "../../domain/migrations/Migration.ts"

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
const otherLineEnds = (bytes: Buffer): ReadonlyArray<string> => {
  const text = bytes.toString("utf8")
  return [text.replaceAll("\r\n", "\n"), text.replaceAll("\n", "\r\n")].filter((one) => one !== text).map(sha256)
}

/** The checksum of a file of any size. */
const streamedChecksum = async (path: string): Promise<string> => {
  const digest = createHash("sha256")
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer)
  return digest.digest("hex")
}

/** Text without the byte order mark, which PostgreSQL would parse as a name. */
export const withoutMark = (bytes: Buffer): string => new TextDecoder("utf-8").decode(bytes)

/** `message` describes the problem. */
export class UnreadableDirectory extends Error {}

/** A file that may be a migration. */
interface Candidate {
  readonly name: string
  readonly path: string
  readonly folder: boolean
  readonly when: number | undefined
}

const script = "migration.sql"

const read = async (root: string, candidate: Candidate, layout: MigrationLayout): Promise<MigrationFile> => {
  const made = (checksum: string | null, problem: string | undefined, alike: ReadonlyArray<string> = []) => ({
    ...candidate,
    checksum,
    alike,
    problem
  })
  try {
    const place = await migrationSourceOf(root, join(root, candidate.path))
    if (place.problem !== undefined) return made(null, place.problem)
    if (place.size > maxFileSize) return made(await streamedChecksum(place.path), tooLarge)
    const bytes = await readFile(place.path)
    const { checksum, problem } = checksumOf(bytes, layout)
    return made(checksum, problem, layout === "prisma" || layout === "plain" ? otherLineEnds(bytes) : [])
  } catch (cause) {
    const { code } = cause as { readonly code?: string }
    if (code === "ENOENT") return { ...made(null, "the file is missing"), missing: true }
    return made(null, `it can't be read (${code ?? "unknown"})`)
  }
}

const exists = async (root: string, path: string) => {
  try {
    return (await migrationSourceOf(root, join(root, path))).problem === undefined
  } catch {
    return false
  }
}

/** Entries of the journal; undefined without one. */
const journal = async (root: string): Promise<ReadonlyArray<JournalEntry> | undefined> => {
  const path = "meta/_journal.json"
  if (!(await exists(root, path))) return undefined
  const place = await migrationSourceOf(root, join(root, path))
  if (place.problem !== undefined || place.size > maxFileSize) throw new UnreadableDirectory(`${path} can't be read`)
  const entries = journalEntries(await readFile(place.path, "utf8"))
  if (entries === undefined) throw new UnreadableDirectory(`${path} is not a valid Drizzle journal`)
  return entries
}

/** The layout of the directory and its migrations. Rejects when it can't be read. */
export const readLayout = async (root: string, directory: string): Promise<MigrationFolder> => {
  const entries = await readdir(root, { withFileTypes: true }).catch((cause: unknown) => {
    if ((cause as { readonly code?: string }).code === "ENOENT") return undefined
    throw cause
  })
  if (entries === undefined) {
    return {
      directory,
      layout: "plain",
      files: [],
      notes: [`The directory ${directory} (MIGRATIONS_DIR) does not exist`]
    }
  }
  const notes: Array<string> = []
  const { candidates, layout } = await candidatesOf(root, entries, notes)
  const files: Array<MigrationFile> = []
  const seen = new Set<string>()
  for (const candidate of candidates) {
    if (seen.has(candidate.name)) {
      notes.push(`${candidate.path} is ignored: another migration has the name ${candidate.name}`)
      continue
    }
    seen.add(candidate.name)
    files.push(await read(root, candidate, layout))
  }
  return { directory, layout, files, notes }
}

const candidatesOf = async (root: string, entries: ReadonlyArray<Dirent>, notes: Array<string>) => {
  const names = entries.map(({ name }) => name).filter((name) => !name.startsWith("."))
  const listed = await journal(root)
  if (listed !== undefined) return { layout: "drizzle" as const, candidates: ofJournal(listed, names, notes) }
  const folders: Array<Candidate> = []
  let snapshots = false
  const lock = names.includes("migration_lock.toml")
  for (const { name, isFolder } of entries.map((entry) => ({ name: entry.name, isFolder: !entry.isFile() }))) {
    if (!isFolder || name.startsWith(".")) continue
    const has = await hasScript(root, name)
    if (has === "no folder" || (has === false && !lock)) continue
    snapshots ||= await exists(root, join(name, "snapshot.json"))
    folders.push({ name, path: `${name}/${script}`, folder: true, when: drizzleMillis(name) })
  }
  const layout: MigrationLayout = lock ? "prisma" : snapshots ? "drizzle-folders" : "plain"
  const plain = names.filter((name) => /\.sql$/i.test(name) && !folders.some((folder) => folder.name === name))
  if (layout !== "plain") {
    for (const name of plain) notes.push(`${name} is ignored: each migration has its own folder in this layout`)
    return { layout, candidates: folders.sort((a, b) => (a.name < b.name ? -1 : 1)) }
  }
  const files = plain.flatMap((name) => {
    if (!/\.down\.sql$/i.test(name)) return [{ name: name.slice(0, -4), path: name, folder: false, when: undefined }]
    notes.push(`${name} is ignored: it is a down migration`)
    return []
  })
  return { layout, candidates: [...files, ...folders].sort((a, b) => byName(a.name, b.name)) }
}

/** Whether a folder, or the target of a link, contains a migration. */
const hasScript = async (root: string, name: string): Promise<boolean | "no folder"> => {
  try {
    const inside = await readdir(join(root, name))
    return inside.includes(script)
  } catch {
    return "no folder"
  }
}

const ofJournal = (
  listed: ReadonlyArray<JournalEntry>,
  names: ReadonlyArray<string>,
  notes: Array<string>
): ReadonlyArray<Candidate> => {
  const tags = new Set(listed.map(({ tag }) => `${tag}.sql`))
  for (const name of names) {
    if (name.endsWith(".sql") && !tags.has(name)) notes.push(`${name} is ignored: it is not in meta/_journal.json`)
  }
  return listed.flatMap(({ tag, when }) => {
    if (!/[/\\\0]/.test(tag)) return [{ name: tag, path: `${tag}.sql`, folder: false, when }]
    notes.push(`${JSON.stringify(tag)} in meta/_journal.json is ignored: a tag must be a file name`)
    return []
  })
}
