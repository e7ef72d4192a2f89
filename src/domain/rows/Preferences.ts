/** Preferences (RFC 7240) in PostgREST's vocabulary; the first of a kind applies. http/rows/Prefer.ts parses them. */
export interface Preferences {
  readonly resolution: "merge-duplicates" | "ignore-duplicates" | undefined
  readonly missing: "default" | "null" | undefined
  readonly return: "representation" | "minimal" | "headers-only" | undefined
  readonly count: "exact" | "planned" | "estimated" | undefined
  readonly tx: "commit" | "rollback" | undefined
  /** `strict`: unknown or invalid preferences are rejected. */
  readonly handling: "strict" | "lenient" | undefined
  /** The time zone as sent; PostgreSQL rejects unknown ones. */
  readonly timezone: string | undefined
  /** The most rows that a change may affect; applies only with `handling=strict`. */
  readonly maxAffected: number | undefined
  /** The most characters of a value in the JSON of a read; see sql/Cut.ts. */
  readonly maxCell: number | undefined
  /** How recent the rows of a read must be where standbys serve reads; default: `session`. */
  readonly consistency: "strong" | "session" | "eventual" | undefined
}

export const noPreferences: Preferences = {
  resolution: undefined,
  missing: undefined,
  return: undefined,
  count: undefined,
  tx: undefined,
  handling: undefined,
  timezone: undefined,
  maxAffected: undefined,
  maxCell: undefined,
  consistency: undefined
}

/** The form of the response body that the client accepts (Accept). */
export interface AnswerForm {
  /** `object`: a single row, not in an array; `plan-…`: PostgreSQL's plan of the statement for the form `of`. */
  readonly media: "json" | "object" | "csv" | "plan-json" | "plan-text"
  /** Fields that are null are omitted. */
  readonly stripNulls: boolean
  /** Options of EXPLAIN, for a plan. */
  readonly options: ReadonlyArray<"analyze" | "verbose" | "settings" | "buffers" | "wal">
  /** The form of the statement that a plan explains. */
  readonly of: "json" | "object" | "csv"
}

/** Whether the response is the statement's plan instead of its result. */
export const isExplain = ({ media }: AnswerForm) => media === "plan-json" || media === "plan-text"

/** The form in which PostgreSQL builds the body. `none`: only the number of rows. */
export interface BodyForm {
  readonly media: AnswerForm["of"] | "none"
  readonly stripNulls: boolean
  /** Values with more characters are cut; by default none. */
  readonly maxCell?: number | undefined
}

/** `wanted`: whether the body is sent. A plan explains the statement for the form `of`. */
export const bodyForm = (form: AnswerForm, wanted: boolean): BodyForm => {
  if (!wanted) return { media: "none", stripNulls: false }
  const media = form.media === "plan-json" || form.media === "plan-text" ? form.of : form.media
  return { media, stripNulls: form.stripNulls }
}

/** The preference `max-cell` of a read, if its form of response can mark the values that are cut. */
export const maxCellOf = ({ media, of }: AnswerForm, { maxCell }: Preferences) =>
  maxCell === undefined || media === "csv" || (media.startsWith("plan") && of === "csv") ? undefined : maxCell

/** The request as user code can read it: `request.method`, `request.path`, `request.headers`, `request.cookies`. */
export interface RequestContext {
  readonly method: string
  readonly path: string
  /** Both are JSON objects as text. */
  readonly headers: string
  readonly cookies: string
}
