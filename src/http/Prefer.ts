import { type Returning } from "../domain/RowSql.ts"

/** Preferences of a request (RFC 7240) that the row path honours. */
export interface Prefer {
  readonly return: Returning | "headers-only" | undefined
}

export const parsePrefer = (header: string | undefined): Prefer => {
  if (header === undefined) return { return: undefined }
  const match = /(?:^|[,;])\s*return\s*=\s*"?(representation|minimal|headers-only)"?\s*(?:$|[,;])/i.exec(header)
  return { return: match?.[1]?.toLowerCase() as Prefer["return"] }
}

/** Whether an answer is wanted before the work is done. */
export const prefersAsync = (header: string | undefined) => /(?:^|,)\s*respond-async\s*(?:$|[,;])/i.test(header ?? "")
