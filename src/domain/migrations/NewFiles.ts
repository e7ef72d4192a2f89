import { statementsIn } from "../sql/Statements.ts"
import { type HistoryKeeper } from "./History.ts"
import { type MigrationFolder } from "./Migration.ts"

/** The line between statements that must be committed before those after it can run. */
export const newTransaction = "-- svc: new transaction"
const border = /^[ \t]*--[ \t]*svc:[ \t]*new[ -]transaction[ \t]*$/gim

/** A file to be written. */
export interface NewMigrationFile {
  readonly name: string
  /** Below the directory, with `/`. */
  readonly path: string
  readonly sql: string
}

const leadingDigits = (name: string) => /^\d+/.exec(name)?.[0]
/** `20260102030405`, which is what most tools begin names with. */
const timestampDigits = 14
const timestamp = (millis: number) => new Date(millis).toISOString().replaceAll(/\D/g, "").slice(0, timestampDigits)

/** Numbers that follow those of all files, in the same form; times if there are none. */
const numbersFor = ({ files }: MigrationFolder, count: number, millis: number): ReadonlyArray<string> => {
  const used = files.flatMap(({ name }) => leadingDigits(name) ?? [])
  const last = used.reduce((most, digits) => (BigInt(digits) > most ? BigInt(digits) : most), 0n)
  const now = BigInt(timestamp(millis))
  const width = used.at(-1)?.length ?? timestampDigits
  const counts = used.length > 0 && last < 10n ** BigInt(timestampDigits - 1)
  const first = counts || last >= now ? last + 1n : now
  return Array.from({ length: count }, (_, i) => String(first + BigInt(i)).padStart(width, "0"))
}

/** The texts between borders, which are none within a statement, such as the body of a function. */
const partsOf = (sql: string): ReadonlyArray<string> => {
  const pieces = statementsIn(sql)
  const isInside = (at: number) => pieces.some(({ offset, text }) => offset <= at && at < offset + text.length)
  const parts: Array<string> = []
  let from = 0
  for (const { 0: line, index } of sql.matchAll(border)) {
    if (isInside(index)) continue
    parts.push(sql.slice(from, index))
    from = index + line.length
  }
  return [...parts, sql.slice(from)].filter((part) => part.trim() !== "")
}

/** The files of a new migration, which come after all others; undefined if the tool has to write its files itself. */
export const newMigrationFiles = (
  folder: MigrationFolder,
  keeper: HistoryKeeper,
  { millis, name, sql }: { readonly name: string; readonly sql: string; readonly millis: number }
): ReadonlyArray<NewMigrationFile> | undefined => {
  if (keeper === "drizzle" || folder.layout.startsWith("drizzle")) return undefined
  const parts = partsOf(sql)
  const numbers = numbersFor(folder, parts.length, millis)
  return parts.map((part, i) => {
    const own = `${numbers[i] ?? ""}_${name}${parts.length === 1 ? "" : `_${i + 1}`}`
    const inFolder = folder.layout === "prisma" || keeper === "prisma"
    return { name: own, path: inFolder ? `${own}/migration.sql` : `${own}.sql`, sql: part.replace(/\s*$/, "\n") }
  })
}
