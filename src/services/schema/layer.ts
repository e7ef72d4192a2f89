import { Layer } from "effect"
import { ApiDescriptions } from "./ApiDescriptions.ts"
import { DatabaseSchemas } from "./DatabaseSchemas.ts"

/** Descriptions of the database: schemas, OpenAPI documents, TypeScript types. */
export const layer = Layer.mergeAll(DatabaseSchemas.layer, ApiDescriptions.layer)
