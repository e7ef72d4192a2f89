import { Layer } from "effect"
import { ApiDescriptions } from "./ApiDescriptions.ts"
import { DatabaseSchemas } from "./DatabaseSchemas.ts"
import { SchemaOutlines } from "./Outlines.ts"

/** The database described: schemas, OpenAPI documents, TypeScript types. */
export const layer = Layer.mergeAll(DatabaseSchemas.layer, ApiDescriptions.layer).pipe(
  Layer.provide(SchemaOutlines.layer)
)
