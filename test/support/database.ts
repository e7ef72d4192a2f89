import { ConfigProvider, Context, Effect, Layer, Redacted } from "effect"
import { type SqlClient } from "effect/sql"
import { Client } from "pg"
import { inject } from "vitest"
import { install } from "../../src/layers/install/Install.ts"
import { layerListener } from "../../src/layers/postgres/Listener.ts"
import { type Login, parseLogin } from "../../src/layers/postgres/Login.ts"
import { layerDb, layerOwnTables } from "../../src/layers/postgres/Db.ts"
import { PostgresAddress } from "../../src/layers/postgres/Address.ts"
import { ApiDescriptions } from "../../src/services/schema/ApiDescriptions.ts"
import { Catalogues } from "../../src/services/catalogue/Catalogues.ts"
import { type Db } from "../../src/services/ports/Db.ts"
import { DatabaseSchemas } from "../../src/services/schema/DatabaseSchemas.ts"
import { Functions } from "../../src/services/rows/Functions.ts"
import { Keys } from "../../src/services/access/Keys.ts"
import { type Listener } from "../../src/services/ports/Listener.ts"
import { Realtime } from "../../src/services/realtime/Realtime.ts"
import { RealtimeAccess } from "../../src/services/realtime/Access.ts"
import { RealtimeSettings } from "../../src/services/realtime/Settings.ts"
import { RealtimeSubscriptions } from "../../src/services/realtime/Subscriptions.ts"
import { Rows } from "../../src/services/rows/Rows.ts"
import { RowSettings } from "../../src/services/rows/Settings.ts"
import { SchemaOutlines } from "../../src/services/schema/Outlines.ts"
import { WatchedTables } from "../../src/services/catalogue/WatchedTables.ts"

type Row = Readonly<Record<string, unknown>>

/** A superuser's connection beside the service: makes what a test needs, and sees what really happened. */
export class Outside extends Context.Service<
  Outside,
  {
    readonly login: Login
    /** Any SQL; without parameters also several statements at once. */
    readonly sql: (text: string, params?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<Row>>
  }
>()("test/support/Outside") {}

/** Everything that works on one database, without HTTP. */
export type Database =
  | Outside
  | Db
  | Listener
  | SqlClient.SqlClient
  | RowSettings
  | Catalogues
  | Rows
  | Functions
  | Keys
  | DatabaseSchemas
  | ApiDescriptions
  | Realtime
  | RealtimeSubscriptions

export interface DatabaseOptions {
  /** Part of the database's name; one for each layer of a test file. */
  readonly name: string
  /** Environment variables of the service. */
  readonly settings?: Readonly<Record<string, string>>
  /** Run in the new database before the service starts on it. */
  readonly before?: string
}

const connect = (login: Login) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ ...login, password: Redacted.value(login.password) })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

const asking =
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

const template = "svc_test_template"

/**
 * A database with the service installed, that all others are copied from: it is quicker, and the password of
 * svc_authenticator, a role of the whole server, is set once and not anew by every test file.
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

const made = (name: string, before: string | undefined) =>
  Effect.gen(function* () {
    const root = parseLogin(inject("databaseUrl")) as Login
    const login = { ...root, database: `${name}_${process.pid}` }
    const ask = asking(yield* connect(root))
    yield* Effect.acquireRelease(
      Effect.gen(function* () {
        yield* ask("select pg_advisory_lock(4711)")
        yield* makeTemplate(root, ask)
        yield* ask(`create database ${login.database} template ${template}`)
        yield* ask("select pg_advisory_unlock(4711)")
      }),
      () => ask(`drop database ${login.database} with (force)`)
    )
    const sql = asking(yield* connect(login))
    if (before !== undefined) yield* sql(before)
    return Context.make(Outside, { login, sql })
  })

/** The service's own layers on a database of the test's own in the run's server. */
export const layerDatabase = (options: DatabaseOptions): Layer.Layer<Database> => {
  const settings = ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...options.settings }))
  const outside = Layer.effectContext(made(options.name, options.before))
  const address = Layer.effect(
    PostgresAddress,
    Effect.map(Outside, ({ login }) => login)
  )
  const ports = layerDb.pipe(
    Layer.provideMerge(Layer.mergeAll(layerOwnTables, layerListener, RowSettings.layer, RealtimeSettings.layer)),
    Layer.provide(address)
  )
  return Layer.mergeAll(Rows.layer, Functions.layer, RealtimeSubscriptions.layer).pipe(
    Layer.provideMerge(Realtime.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        Catalogues.layer,
        Keys.layer,
        Layer.mergeAll(DatabaseSchemas.layer, ApiDescriptions.layer).pipe(Layer.provide(SchemaOutlines.layer)),
        RealtimeAccess.layer,
        WatchedTables.layer
      )
    ),
    Layer.provideMerge(ports),
    Layer.provide(settings),
    Layer.provideMerge(outside),
    Layer.orDie
  )
}

/** For `layer`: with the real clock, which the listener's and the pools' waiting needs. */
export const live = { excludeTestServices: true } as const
