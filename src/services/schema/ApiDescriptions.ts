import { Context, Effect, Layer } from "effect"
import { type Unavailable } from "../../domain/errors.ts"
import { openApiDocument } from "../../domain/schema/openapi/Document.ts"
import { type Actor, type Database } from "../ports/Db.ts"
import { RowSettings } from "../rows/Settings.ts"
import { SchemaOutlines, type Written } from "./Outlines.ts"

/** Texts kept: one for each database, role and schema that was asked for lately. */
const mostKept = 16
/** Characters of them all. */
const mostCharacters = 64 * 1024 * 1024

/** OpenAPI documents of what is under `/v1/db`. */
export class ApiDescriptions extends Context.Service<
  ApiDescriptions,
  {
    /** An OpenAPI 3.1 document as JSON text: what the actor may touch in an exposed schema, as it is now. */
    readonly describe: (database: Database, actor: Actor, schema: string) => Effect.Effect<string, Unavailable>
  }
>()("svc/services/ApiDescriptions") {
  static readonly layer = Layer.effect(
    ApiDescriptions,
    Effect.gen(function* () {
      const outlines = yield* SchemaOutlines
      const { schemas } = yield* RowSettings
      const kept = new Map<string, Written>()

      const keep = (key: string, written: Written) => {
        kept.delete(key)
        kept.set(key, written)
        let characters = 0
        for (const { text } of kept.values()) characters += text.length
        for (const [oldest, { text }] of kept) {
          if (kept.size <= mostKept && characters <= mostCharacters) return
          kept.delete(oldest)
          characters -= text.length
        }
      }

      const describe = (database: Database, actor: Actor, schema: string) => {
        const key = [database.name, actor.role, schema].join("\0")
        const subject = { schema, standard: schema === schemas[0] }
        const request = { database, actor, schemas: [schema], whole: false }
        const written = outlines.write(request, (outline) => openApiDocument(outline, subject), kept.get(key))
        return Effect.map(written, (document) => {
          keep(key, document)
          return document.text
        })
      }
      return ApiDescriptions.of({ describe })
    })
  )
}
