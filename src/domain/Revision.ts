/** The revisions that a caller expects of a record; `*`: any revision of an existing one; undefined: no precondition. */
export type Expected = ReadonlyArray<number> | "*" | undefined

/** Whether the stored revision is one that the caller expects. */
export const isExpected = (revision: number, expected: Expected) =>
  expected === undefined || expected === "*" || expected.includes(revision)

/** A record as JSON text, with the revision that is its ETag. */
export interface JsonRecord {
  readonly revision: number
  readonly json: string
}
