import { Effect, Layer } from "effect"
import { Environments } from "../../../src/services/environments/Environments.ts"
import { EnvironmentSettings } from "../../../src/services/environments/Settings.ts"
import { makeBucketsFake } from "../../fakes/storage/buckets.ts"
import { Outside } from "../database.ts"

export const ask = (text: string) => Effect.flatMap(Outside, ({ sql }) => sql(text))
export const column = (text: string) => Effect.map(ask(text), (rows) => rows.map((row) => Object.values(row)[0]))
export const schemas = column("select nspname::text from pg_namespace where nspname like 'project%' order by 1")
export const drafts = column("select bucket_name from svc.environment_drafts order by 1")
export const store = makeBucketsFake()
/** Each call is another replica. */
export const replica = (limit = 100) =>
  Layer.fresh(
    Environments.layer.pipe(
      Layer.provide(store.layer),
      Layer.provide(
        Layer.succeed(EnvironmentSettings, {
          project: { id: "default", schema: "project", bucket: "project" },
          limit,
          owner: "postgres"
        })
      )
    )
  )
export const on = <A, E>(use: (environments: Environments["Service"]) => Effect.Effect<A, E>, limit?: number) =>
  Effect.scoped(Effect.flatMap(Environments, use).pipe(Effect.provide(replica(limit))))
export const create = (slug: string, limit?: number, config?: object) =>
  on(
    (environments) =>
      environments.create("default", {
        name: slug,
        slug,
        ...(config === undefined ? {} : { config: config as Record<string, unknown> })
      }),
    limit
  )

/** A test that begins with nothing. */
export const empty = Effect.gen(function* () {
  store.mend()
  store.buckets.clear()
  store.full.clear()
  yield* ask("truncate svc.environments, svc.environment_drafts")
  for (const name of yield* schemas) yield* ask(`drop schema "${String(name)}" cascade`)
})
