import { ConfigProvider, Effect, Layer, ManagedRuntime, References, Result } from "effect"
import { type ClientError } from "../../src/domain/errors.ts"
import { queryPairs } from "../../src/domain/rows/parse/Parser.ts"
import { accepted, asJson } from "../../src/http/rows/Accept.ts"
import { parsePreferences } from "../../src/http/rows/Prefer.ts"
import { PostgresAddress } from "../../src/layers/postgres/Address.ts"
import * as postgres from "../../src/layers/postgres/layer.ts"
import { parseLogin } from "../../src/layers/postgres/Login.ts"
import * as access from "../../src/services/access/layer.ts"
import { Catalogues } from "../../src/services/catalogue/Catalogues.ts"
import * as changes from "../../src/services/changes/layer.ts"
import { type Actor, Db, type Statement } from "../../src/services/ports/Db.ts"
import { Functions } from "../../src/services/rows/Functions.ts"
import * as rows from "../../src/services/rows/layer.ts"
import { RowSettings } from "../../src/services/rows/Settings.ts"
import { ExposedSchemas } from "../../src/services/catalogue/ExposedSchemas.ts"
import { Rows } from "../../src/services/rows/Rows.ts"
import { type Asked } from "./requests.ts"

/** How a request was answered. */
interface Told {
  /** The request succeeded. */
  readonly done: boolean
  /** Whether all its statements were to run on clean connections; undefined where that cannot be seen. */
  readonly clean: boolean | undefined
}

/** The service, by its layers or by its address. */
export interface Target extends AsyncDisposable {
  readonly ask: (asked: Asked) => Promise<Told>
  /** Waits until the service plans with the definitions that were committed last. */
  readonly caughtUp: (epoch: number, marker: string) => Promise<void>
}

export const sub = "00000000-0000-0000-0000-000000000007"
const actors: Readonly<Record<Asked["role"], Actor>> = {
  anon: { role: "anon", claims: "", sub: "" },
  authenticated: { role: "authenticated", claims: JSON.stringify({ sub, role: "authenticated" }), sub },
  service_role: { role: "service_role", claims: "", sub: "" }
}

/** Settings of the service that the requests need. */
export const settings = { SVC_DB_AGGREGATES: "true", SVC_DB_SCHEMAS: "public,other" }

/** The service's own layers on this database, in this process. */
export const inProcess = async (databaseUrl: string): Promise<Target> => {
  const login = parseLogin(databaseUrl)
  if (login === undefined) throw new Error("The address of the database is invalid")
  const config = ConfigProvider.layer(ConfigProvider.fromEnvRecord({ ...settings, SVC_DB_TIMEOUT: "10s" }))
  const layer = rows.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Catalogues.layer, changes.layer, access.layer)),
    Layer.provideMerge(postgres.layer),
    Layer.provideMerge(Layer.mergeAll(ExposedSchemas.layer, RowSettings.layer)),
    Layer.provide(Layer.succeed(PostgresAddress, login)),
    Layer.provide(config),
    // It warns of every function that is IMMUTABLE without proof, as tripwires are.
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Error")),
    Layer.orDie
  )
  const runtime = ManagedRuntime.make(layer)
  const { catalogues, db, functions, searchPath, table } = await runtime.runPromise(
    Effect.gen(function* () {
      return {
        catalogues: yield* Catalogues,
        db: yield* Db,
        functions: yield* Functions,
        searchPath: (yield* ExposedSchemas).searchPath,
        table: yield* Rows
      }
    })
  )
  /** The database, which adds to the list what it runs. */
  const recording = (statements: Array<Statement>): typeof db.main => ({
    ...db.main,
    run: (actor, statement) => {
      statements.push(statement)
      return db.main.run(actor, statement)
    }
  })
  const requestOf = ({ accept, method, path, prefer, role, schema }: Asked, statements: Array<Statement>) => {
    const [name = "", query = ""] = path.replace(/^rpc\//, "").split("?", 2)
    return {
      database: recording(statements),
      actor: actors[role],
      schema,
      searchPath: searchPath(schema),
      table: name,
      query: queryPairs(query) ?? [],
      preferences: Result.getOrThrow(parsePreferences(prefer)),
      range: undefined,
      form: accept === undefined ? asJson.form : Result.getOrThrow(accepted(accept, false)).form,
      context: { method, path: `/v1/db/${path}`, headers: "{}", cookies: "{}" }
    }
  }
  const effectOf = (asked: Asked, statements: Array<Statement>): Effect.Effect<unknown, ClientError> => {
    const { body, method, path } = asked
    const request = requestOf(asked, statements)
    const json = Buffer.from(JSON.stringify(body ?? {}))
    if (path.startsWith("rpc/")) {
      const { table: name, ...rest } = request
      const reads = method === "GET" || method === "HEAD"
      return functions.call({
        ...rest,
        name,
        method: reads ? method : "POST",
        body: reads ? { _tag: "None" } : { _tag: "Json", json }
      })
    }
    switch (method) {
      case "POST":
        return table.insert(request, json)
      case "PUT":
        return table.upsertOne(request, json)
      case "PATCH":
        return table.update(request, json)
      case "DELETE":
        return table.remove(request)
      default:
        return table.read(request)
    }
  }
  return {
    ask: async (asked) => {
      const statements: Array<Statement> = []
      const done = await runtime.runPromise(
        Effect.match(effectOf(asked, statements), { onSuccess: () => true, onFailure: () => false })
      )
      // Those that read the catalogue are the service's own.
      const own = statements.filter(({ searchPath }) => searchPath !== "pg_catalog")
      return { done, clean: own.length > 0 && own.every(({ clean, epoch }) => clean === true && epoch !== undefined) }
    },
    caughtUp: async (epoch) => {
      const until = Date.now() + 20_000
      for (;;) {
        const current = await runtime.runPromise(
          Effect.map(catalogues.get(db.main), (now) => catalogues.epoch(db.main, now))
        )
        if ((current ?? 0) >= epoch) return
        if (Date.now() > until) throw new Error("The service has not read the new definitions within 20 s")
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    },
    [Symbol.asyncDispose]: () => runtime.dispose()
  }
}
