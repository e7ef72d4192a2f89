/** The revisions that a caller takes a record to be at; `*`: any, so long as it is there; undefined: does not matter. */
export type Expected = ReadonlyArray<number> | "*" | undefined

/** What the caller saw is what is stored. */
export const isExpected = (revision: number, expected: Expected) =>
  expected === undefined || expected === "*" || expected.includes(revision)

/** A record as it is answered: JSON text, with the revision that is its ETag. */
export interface Shown {
  readonly revision: number
  readonly json: string
}
