import { Context, Effect, Layer } from "effect"
import { type DatabaseError, Unavailable } from "../../domain/errors.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { type SchemaOutline } from "../../domain/schema/Outline.ts"
import { schemaOutlineSql } from "../../domain/schema/OutlineSql.ts"
import { yieldEvery } from "../YieldEvery.ts"
import { type Actor, type Database } from "../ports/Db.ts"

export interface OutlineRequest {
  readonly database: Database
  readonly actor: Actor
  readonly schemas: ReadonlyArray<string>
  /** Everything, not only what the actor may touch. */
  readonly whole: boolean
}

/** What is known of it from before. */
export interface Written {
  /** Another one after any change to what it was written from, GRANT and REVOKE included. */
  readonly stamp: string
  readonly text: string
}

const slow = new Unavailable({ error: "The database is too busy to say what is in it", code: "DATABASE_BUSY" })
const ours = (error: DatabaseError | Unavailable): Effect.Effect<never, Unavailable> => {
  if (error._tag === "Unavailable") return Effect.fail(error)
  // The text is ours: what is wrong with it is not the caller's.
  return error.status === 504 ? Effect.fail(slow) : Effect.die(error)
}

/** Texts that are written from what exposed schemas hold. */
export class SchemaOutlines extends Context.Service<
  SchemaOutlines,
  {
    /**
     * Has a text written from them, a step at a time; what was written `before` stays when nothing changed since.
     * PostgreSQL is asked once.
     */
    readonly write: (
      request: OutlineRequest,
      write: (outline: SchemaOutline) => Generator<undefined, string>,
      before?: Written
    ) => Effect.Effect<Written, Unavailable>
  }
>()("svc/services/SchemaOutlines") {
  static readonly layer = Layer.succeed(SchemaOutlines, {
    write: Effect.fn("SchemaOutlines.write")(function* (
      { actor, database, schemas, whole }: OutlineRequest,
      write: (outline: SchemaOutline) => Generator<undefined, string>,
      before?: Written
    ) {
      const params = [arrayLiteral(schemas), String(whole), before?.stamp ?? null]
      const statement = { text: schemaOutlineSql, params, clean: true, access: "read" } as const
      const [stamp, outline] = yield* Effect.catch(database.run(actor, statement), ours)
      if (typeof outline !== "string" && before !== undefined) return before
      const pause = yield* yieldEvery()
      const steps = write(JSON.parse(String(outline)) as SchemaOutline)
      for (;;) {
        const step = steps.next()
        if (step.done === true) return { stamp: String(stamp), text: step.value }
        yield* pause
      }
    })
  })
}
