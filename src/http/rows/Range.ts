import { type RowRange } from "../../domain/rows/plan/Page.ts"

const inclusive = /^(\d+)-(\d*)$/
/** One less than a number can tell apart: from 0 to it are as many rows as there can be. */
const maxRow = Number.MAX_SAFE_INTEGER - 1
const numberOf = (digits: string) => Math.min(Number(digits), maxRow)

/**
 * Rows `0-24` or `10-` of a GET's `Range` header, whatever its unit is called. What is not of this form is no range, as
 * RFC 9110 14.2 has it; one that ends before it begins has a limit below 1.
 */
export const rowRange = (header: string | undefined): RowRange | undefined => {
  const [, first, last] = (header === undefined ? undefined : inclusive.exec(header)) ?? []
  if (first === undefined) return undefined
  const offset = numberOf(first)
  return { offset, limit: last === undefined || last === "" ? undefined : numberOf(last) - offset + 1 }
}

/** `Content-Range` without its unit: `0-24/573`, `*` for no rows and for a total that nobody asked for. */
export const contentRange = (offset: number, count: number, total: number | undefined) =>
  `${count <= 0 || total === 0 ? "*" : `${offset}-${offset + count - 1}`}/${total ?? "*"}`

/** Status of a read: 416 behind the last row, 206 for a part of the rows. */
export const rangeStatus = (offset: number, count: number, total: number | undefined): 200 | 206 | 416 => {
  if (total === undefined) return 200
  if (offset > total) return 416
  return count < total ? 206 : 200
}
