import { Effect } from "effect"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db } from "../../../src/services/ports/Db.ts"

/** The catalogue of the main database. */
export const catalogue = Effect.gen(function* () {
  return yield* (yield* Catalogues).get((yield* Db).main)
})

/** Has a new catalogue read, without waiting for a notification. */
export const changed = Effect.gen(function* () {
  yield* (yield* Catalogues).changed((yield* Db).main)
})
