import { Effect } from "effect"
import { type DatabaseError, Unavailable } from "../../domain/errors.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { type SchemaOutline } from "../../domain/schema/Outline.ts"
import { schemaOutlineSql } from "../../domain/schema/OutlineSql.ts"
import { yieldEvery } from "../LoopTurn.ts"
import { type Actor, type Database } from "../ports/Db.ts"

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
