import { ConfigProvider, Effect, Layer, type Scope } from "effect"
import { type SqlClient } from "effect/sql"
import { inject } from "vitest"
import { quoteName } from "../../../src/domain/sql/Names.ts"
import { layerBackupDirectory } from "../../../src/layers/dumps/BackupDirectory.ts"
import { layerBranchDatabases } from "../../../src/layers/branches/Databases.ts"
import { layerDumpToolsFound } from "../../../src/layers/dumps/ToolsFound.ts"
import { layerListener } from "../../../src/layers/postgres/Listener.ts"
import { type Login, parseLogin } from "../../../src/layers/postgres/Login.ts"
import { layerDb, layerOwnTables } from "../../../src/layers/postgres/Db.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { BackupSettings } from "../../../src/services/backups/Settings.ts"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { BranchSettings } from "../../../src/services/branches/Settings.ts"
import { ExposedSchemas } from "../../../src/services/catalogue/ExposedSchemas.ts"
import { asLogin, toDatabase } from "./branches.ts"

const server = inject("databaseUrl")

/** Statements on a database of the server, as its superuser. */
export const on = (database: string, ...statements: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const done = await asLogin(toDatabase(server, database), ...statements)
    if (typeof done === "string") throw new Error(done)
    return done
  })
export const onServer = (...statements: ReadonlyArray<string>) => on("postgres", ...statements)

interface DatabaseOptions {
  /** Further options of CREATE DATABASE. */
  readonly like?: string
  /** Variables of the service. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A separate database with the service on it, as each branch terminates other sessions. */
export const withDatabase = <A, E>(
  name: string,
  body: (database: string, login: Login) => Effect.Effect<A, E, Branches | SqlClient.SqlClient | Scope.Scope>,
  options: DatabaseOptions = {}
) =>
  Effect.gen(function* () {
    const database = `${name}_${process.pid}`
    yield* Effect.acquireRelease(onServer(`create database ${quoteName(database)} ${options.like ?? ""}`), () =>
      Effect.gen(function* () {
        const branches = yield* on(database, "select database_name as name from svc.branches")
        for (const { name } of branches) {
          yield* onServer(`drop database if exists ${name} with (force)`)
          for (const role of [`${name}_keys`, `${name}_rows`, name]) yield* onServer(`drop role if exists ${role}`)
        }
        yield* onServer(`drop database ${quoteName(database)} with (force)`)
      })
    )
    const login = { ...(parseLogin(server) as Login), database }
    return yield* body(database, login).pipe(Effect.provide(layerOn(login, options)))
  }).pipe(Effect.scoped)

/** What dumps are made with. */
const layerDumps = layerDumpToolsFound.pipe(
  Layer.provideMerge(layerBackupDirectory),
  Layer.provideMerge(BackupSettings.layer)
)

/** One replica. */
export const layerOn = (login: Login, { settings = {} }: DatabaseOptions = {}) =>
  Branches.layer.pipe(
    Layer.provide(layerBranchDatabases),
    Layer.provide(layerDumps),
    Layer.provide(layerDb),
    Layer.provideMerge(Layer.mergeAll(layerOwnTables, layerListener, ExposedSchemas.layer, BranchSettings.layer)),
    Layer.provide(Layer.succeed(PostgresAddress, login)),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...settings }))),
    Layer.orDie
  )
