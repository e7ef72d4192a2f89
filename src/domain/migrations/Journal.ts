import { Option, Schema } from "effect"

/** Drizzle's list of its migrations, in the order in which they run. */
const Journal = Schema.fromJsonString(
  Schema.Struct({ entries: Schema.Array(Schema.Struct({ tag: Schema.String, when: Schema.Finite })) })
)
export type JournalEntry = { readonly tag: string; readonly when: number }

const decode = Schema.decodeUnknownOption(Journal)

/** The entries of a meta/_journal.json; undefined when it is invalid. */
export const journalEntries = (text: string): ReadonlyArray<JournalEntry> | undefined =>
  Option.getOrUndefined(Option.map(decode(text), ({ entries }) => entries))

const folderTime = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/

/** The time in the name of a folder of Drizzle 1.0, `20260102030405_name`, in ms. */
export const drizzleMillis = (folder: string): number | undefined => {
  const match = folderTime.exec(folder)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number)
  return Date.UTC(year, month - 1, day, hour, minute, second)
}
