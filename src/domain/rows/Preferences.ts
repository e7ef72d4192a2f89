/** What a caller prefers (RFC 7240), as PostgREST's clients say it; the first of a kind counts. Parser: http/Prefer.ts. */
export interface Preferences {
  readonly resolution: "merge-duplicates" | "ignore-duplicates" | undefined
  readonly missing: "default" | "null" | undefined
  readonly return: "representation" | "minimal" | "headers-only" | undefined
  readonly count: "exact" | "planned" | "estimated" | undefined
  readonly tx: "commit" | "rollback" | undefined
  /** `strict`: preferences that are not known, or not good, are refused. */
  readonly handling: "strict" | "lenient" | undefined
  /** As given; PostgreSQL says whether there is such a zone. */
  readonly timezone: string | undefined
  /** Rows that a change may touch at most; counts only with `handling=strict`. */
  readonly maxAffected: number | undefined
}

/** The form an answer is wanted in (Accept). */
export interface AnswerForm {
  /** `object`: the one row bare; `plan-…`: how PostgreSQL would run it, of `of`. */
  readonly media: "json" | "object" | "csv" | "plan-json" | "plan-text"
  /** Fields that are null are left out. */
  readonly stripNulls: boolean
  /** Of a plan: options of EXPLAIN. */
  readonly options: ReadonlyArray<"analyze" | "verbose" | "settings" | "buffers" | "wal">
  /** Of a plan: whose form it is of. */
  readonly of: "json" | "object" | "csv"
}

/** Whether the answer is how PostgreSQL runs the statement, and not what it gives. */
export const isExplain = ({ media }: AnswerForm) => media === "plan-json" || media === "plan-text"

/** The form in which PostgreSQL makes the body. `none`: only how many rows there are. */
export interface BodyForm {
  readonly media: AnswerForm["of"] | "none"
  readonly stripNulls: boolean
}

/** `wanted`: the body is sent. A plan is that of the statement for the form it is `of`. */
export const bodyForm = (form: AnswerForm, wanted: boolean): BodyForm => {
  if (!wanted) return { media: "none", stripNulls: false }
  const media = form.media === "plan-json" || form.media === "plan-text" ? form.of : form.media
  return { media, stripNulls: form.stripNulls }
}

/** What user code can read of the request: `request.method`, `request.path`, `request.headers`, `request.cookies`. */
export interface RequestContext {
  readonly method: string
  readonly path: string
  /** JSON objects in text. */
  readonly headers: string
  readonly cookies: string
}
