import { type RowRange } from "../../domain/rows/plan/Page.ts"

const inclusive = /^(\d+)-(\d*)$/
/** The highest index for which the number of rows, one more, is still exact. */
const maxRow = Number.MAX_SAFE_INTEGER - 1
const numberOf = (digits: string) => Math.min(Number(digits), maxRow)

/**
 * Rows `0-24` or `10-` of a GET's `Range` header, whatever its unit. Any other value is ignored (RFC 9110 14.2). A range
 * that ends before it starts has a limit below 1.
 */
export const rowRange = (header: string | undefined): RowRange | undefined => {
  const [, first, last] = (header === undefined ? undefined : inclusive.exec(header)) ?? []
  if (first === undefined) return undefined
  const offset = numberOf(first)
  return { offset, limit: last === undefined || last === "" ? undefined : numberOf(last) - offset + 1 }
}

/** `Content-Range` without its unit: `0-24/573`; `*` if there are no rows or no total was requested. */
export const contentRange = (offset: number, count: number, total: number | undefined) =>
  `${count <= 0 || total === 0 ? "*" : `${offset}-${offset + count - 1}`}/${total ?? "*"}`

/** Status of a read: 416 beyond the last row, 206 for part of the rows. */
export const rangeStatus = (offset: number, count: number, total: number | undefined): 200 | 206 | 416 => {
  if (total === undefined) return 200
  if (offset > total) return 416
  return count < total ? 206 : 200
}
