import { keepList, readList } from "./kept.ts"

/** Values of the parameters $1, $2, …, by number, which PostgreSQL reads as their types; null is NULL. */
export type Values = Readonly<Record<number, string | null>>

/** A query of the SQL workbench, as this browser keeps it. */
export interface Query {
  readonly id: number
  readonly name: string
  readonly text: string
  readonly values?: Values | undefined
  /** The item of the workspace that it was opened from, or saved as. */
  readonly saved?: { readonly id: number; readonly revision: number } | undefined
}

const kept = "svc.sql.tabs"

export const readQueries = () => readList<Query>(kept)
export const keepQueries = (queries: ReadonlyArray<Query>) => keepList(kept, queries)

/** Makes a text the first query, which the workbench opens with. It runs nothing. */
export const addQuery = (name: string, text: string) => {
  const all = readQueries()
  const id = Math.max(0, ...all.map((query) => query.id)) + 1
  keepQueries([{ id, name, text }, ...all.filter((query) => query.text !== text)])
}
