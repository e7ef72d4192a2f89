import { Effect, Layer } from "effect"
import { AnswerBudget } from "../../services/access/AnswerBudget.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { Db } from "../../services/ports/Db.ts"
import { layerSchemaGrants } from "../install/SchemaGrants.ts"
import { layerCallerSql } from "./CallerSql.ts"
import { DbSettings, layerDb, layerOwnTables } from "./Db.ts"
import { layerListener } from "./Listener.ts"
import { layerRoleSessions } from "./sql/RoleSessions.ts"
import { layerChangeLog } from "./log/ChangeLog.ts"
import { layerServerCheck } from "./servers/ServerCheck.ts"

/** After `layerDb`, which installs the service's tables. */
const layerNewSchemas = Layer.unwrap(
  Effect.gen(function* () {
    yield* Db
    const { schemas } = yield* ExposedSchemas
    return layerSchemaGrants(schemas, (yield* DbSettings).serviceRole)
  })
)

/** The ports of PostgreSQL, on the server that `layers/postgres/Installation.ts` chooses. */
export const layer = Layer.mergeAll(layerCallerSql, layerRoleSessions, layerNewSchemas).pipe(
  Layer.provideMerge(layerDb),
  Layer.provideMerge(Layer.mergeAll(layerOwnTables, layerListener, layerChangeLog)),
  Layer.provide(layerServerCheck),
  // Settings are read before the server is asked, so that an invalid one is reported at once.
  Layer.provide([DbSettings.layer, AnswerBudget.layer])
)
