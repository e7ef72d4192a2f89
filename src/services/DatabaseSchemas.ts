import { Context, Effect, Layer } from "effect"
import { databaseSchemaSql } from "../domain/DatabaseSchemaSql.ts"
import { type DatabaseError, type Unavailable } from "../domain/errors.ts"
import { arrayLiteral } from "../domain/RowText.ts"
import { type Database } from "./Db.ts"
import { RowSettings } from "./RowSettings.ts"

/** What is in the exposed schemas, for tools and people (spec: GET /v1/database/schema). */
export class DatabaseSchemas extends Context.Service<
  DatabaseSchemas,
  {
    /** A `DatabaseSchema` as JSON text. */
    readonly describe: (database: Database) => Effect.Effect<string, DatabaseError | Unavailable>
  }
>()("svc/services/DatabaseSchemas") {
  static readonly layer = Layer.effect(
    DatabaseSchemas,
    Effect.gen(function* () {
      const { schemas } = yield* RowSettings
      const describe = (database: Database) =>
        Effect.map(
          database.run(
            { role: "service_role", claims: "", sub: "" },
            { text: databaseSchemaSql, params: [arrayLiteral(schemas)], clean: true, access: "read" }
          ),
          ([body]) => String(body)
        )
      return DatabaseSchemas.of({ describe })
    })
  )
}
