import { Effect, Result } from "effect"
import { type Catalogue } from "../../domain/catalogue/Catalogue.ts"
import { type ClientError } from "../../domain/errors.ts"
import { parseRows } from "../../domain/rows/parse/Parser.ts"
import { type Selected } from "../../domain/rows/parse/Query.ts"
import { type Catalogues } from "../catalogue/Catalogues.ts"
import { type Database, type Statement } from "../ports/Db.ts"

/** Errors that a newer catalogue may resolve: unknown relationship, function, column or table. */
const outdated: ReadonlySet<string> = new Set(["PGRST200", "PGRST202", "PGRST204", "PGRST205"])

/** The most names that are looked up again. */
const maxNames = 5

/** The relations that a query embeds, in order. */
const embedNames = (select: ReadonlyArray<Selected>): ReadonlyArray<string> =>
  select.flatMap((item) => (item._tag === "Embed" ? [item.relation, ...embedNames(item.select)] : []))

const namesIn = (query: ReadonlyArray<readonly [string, string]>) => {
  const parsed = parseRows(query)
  return Result.isSuccess(parsed) ? embedNames(parsed.success.select) : []
}

/** The table or function of a request, and its query. */
export interface Lookup {
  readonly database: Database
  readonly schema: string
  readonly table: string
  readonly query: ReadonlyArray<readonly [string, string]>
  /** The current definition of that name is required. */
  readonly exact?: boolean
}

export interface LookedUp<A> {
  readonly value: A
  /** The epoch of the catalogue, if it is certainly current. */
  readonly epoch: number | undefined
  /** See `Statement`. */
  readonly freshPlans: boolean
}

/**
 * Plans with the cached catalogue. If planning fails because the catalogue may be outdated, looks the names of the query
 * up in the database, and plans again when one of them is new or has changed.
 */
export const lookUp = <A>(
  catalogues: Catalogues["Service"],
  { database, schema, table, query, exact }: Lookup,
  plan: (catalogue: Catalogue) => Result.Result<A, ClientError>
): Effect.Effect<LookedUp<A>, ClientError> => {
  let last: ClientError | undefined
  const pick = (catalogue: Catalogue) => {
    const planned = plan(catalogue)
    if (Result.isFailure(planned) && outdated.has(planned.failure.code)) {
      last = planned.failure
      return undefined
    }
    return Result.map(planned, (value) => ({
      value,
      epoch: catalogues.epoch(database, catalogue),
      freshPlans: catalogue.promised.length > 0
    }))
  }
  const alone = () => namesIn(query).length === 0
  const find = (name: string, others: () => ReadonlyArray<string>): Effect.Effect<LookedUp<A>, ClientError> =>
    Effect.flatMapEager(
      catalogues.find(database, schema, name, pick, { exact: exact && name === table, alone }),
      (found) => {
        if (found !== undefined) return Effect.fromResult(found)
        const [next, ...left] = others()
        return next === undefined && last !== undefined ? Effect.fail(last) : find(next ?? name, () => left)
      }
    )
  return find(table, () => namesIn(query).slice(0, maxNames))
}

/** A planned statement; without `sql`, there is nothing to run. */
interface Runnable {
  readonly clean: boolean
  readonly sql: { readonly text: string } | undefined
}

/** How the statement of a plan is planned again; see `Statement`. */
export const replanOf = <A extends Runnable>(
  catalogues: Catalogues["Service"],
  database: Database,
  { epoch, value }: LookedUp<A>,
  plan: (catalogue: Catalogue) => Result.Result<Runnable, ClientError>
): Statement["replan"] =>
  epoch === undefined || !value.clean
    ? undefined
    : Effect.suspend(() =>
        Effect.map(catalogues.after(database, epoch), (catalogue) => {
          const planned = plan(catalogue)
          const { clean, sql } = Result.isSuccess(planned) ? planned.success : { clean: false, sql: undefined }
          return { clean, text: sql?.text ?? "", epoch: catalogues.epoch(database, catalogue) }
        })
      )
