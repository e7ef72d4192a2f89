import { Context, Effect, Layer } from "effect"
import { LRUCache } from "lru-cache"
import { type Unavailable } from "../../domain/errors.ts"
import { openApiDocument } from "../../domain/schema/openapi/Document.ts"
import { swaggerDocument } from "../../domain/schema/openapi/Swagger.ts"
import { type SchemaOutline } from "../../domain/schema/Outline.ts"
import { type Actor, type Database } from "../ports/Db.ts"
import { ExposedSchemas } from "../catalogue/ExposedSchemas.ts"
import { makeSharedRuns } from "../SharedRuns.ts"
import { type WrittenOutline, writeOutline } from "./DatabaseSchemas.ts"

/** Documents kept, and their bytes in total. */
const maxDocuments = 16
const maxSize = 64 * 1024 * 1024

interface Document {
  /** The outline without its text. */
  readonly written: WrittenOutline
  /** Shared by all responses. */
  readonly bytes: Buffer
}

type Describe = (database: Database, actor: Actor, schema: string) => Effect.Effect<Buffer, Unavailable>

/** Documents of `/v1/db`. */
export class ApiDescriptions extends Context.Service<
  ApiDescriptions,
  {
    /** The current OpenAPI 3.1 document, as JSON text in UTF-8, of what the actor has privileges for in an exposed schema. */
    readonly describe: Describe
    /** The document in PostgREST's form, as Swagger 2.0. */
    readonly describeAsPostgrest: Describe
  }
>()("svc/services/ApiDescriptions") {
  static readonly layer = Layer.effect(
    ApiDescriptions,
    Effect.gen(function* () {
      const { schemas } = yield* ExposedSchemas
      const documents = new LRUCache<string, Document>({
        max: maxDocuments,
        maxSize: maxSize,
        sizeCalculation: ({ bytes }) => bytes.length || 1
      })
      const shared = yield* makeSharedRuns<Buffer, Unavailable>()

      const writer =
        (form: string, write: (outline: SchemaOutline, schema: string) => Generator<undefined, string>): Describe =>
        (database, actor, schema) => {
          const key = [form, database.name, actor.role, schema].join("\0")
          const request = { database, actor, schemas: [schema], whole: false }
          const described = Effect.suspend(() => {
            const before = documents.get(key)
            const written = writeOutline(request, (outline) => write(outline, schema), before?.written)
            return Effect.map(written, (written) => {
              if (before?.written === written) return before.bytes
              const bytes = Buffer.from(written.text)
              documents.set(key, { written: { stamp: written.stamp, text: "" }, bytes })
              return bytes
            })
          })
          return shared(key, described)
        }
      return ApiDescriptions.of({
        describe: writer("openapi", (outline, schema) =>
          openApiDocument(outline, { schema, standard: schema === schemas[0] })
        ),
        describeAsPostgrest: writer("swagger", swaggerDocument)
      })
    })
  )
}
