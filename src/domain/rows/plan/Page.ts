import { Result } from "effect"
import { DatabaseError } from "../../errors.ts"
import { type RowQuery } from "../parse/Query.ts"

/** The page of a table's rows: whole numbers as text. */
export interface RowPage {
  readonly limit: string | undefined
  readonly offset: string | undefined
}

/** The value of a Range header: at most `limit` rows from `offset`. */
export interface RowRange {
  readonly offset: number
  readonly limit: number | undefined
}

const refused = (details: string) =>
  Result.fail(new DatabaseError({ status: 416, error: "Requested range not satisfiable", code: "PGRST103", details }))

const ownOf = (clauses: RowQuery["limit"]) => clauses.find(({ path }) => path.length === 0)?.value

/** The intersection of a range with the `limit` and `offset` of the table itself. */
export const rowPage = (query: RowQuery, range: RowRange | undefined): Result.Result<RowPage, DatabaseError> => {
  const limit = ownOf(query.limit)
  const offset = ownOf(query.offset)
  if (limit?.startsWith("-") === true) return refused("Limit should be greater than or equal to zero.")
  if (range === undefined) return Result.succeed({ limit, offset })
  if (range.limit !== undefined && range.limit <= 0) {
    return refused("The lower boundary must be lower than or equal to the upper boundary in the Range header.")
  }
  const first = BigInt(offset ?? 0)
  const from = first > BigInt(range.offset) ? first : BigInt(range.offset)
  const ends = [
    ...(limit === undefined ? [] : [first + BigInt(limit)]),
    ...(range.limit === undefined ? [] : [BigInt(range.offset) + BigInt(range.limit)])
  ]
  const [end, other] = ends
  if (end === undefined) return Result.succeed({ limit: undefined, offset: String(from) })
  if (Number(limit) === 0 && limit !== undefined) return Result.succeed({ limit: "0", offset: undefined })
  const rows = (other !== undefined && other < end ? other : end) - from
  if (rows <= 0n) return refused("Limit should be greater than or equal to zero.")
  return Result.succeed({ limit: String(rows), offset: from === 0n ? undefined : String(from) })
}

/** The query with its page replaced. */
export const withPage = (query: RowQuery, { limit, offset }: RowPage): RowQuery => {
  const own = (clauses: RowQuery["limit"], value: string | undefined) => [
    ...(value === undefined ? [] : [{ path: [], value }]),
    ...clauses.filter(({ path }) => path.length > 0)
  ]
  return { ...query, limit: own(query.limit, limit), offset: own(query.offset, offset) }
}
