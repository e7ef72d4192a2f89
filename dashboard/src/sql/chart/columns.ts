import type { Result } from "../result/rows.ts"

export type Kind = "line" | "bars"

/** What a query's chart shows; what is missing is chosen from the result. */
export interface Choice {
  /** In place of the rows. */
  readonly on: boolean
  readonly x?: string
  readonly y?: string
  readonly kind?: Kind
}

/** In place of a column: the number of the row. */
export const rowNumber = ""

type Column = Result["columns"][number]
const isNumber = ({ type }: Column) => /^(?:smallint|integer|bigint|numeric|real|double precision)(?!.*\[\])/.test(type)
const isTime = ({ type }: Column) => /^(?:date|timestamp)(?!.*\[\])/.test(type)

export type Scale = "number" | "time" | "text"
export const scaleOf = (column: Column | undefined): Scale =>
  column === undefined || isNumber(column) ? "number" : isTime(column) ? "time" : "text"

export interface Axes {
  readonly xs: ReadonlyArray<Column>
  readonly ys: ReadonlyArray<Column>
  readonly x: Column | undefined
  readonly y: Column | undefined
  readonly kind: Kind
}

/** Columns to choose from, and what is chosen of them: at first, a number by time, by text, or by another number. */
export const axesOf = ({ columns }: Pick<Result, "columns">, { kind, x: named, y }: Partial<Choice>): Axes => {
  const xs = Array.from(new Map(columns.map((column) => [column.name, column])).values())
  const ys = xs.filter(isNumber)
  const first = xs.find(isTime) ?? xs.find((column) => !isNumber(column)) ?? (xs.length > 1 ? xs[0] : undefined)
  const x = named === rowNumber ? undefined : (xs.find(({ name }) => name === named) ?? first)
  const height = ys.find(({ name }) => name === y) ?? ys.find((column) => column !== x) ?? ys[0]
  return { xs, ys, x, y: height, kind: kind ?? (scaleOf(x) === "text" ? "bars" : "line") }
}
