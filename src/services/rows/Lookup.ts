import { Effect, Result } from "effect"
import { type Catalogue } from "../../domain/catalogue/Catalogue.ts"
import { type ClientError } from "../../domain/errors.ts"
import { parseRows } from "../../domain/rows/parse/Parser.ts"
import { type Selected } from "../../domain/rows/parse/Query.ts"
import { type Catalogues } from "../catalogue/Catalogues.ts"
import { type Database } from "../ports/Db.ts"

/** Refusals that a newer catalogue may turn: no such relationship, column, function, table. */
const outdated: ReadonlySet<string> = new Set(["PGRST200", "PGRST202", "PGRST204", "PGRST205"])

/** More names than this are not looked for again. */
const maxNames = 5

/** The names that a query leads to by embeds, in its order. */
const embedNames = (select: ReadonlyArray<Selected>): ReadonlyArray<string> =>
  select.flatMap((item) => (item._tag === "Embed" ? [item.relation, ...embedNames(item.select)] : []))

const namesIn = (query: ReadonlyArray<readonly [string, string]>) => {
  const parsed = parseRows(query)
  return Result.isSuccess(parsed) ? embedNames(parsed.success.select) : []
}

/** What is asked of a table, or of a function's rows. */
export interface Lookup {
  readonly database: Database
  readonly schema: string
  readonly table: string
  readonly query: ReadonlyArray<readonly [string, string]>
  /** What stands under that name must be known as it is now. */
  readonly exact?: boolean
}

export interface LookedUp<A> {
  readonly value: A
  /** What was looked at is known to be as it is now. */
  readonly trusted: boolean
}

/**
 * Plans with what is known of the catalogue. When that may be too old for it, the names in the query are looked for in
 * the database, and when one of them is new or another, it is planned once more.
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
    return Result.map(planned, (value) => ({ value, trusted: catalogues.trusted(database, catalogue) }))
  }
  const find = (name: string, others: () => ReadonlyArray<string>): Effect.Effect<LookedUp<A>, ClientError> =>
    Effect.flatMap(catalogues.find(database, schema, name, pick, exact && name === table), (found) => {
      if (found !== undefined) return Effect.fromResult(found)
      const [next, ...left] = others()
      return next === undefined && last !== undefined ? Effect.fail(last) : find(next ?? name, () => left)
    })
  return find(table, () => namesIn(query).slice(0, maxNames))
}
