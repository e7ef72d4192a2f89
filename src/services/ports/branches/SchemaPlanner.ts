import { Context, type Effect } from "effect"
import type { SchemaReading } from "../../../domain/branches/schema/Corrections.ts"
import { type SchemaDifference, type SchemaTarget } from "../../../domain/branches/schema/SchemaDifference.ts"
import { type Unprocessable } from "../../../domain/errors.ts"

/**
 * Port: calculates differences of schemas, which takes seconds of a processor for thousands of tables. 422
 * `SCHEMA_NOT_EXPRESSIBLE`. Real layer: layers/branches/schema/Planner.ts, a thread.
 */
export class SchemaPlanner extends Context.Service<
  SchemaPlanner,
  {
    /** What makes of the source's schema the desired one. */
    readonly difference: (
      source: SchemaReading,
      desired: SchemaReading,
      to: SchemaTarget
    ) => Effect.Effect<SchemaDifference, Unprocessable>
    /** Names a schema for differences from a database in which the service acts as `other`. */
    readonly fingerprint: (source: SchemaReading, other: string) => Effect.Effect<string, Unprocessable>
  }
>()("svc/services/SchemaPlanner") {}
