import { Effect } from "effect"
import { type Catalogue } from "../../domain/catalogue/Catalogue.ts"
import { stampsSql, tableStampsSql } from "../../domain/catalogue/CatalogueSql.ts"
import { type Database, serviceActor } from "../ports/Db.ts"

const ask = (database: Database, text: string, schema: string, name: string) =>
  Effect.map(
    database.run(serviceActor, { text, params: [schema, name], access: "read", searchPath: "pg_catalog" }),
    ([stamps]) => String(stamps)
  )

const stampsIn = (catalogue: Catalogue, schema: string, name: string) => {
  const relation = catalogue.relation(schema, name)
  const found = catalogue.functions(schema, name).map((fn) => fn.stamp)
  return (relation ? [relation.stamp, ...found] : found).sort().join(",")
}

/** Whether the relation and the functions of a name are still defined as in a catalogue. */
export const isSameDefinition = (database: Database, catalogue: Catalogue, schema: string, name: string) =>
  Effect.map(ask(database, stampsSql, schema, name), (stamps) => stamps === stampsIn(catalogue, schema, name))

/** Whether a table is, and what it refers to: nothing else decides what a request for it alone does. False if that is unknown. */
export const isSameTable = (database: Database, catalogue: Catalogue, schema: string, name: string) =>
  ask(database, tableStampsSql, schema, name).pipe(
    Effect.map((stamps) => stamps === `${catalogue.surroundings}/${stampsIn(catalogue, schema, name)}`),
    Effect.orElseSucceed(() => false)
  )
