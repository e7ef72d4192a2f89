import { Context, Effect, Layer } from "effect"
import { databaseSchemaSql } from "../../domain/schema/DatabaseSchemaSql.ts"
import { InvalidRequest, type Unavailable } from "../../domain/errors.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { promisedWarning } from "../../domain/catalogue/Catalogue.ts"
import { typeScriptDatabase } from "../../domain/schema/typescript/Database.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { type Database, serviceActor } from "../ports/Db.ts"
import { ExposedSchemas } from "../catalogue/ExposedSchemas.ts"
import { asUnavailable, writeOutline } from "./Outlines.ts"

/** The contents of the exposed schemas (spec: GET /v1/database/schema). */
export class DatabaseSchemas extends Context.Service<
  DatabaseSchemas,
  {
    /** A `DatabaseSchema` as JSON text; `all`: also of the schemas that are not exposed. */
    readonly describe: (database: Database, all?: boolean) => Effect.Effect<string, Unavailable>
    /**
     * TypeScript source of the types of these schemas, or by default of all. 400 for a schema that is not exposed.
     */
    readonly types: (
      database: Database,
      schemas: ReadonlyArray<string>
    ) => Effect.Effect<string, InvalidRequest | Unavailable>
  }
>()("svc/services/DatabaseSchemas") {
  static readonly layer = Layer.effect(
    DatabaseSchemas,
    Effect.gen(function* () {
      const { schemas } = yield* ExposedSchemas
      const catalogues = yield* Catalogues

      const describe = (database: Database, all = false) =>
        Effect.gen(function* () {
          const { promised } = yield* catalogues.get(database)
          const params = [arrayLiteral(schemas), String(all), JSON.stringify(promised.map(promisedWarning))]
          const [body] = yield* database.run(serviceActor, { text: databaseSchemaSql, params, access: "read" })
          return String(body)
        }).pipe(Effect.catch(asUnavailable))

      const types = (database: Database, wanted: ReadonlyArray<string>) => {
        const unknown = wanted.find((schema) => !schemas.includes(schema))
        if (unknown !== undefined) {
          return Effect.fail(
            new InvalidRequest({
              error: `Invalid schema: ${unknown.slice(0, 100)}`,
              hint: `Only the following schemas are exposed: ${schemas.join(", ")}`
            })
          )
        }
        const chosen = wanted.length === 0 ? schemas : schemas.filter((schema) => wanted.includes(schema))
        const written = writeOutline({ database, actor: serviceActor, schemas: chosen, whole: true }, (outline) =>
          typeScriptDatabase(outline, chosen)
        )
        return Effect.map(written, ({ text }) => text)
      }

      return DatabaseSchemas.of({ describe, types })
    })
  )
}
