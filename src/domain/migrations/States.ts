import {
  type AppliedMigration,
  type Migration,
  type MigrationAttempt,
  type MigrationFile,
  type MigrationStatus
} from "./Migration.ts"

/** A migration, with the file behind it if there is one. */
export interface MigrationState extends Migration {
  readonly file: MigrationFile | undefined
  /** Whether the tool of the history runs nothing before it is resolved. */
  readonly blocks: boolean
}

/** Finds the file of each row, undefined if it has none. A file may have several rows. */
type Match = (
  rows: ReadonlyArray<AppliedMigration>,
  files: ReadonlyArray<MigrationFile>
) => Array<MigrationFile | undefined>

const indexed = <K, V>(values: ReadonlyArray<V>, keyOf: (value: V) => K | undefined) => {
  const map = new Map<K, V>()
  for (const value of values) {
    const key = keyOf(value)
    if (key !== undefined && !map.has(key)) map.set(key, value)
  }
  return map
}

/** Matches by the whole name. */
export const matchNames: Match = (rows, files) => {
  const byName = indexed(files, (file) => file.name)
  return rows.map(({ name }) => (name === null ? undefined : byName.get(name)))
}

/** Matches by the digits that names begin with, as the command line of Supabase does. */
export const matchVersions: Match = (rows, files) => {
  const byVersion = indexed(files, (file) => /^\d+/.exec(file.name)?.[0])
  return rows.map(({ name }) => byVersion.get(name ?? ""))
}

/**
 * Matches Drizzle's rows by name where they have one (1.0), else by time. A file without a row is then matched by its
 * second, because folders of 1.0 are named to the second, or by its content, because times are rewritten when Git branches
 * are merged. A file is never skipped for being older than the last row.
 */
export const matchTimes: Match = (rows, files) => {
  const found = new Map<AppliedMigration, MigrationFile>()
  const taken = new Set<MigrationFile>()
  const pass = (
    keyOfFile: (file: MigrationFile) => string | undefined,
    keyOfRow: (row: AppliedMigration) => string,
    again: boolean
  ) => {
    const map = indexed(again ? files : files.filter((file) => !taken.has(file)), keyOfFile)
    for (const row of rows) {
      const file = found.has(row) ? undefined : map.get(keyOfRow(row))
      if (file === undefined || (!again && taken.has(file))) continue
      found.set(row, file)
      taken.add(file)
    }
  }
  pass(
    (file) => file.name,
    (row) => row.name ?? "",
    true
  )
  pass(
    (file) => `${file.when} ${file.checksum}`,
    (row) => `${row.when} ${row.checksum}`,
    true
  )
  pass(
    (file) => String(file.when),
    (row) => String(row.when),
    false
  )
  pass(
    (file) => (file.folder ? String(seconds(file.when ?? 0)) : undefined),
    (row) => String(seconds(row.when ?? -1)),
    false
  )
  pass(
    (file) => file.checksum ?? undefined,
    (row) => row.checksum ?? "",
    false
  )
  return rows.map((row) => found.get(row))
}

const seconds = (millis: number) => Math.floor(millis / 1000)

/** Old versions of Prisma omitted the zero of a one-digit byte. */
const unpadded = (hex: string) => hex.replaceAll(/../g, (byte) => byte.replace(/^0/, ""))

const same = (file: MigrationFile, checksum: string) => {
  const all = file.checksum === null ? file.alike : [file.checksum, ...file.alike]
  return all.includes(checksum) || (checksum.length !== 64 && all.some((one) => unpadded(one) === checksum))
}

/** Each file with its state, in the order of the files, then the rows without a file, in the order they were applied. */
export const migrationStates = (
  files: ReadonlyArray<MigrationFile>,
  rows: ReadonlyArray<AppliedMigration>,
  match: Match,
  attempts: ReadonlyArray<MigrationAttempt> = []
): ReadonlyArray<MigrationState> => {
  const attemptOf = indexed(attempts, ({ name }) => name)
  const rowsOf = new Map<MigrationFile, Array<AppliedMigration>>()
  const orphans: Array<MigrationState> = []
  for (const [i, file] of match(rows, files).entries()) {
    const row = rows[i] as AppliedMigration
    if (file === undefined) orphans.push(orphaned(row, row.name ?? String(row.when ?? "unknown")))
    else rowsOf.set(file, [...(rowsOf.get(file) ?? []), row])
  }
  const states = files.flatMap((file) => {
    const own = rowsOf.get(file) ?? []
    const begun = own.find((row) => row.unfinished)
    const row = own.findLast((row) => !row.unfinished)
    if (file.missing && row !== undefined) {
      orphans.push(orphaned(row, file.name))
      return []
    }
    const attempt = row === undefined ? attemptOf.get(file.name) : undefined
    const equal = row === undefined || row.checksum === null || same(file, row.checksum)
    return [
      {
        name: file.name,
        status: row === undefined ? ("pending" as const) : equal ? ("applied" as const) : ("modified" as const),
        applied_at: row?.applied_at ?? null,
        checksum: file.checksum,
        applied_checksum: row?.checksum ?? null,
        problem: begun ? startedText(begun) : attempt ? attemptedText(attempt) : (file.problem ?? null),
        unfinished: begun !== undefined || attempt !== undefined,
        file,
        blocks: begun !== undefined
      }
    ]
  })
  return [...states, ...orphans]
}

const startedText = ({ error }: AppliedMigration) =>
  error === null
    ? "It was started and did not finish: parts of it may be applied"
    : `It failed, and parts of it may be applied: ${error}`

const attemptedText = ({ error, kept }: MigrationAttempt) => {
  if (error === null) return "It was started and did not finish: parts of it may be applied"
  const left =
    kept === null ? "parts of it may be" : kept === 1 ? "its first statement is" : `its first ${kept} statements are`
  return `It failed, and ${kept === 0 ? "none of its statements is" : left} applied: ${error}`
}

const orphaned = (row: AppliedMigration, name: string): MigrationState => ({
  name,
  status: "orphaned",
  applied_at: row.applied_at,
  checksum: row.checksum,
  applied_checksum: row.checksum,
  problem: row.unfinished ? startedText(row) : null,
  unfinished: row.unfinished,
  file: undefined,
  blocks: row.unfinished
})

/** Counts the migrations of each state. */
export const summaryOf = (states: ReadonlyArray<Pick<Migration, "status">>): MigrationStatus["summary"] => {
  const summary = { applied: 0, pending: 0, modified: 0, orphaned: 0, total: states.length }
  for (const { status } of states) summary[status]++
  return summary
}
