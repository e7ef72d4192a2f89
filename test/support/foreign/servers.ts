import { Context, Effect, Layer } from "effect"
import { type NewForeignServer, type NewUserMapping } from "../../../src/domain/foreign/ForeignData.ts"
import { ForeignData } from "../../../src/services/foreign/ForeignData.ts"
import { ForeignImports } from "../../../src/services/foreign/Imports.ts"
import { layerDatabase, Outside } from "../database.ts"
import { type OtherPostgres, startOtherPostgres } from "../postgres/external.ts"

/** The other PostgreSQL server, whose tables are imported. */
export class Other extends Context.Service<Other, OtherPostgres>()("test/support/Other") {}

/** Foreign data on the test's own database, and another PostgreSQL server. */
export const layerForeignData = (name: string) =>
  Layer.mergeAll(ForeignData.layer, ForeignImports.layer).pipe(
    Layer.provideMerge(layerDatabase({ name })),
    Layer.provideMerge(Layer.effect(Other, Effect.acquireDisposable(Effect.promise(startOtherPostgres))))
  )

/** Runs SQL on the local database. */
export const here = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
/** Runs SQL on the other server. */
export const there = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Other, ({ sql }) => Effect.promise(() => sql(text, params)))

export const listed = Effect.flatMap(ForeignData, ({ list }) => list)

/** Creates a foreign server, by default the other one. */
export const makeServer = (given: Partial<NewForeignServer> & { readonly name: string }) =>
  Effect.gen(function* () {
    const { port } = yield* Other
    const { createServer } = yield* ForeignData
    return yield* createServer({ host: "127.0.0.1", port: String(port), dbname: "postgres", ...given })
  })

/** Maps the role of service keys, by default to the other server's superuser. */
export const mapUser = (server: string, given: Partial<NewUserMapping> = {}) =>
  Effect.gen(function* () {
    const { password } = yield* Other
    const { createMapping } = yield* ForeignData
    const mapping = { local_user: "current_user", remote_user: "postgres", remote_password: password }
    return yield* createMapping({ server, ...mapping, ...given })
  })

export const importAll = (server: string, remote_schema: string, local_schema: string) =>
  Effect.flatMap(ForeignImports, ({ run }) => run({ server, remote_schema, local_schema }))
