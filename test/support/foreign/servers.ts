import { Context, Effect, Layer } from "effect"
import { type NewForeignServer, type NewUserMapping } from "../../../src/domain/foreign/ForeignData.ts"
import { ForeignData } from "../../../src/services/foreign/ForeignData.ts"
import { ForeignImports } from "../../../src/services/foreign/Imports.ts"
import { ForeignSessions } from "../../../src/services/foreign/Sessions.ts"
import { layerDatabase, Outside } from "../database.ts"
import { type OtherPostgres, startOtherPostgres } from "../postgres/external.ts"

/** Another PostgreSQL, whose tables are wanted. */
export class Other extends Context.Service<Other, OtherPostgres>()("test/support/Other") {}

/** Foreign data in a database of the test's own, and another server beside it. */
export const layerForeignData = (name: string) =>
  Layer.mergeAll(ForeignData.layer, ForeignImports.layer).pipe(
    Layer.provide(ForeignSessions.layer),
    Layer.provideMerge(layerDatabase({ name })),
    Layer.provideMerge(Layer.effect(Other, Effect.acquireDisposable(Effect.promise(startOtherPostgres))))
  )

/** SQL in the database here. */
export const here = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
/** SQL in the other server. */
export const there = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Other, ({ sql }) => Effect.promise(() => sql(text, params)))

export const listed = Effect.flatMap(ForeignData, ({ list }) => list)

/** The other server, unless `given` says otherwise. */
export const makeServer = (given: Partial<NewForeignServer> & { readonly name: string }) =>
  Effect.gen(function* () {
    const { port } = yield* Other
    const { createServer } = yield* ForeignData
    return yield* createServer({ host: "127.0.0.1", port: String(port), dbname: "postgres", ...given })
  })

/** The role of service keys is the other server's superuser, unless `given` says otherwise. */
export const mapUser = (server: string, given: Partial<NewUserMapping> = {}) =>
  Effect.gen(function* () {
    const { password } = yield* Other
    const { createMapping } = yield* ForeignData
    const mapping = { local_user: "current_user", remote_user: "postgres", remote_password: password }
    return yield* createMapping({ server, ...mapping, ...given })
  })

export const importAll = (server: string, remote_schema: string, local_schema: string) =>
  Effect.flatMap(ForeignImports, ({ run }) => run({ server, remote_schema, local_schema }))
