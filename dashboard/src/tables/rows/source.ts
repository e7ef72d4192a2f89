import { type Viewer, viewerHeaders } from "../../wire/viewer.ts"
import { place } from "./identity.ts"
import { type Condition, nameText, type Order, parameterOf, type Part } from "./keyset.ts"

/** Which rows of a table, in which order, and who reads them. */
export interface Source {
  /** `/v1/db/orders`. */
  readonly path: string
  readonly schema: string
  readonly select: string
  /** In the language of `/v1/db`: `["status", "eq.paid"]`. */
  readonly filters: ReadonlyArray<readonly [name: string, value: string]>
  /** Ends with the primary key, so that it is total, if there is one. */
  readonly order: ReadonlyArray<Order>
  readonly total: boolean
  /** The columns that identify a row; none: nothing does. */
  readonly key: ReadonlyArray<string>
  /** The preference for cut values, if they are to be cut. */
  readonly cut: string | undefined
  /** Columns of JSON. */
  readonly json: ReadonlySet<string>
  /** Whose rows. */
  readonly viewer: Viewer
  /** Columns that may be NULL. */
  readonly nullable: ReadonlySet<string>
}

const orderText = (order: ReadonlyArray<Order>) =>
  order.map(({ column, desc }) => `${nameText(column)}.${desc ? "desc" : "asc"}`).join(",")

export const placedAfter = (value: unknown): Condition => ({ tag: "compare", column: place, operator: "gt", value })

/**
 * Rows without a key and an order come as they are stored. Without a bound PostgreSQL may begin anywhere in a large table,
 * so that a row is on two pages or on none.
 */
export const asStored = ({ key, order }: Source): Part =>
  order.length === 0 && key[0] === place ? [placedAfter("(0,0)")] : []

interface Slice {
  readonly select?: string
  readonly part?: Part
  readonly order?: ReadonlyArray<Order>
  readonly offset?: number
  readonly limit?: number
}

/** The address of some of the rows; by default of all. */
export const urlOf = (source: Source, { limit, offset = 0, order = source.order, part = [], select }: Slice) => {
  const query = new URLSearchParams([["select", select ?? source.select]])
  for (const [name, value] of [...source.filters, ...part.map(parameterOf)]) query.append(name, value)
  if (order.length > 0) query.set("order", orderText(order))
  if (offset > 0) query.set("offset", String(offset))
  if (limit !== undefined) query.set("limit", String(limit))
  return `${source.path}?${query}`
}

/** Of every request for its rows. */
export const headersOf = ({ schema, viewer }: Source): Readonly<Record<string, string>> => ({
  "accept-profile": schema,
  ...viewerHeaders(viewer)
})
