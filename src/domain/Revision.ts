/** The revisions that a caller expects a record to have; `*`: any; undefined: no expectation. */
export type Expected = ReadonlyArray<number> | "*" | undefined

/** Whether the stored revision is one that the caller expects. */
export const isExpected = (revision: number, expected: Expected) =>
  expected === undefined || expected === "*" || expected.includes(revision)

/** A record as returned by the API: JSON text, and the revision that is its ETag. */
export interface Shown {
  readonly revision: number
  readonly json: string
}
