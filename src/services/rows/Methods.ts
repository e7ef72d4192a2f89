import { Context, Effect, Layer } from "effect"
import { type ClientError, NotFound } from "../../domain/errors.ts"
import { noTable } from "../../domain/rows/Refusals.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { type Database, serviceActor } from "../ports/Db.ts"

type Methods = Effect.Effect<ReadonlyArray<string>, ClientError>

const reading = ["OPTIONS", "GET", "HEAD"]

/**
 * The statements that a relation ($1 schema, $2 name) accepts, as bits; views also by INSTEAD OF triggers. Not part of the
 * catalogue, because PostgreSQL may have to call a foreign data wrapper.
 */
const writableSql = `
select coalesce((
  select case when c.relkind in ('r', 'p') then 28 when c.relkind = 'm' then 0 else pg_catalog.pg_relation_is_updatable(c.oid, true) end
  from pg_class c where c.relname = $2 and c.relnamespace = (select oid from pg_namespace where nspname = $1)
    and c.relkind in ('r', 'p', 'v', 'm', 'f')), 0)::text`

/** Bits of pg_catalog.pg_relation_is_updatable(): 1 shifted by the statement's CmdType. */
const updates = 1 << 2
const inserts = 1 << 3
const deletes = 1 << 4

/** The methods that a path of `/v1/db` allows, independent of the caller's privileges. */
export class RowMethods extends Context.Service<
  RowMethods,
  {
    readonly ofTable: (database: Database, schema: string, table: string) => Methods
    readonly ofFunction: (database: Database, schema: string, name: string) => Methods
  }
>()("svc/services/RowMethods") {
  static readonly layer = Layer.effect(
    RowMethods,
    Effect.gen(function* () {
      const catalogues = yield* Catalogues

      const ofTable = Effect.fnUntraced(function* (database: Database, schema: string, table: string) {
        const relation = yield* catalogues.find(database, schema, table, (all) => all.relation(schema, table))
        if (relation === undefined) {
          const catalogue = yield* catalogues.get(database)
          return yield* noTable(catalogue.names(schema), schema, table)
        }
        const [bits] = yield* database.run(serviceActor, {
          text: writableSql,
          params: [schema, table],
          access: "read",
          searchPath: "pg_catalog"
        })
        const may = (all: number) => (Number(bits) & all) === all
        return [
          ...reading,
          ...(may(inserts) ? ["POST"] : []),
          ...(may(inserts | updates) && relation.primary_key.length > 0 ? ["PUT"] : []),
          ...(may(updates) ? ["PATCH"] : []),
          ...(may(deletes) ? ["DELETE"] : [])
        ]
      })

      const ofFunction = Effect.fnUntraced(function* (database: Database, schema: string, name: string) {
        const found = yield* catalogues.find(database, schema, name, (all) => {
          const overloads = all.functions(schema, name)
          return overloads.length === 0 ? undefined : overloads
        })
        if (found === undefined) {
          return yield* new NotFound({
            error: `Could not find the function ${schema}.${name} in the schema cache`,
            code: "PGRST202"
          })
        }
        return found.every(({ volatile }) => volatile) ? ["OPTIONS", "POST"] : [...reading, "POST"]
      })

      return RowMethods.of({ ofTable, ofFunction })
    })
  )
}
