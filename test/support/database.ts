import { ConfigProvider, Context, Effect, Layer } from "effect"
import { type SqlClient } from "effect/sql"
import { Client } from "pg"
import { inject } from "vitest"
import { install } from "../../src/layers/install/Install.ts"
import { type Login, parseLogin, pgConfig } from "../../src/layers/postgres/Login.ts"
import * as postgres from "../../src/layers/postgres/layer.ts"
import { layerOwnTables } from "../../src/layers/postgres/Db.ts"
import { PostgresAddress } from "../../src/layers/postgres/Address.ts"
import { type AnswerBudget } from "../../src/services/access/AnswerBudget.ts"
import { type ApiDescriptions } from "../../src/services/schema/ApiDescriptions.ts"
import { OwnJobs } from "../../src/services/OwnJobs.ts"
import { type RoleSessions } from "../../src/services/ports/schedules/RoleSessions.ts"
import { type Db } from "../../src/services/ports/Db.ts"
import { type DatabaseSchemas } from "../../src/services/schema/DatabaseSchemas.ts"
import { type Functions } from "../../src/services/rows/Functions.ts"
import { type Keys } from "../../src/services/access/Keys.ts"
import { type Listener } from "../../src/services/ports/Listener.ts"
import { type Realtime } from "../../src/services/realtime/Realtime.ts"
import { RealtimeSettings } from "../../src/services/realtime/Settings.ts"
import { type RealtimeSubscriptions } from "../../src/services/realtime/Subscriptions.ts"
import { type Rows } from "../../src/services/rows/Rows.ts"
import { SupabaseSettings } from "../../src/services/supabase/Settings.ts"
import { ExposedSchemas } from "../../src/services/catalogue/ExposedSchemas.ts"
import { RowSettings } from "../../src/services/rows/Settings.ts"

import * as access from "../../src/services/access/layer.ts"
import { Catalogues } from "../../src/services/catalogue/Catalogues.ts"
import * as changes from "../../src/services/changes/layer.ts"
import * as realtime from "../../src/services/realtime/layer.ts"
import * as rows from "../../src/services/rows/layer.ts"
import * as schema from "../../src/services/schema/layer.ts"

type Row = Readonly<Record<string, unknown>>

/** A superuser connection separate from the service, to set up tests and check their effects. */
export class Outside extends Context.Service<
  Outside,
  {
    readonly login: Login
    /** Runs any SQL; without parameters, also several statements at once. */
    readonly sql: (text: string, params?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<Row>>
  }
>()("test/support/Outside") {}

/** All services of one database, without HTTP. */
export type Database =
  | Outside
  | AnswerBudget
  | Db
  | Listener
  | SqlClient.SqlClient
  | ExposedSchemas
  | RowSettings
  | Catalogues
  | Rows
  | Functions
  | Keys
  | DatabaseSchemas
  | ApiDescriptions
  | Realtime
  | RealtimeSubscriptions
  | OwnJobs
  | RoleSessions

export interface DatabaseOptions {
  /** Part of the database's name; one for each layer of a test file. */
  readonly name: string
  /** Environment variables of the service. */
  readonly settings?: Readonly<Record<string, string>>
  /** Run in the new database before the service starts on it. */
  readonly before?: string
}

/** A connection, until the scope closes. */
export const connect = (login: Login) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(pgConfig(login, {}))
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

/** Runs SQL on a connection; an error is a defect that names the place in the SQL. */
export const asking =
  (client: Client) =>
  (text: string, params: ReadonlyArray<unknown> = []) =>
    Effect.promise(async () => {
      try {
        return (await client.query<Row>(text, [...params])).rows
      } catch (cause) {
        const { message, position } = cause as Error & { readonly position?: string }
        throw new Error(`${message}: ${text.slice(Number(position ?? 1) - 1).slice(0, 80)}`, { cause })
      }
    })

/** A further superuser session, such as for open transactions and settings. Returns the rows of one statement. */
export const session = Effect.flatMap(Outside, ({ login }) => Effect.map(connect(login), asking))

const template = "svc_test_template"

/**
 * Creates a database with the service installed, as the template of all others. Copying is faster, and the password of
 * svc_authenticator, a role shared by the whole server, is set only once instead of by every test file.
 */
const makeTemplate = (root: Login, ask: ReturnType<typeof asking>) =>
  Effect.gen(function* () {
    const there = yield* ask("select from pg_database where datname = $1", [template])
    if (there.length > 0) return
    const half = `${template}_half`
    yield* ask(`drop database if exists ${half}`)
    yield* ask(`create database ${half}`)
    const address = Layer.succeed(PostgresAddress, { ...root, database: half })
    yield* install({ serviceRole: root.user, schemas: ["public"] }).pipe(
      Effect.provide(Layer.provide(layerOwnTables, address)),
      Effect.orDie
    )
    yield* ask(`alter database ${half} rename to ${template}`)
  })

/** A new database of the run's server with the service installed, until the scope closes. */
export const newDatabase = (database: string) =>
  Effect.gen(function* () {
    const root = parseLogin(inject("databaseUrl")) as Login
    const ask = asking(yield* connect(root))
    yield* Effect.acquireRelease(
      Effect.gen(function* () {
        yield* ask("select pg_advisory_lock(4711)")
        yield* makeTemplate(root, ask)
        yield* ask(`create database ${database} template ${template}`)
        yield* ask("select pg_advisory_unlock(4711)")
      }),
      () => ask(`drop database ${database} with (force)`)
    )
    return { ...root, database }
  })

const made = (name: string, before: string | undefined) =>
  Effect.gen(function* () {
    const login = yield* newDatabase(`${name}_${process.pid}`)
    const sql = asking(yield* connect(login))
    if (before !== undefined) yield* sql(before)
    return Context.make(Outside, { login, sql })
  })

/** The service's layers on a new database, which is on the PostgreSQL server shared by the run. */
export const layerDatabase = (options: DatabaseOptions): Layer.Layer<Database> => {
  const settings = ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...options.settings }))
  const outside = Layer.effectContext(made(options.name, options.before))
  const address = Layer.effect(
    PostgresAddress,
    Effect.map(Outside, ({ login }) => login)
  )
  return Layer.mergeAll(rows.layer, schema.layer, realtime.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(Catalogues.layer, changes.layer, access.layer)),
    Layer.provideMerge(postgres.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        OwnJobs.layer,
        ExposedSchemas.layer,
        RowSettings.layer,
        RealtimeSettings.layer,
        SupabaseSettings.layer
      )
    ),
    Layer.provide(address),
    Layer.provide(settings),
    Layer.provideMerge(outside),
    Layer.orDie
  )
}

/** Options of `layer` for the real clock, which the listener and the pools need for their timeouts. */
export const live = { excludeTestServices: true } as const
