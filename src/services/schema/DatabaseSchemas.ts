import { Context, Effect, Layer } from "effect"
import { LRUCache } from "lru-cache"
import { promisedWarning } from "../../domain/catalogue/Catalogue.ts"
import { type DatabaseError, InvalidRequest, Unavailable } from "../../domain/errors.ts"
import { databaseSchemaSql } from "../../domain/schema/DatabaseSchemaSql.ts"
import { type SchemaOutline } from "../../domain/schema/Outline.ts"
import { schemaOutlineSql } from "../../domain/schema/OutlineSql.ts"
import { typeScriptDatabase } from "../../domain/schema/typescript/Database.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { yieldEvery } from "../LoopTurn.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { ExposedSchemas } from "../catalogue/ExposedSchemas.ts"
import { type Actor, type Database, serviceActor } from "../ports/Db.ts"

export interface OutlineRequest {
  readonly database: Database
  readonly actor: Actor
  readonly schemas: ReadonlyArray<string>
  /** Everything, not only what the actor has privileges for. */
  readonly whole: boolean
}

/** A generated text. */
export interface WrittenOutline {
  /** Changes with everything the text was generated from, GRANT and REVOKE included. */
  readonly stamp: string
  readonly text: string
}

const busy = new Unavailable({ error: "The database is too busy to read its schema; retry", code: "DATABASE_BUSY" })
/** Maps errors of this folder's statements: one that takes too long can be retried. */
export const asUnavailable = (error: DatabaseError | Unavailable): Effect.Effect<never, Unavailable> => {
  if (error._tag === "Unavailable") return Effect.fail(error)
  // The statement is the service's own, so its errors are not the caller's.
  return error.status === 504 ? Effect.fail(busy) : Effect.die(error)
}

/**
 * Generates a text from the contents of exposed schemas, yielding between steps of the generator. Gives `before` if
 * nothing has changed since. Takes one round trip to PostgreSQL.
 */
export const writeOutline = Effect.fn("schema.writeOutline")(function* (
  { actor, database, schemas, whole }: OutlineRequest,
  write: (outline: SchemaOutline) => Generator<undefined, string>,
  before?: WrittenOutline
) {
  const params = [arrayLiteral(schemas), String(whole), before?.stamp ?? null]
  const statement = { text: schemaOutlineSql, params, access: "read" } as const
  const [stamp, outline] = yield* Effect.catch(database.run(actor, statement), asUnavailable)
  if (typeof outline !== "string" && before !== undefined) return before
  const pause = yield* yieldEvery()
  const steps = write(JSON.parse(String(outline)) as SchemaOutline)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return { stamp: String(stamp), text: step.value } satisfies WrittenOutline
    yield* pause
  }
})

/** Generated types that are kept, and their characters in total. */
const [maxSources, maxSourceLength] = [16, 32 * 1024 * 1024]

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

      const sources = new LRUCache<string, WrittenOutline>({
        max: maxSources,
        maxSize: maxSourceLength,
        sizeCalculation: ({ text }) => text.length || 1
      })

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
        const key = [database.name, ...chosen].join("\0")
        const written = Effect.suspend(() =>
          writeOutline(
            { database, actor: serviceActor, schemas: chosen, whole: true },
            (outline) => typeScriptDatabase(outline, chosen),
            sources.get(key)
          )
        )
        return Effect.map(written, (written) => {
          sources.set(key, written)
          return written.text
        })
      }

      return DatabaseSchemas.of({ describe, types })
    })
  )
}
