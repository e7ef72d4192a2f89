import { Context, Effect, Layer } from "effect"
import { LRUCache } from "lru-cache"
import { type Unavailable } from "../../domain/errors.ts"
import { openApiDocument } from "../../domain/schema/openapi/Document.ts"
import { type Actor, type Database } from "../ports/Db.ts"
import { RowSettings } from "../rows/Settings.ts"
import { writeOutline, type Written } from "./Outlines.ts"

/** Documents kept, and their characters in total. */
const maxDocuments = 16
const maxCharacters = 64 * 1024 * 1024

/** OpenAPI documents of `/v1/db`. */
export class ApiDescriptions extends Context.Service<
  ApiDescriptions,
  {
    /** The current OpenAPI 3.1 document, as JSON text, of what the actor has privileges for in an exposed schema. */
    readonly describe: (database: Database, actor: Actor, schema: string) => Effect.Effect<string, Unavailable>
  }
>()("svc/services/ApiDescriptions") {
  static readonly layer = Layer.effect(
    ApiDescriptions,
    Effect.gen(function* () {
      const { schemas } = yield* RowSettings
      const documents = new LRUCache<string, Written>({
        max: maxDocuments,
        maxSize: maxCharacters,
        sizeCalculation: ({ text }) => text.length
      })

      const describe = (database: Database, actor: Actor, schema: string) => {
        const key = [database.name, actor.role, schema].join("\0")
        const subject = { schema, standard: schema === schemas[0] }
        const request = { database, actor, schemas: [schema], whole: false }
        const written = writeOutline(request, (outline) => openApiDocument(outline, subject), documents.get(key))
        return Effect.map(written, (document) => {
          documents.set(key, document)
          return document.text
        })
      }
      return ApiDescriptions.of({ describe })
    })
  )
}
