import { Effect } from "effect"
import { noPreferences } from "../../domain/rows/Preferences.ts"
import { probed } from "../../domain/catalogue/Probe.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { type Actor, Db } from "../ports/Db.ts"
import { Rows } from "./Rows.ts"

/** Reads of each role, at a time: they open the connections that the first clients use. */
const readers = 4

/** A start does not wait longer: the first requests wait then, as they do after a change of the schema. */
const patience = "5 seconds"

const actors: ReadonlyArray<Actor> = [
  { role: "anon", claims: "", sub: "" },
  { role: "authenticated", claims: `{"role":"authenticated"}`, sub: "" }
]

const form = { media: "json", of: "json", stripNulls: false, options: [] } as const
const context = { method: "GET", path: "/", headers: "{}", cookies: "{}" }

/**
 * Reads the definitions of the main database, and a row of PostgreSQL's own by the whole row path, before the service
 * listens. Otherwise the first requests wait for the definitions, for connections and for code that is not compiled yet. A
 * failure is left to the requests, which answer it.
 */
export const warmUp = Effect.gen(function* () {
  const { main } = yield* Db
  const rows = yield* Rows
  yield* (yield* Catalogues).get(main)
  const read = (actor: Actor) =>
    rows.read({
      ...probed,
      database: main,
      actor,
      query: [
        ["select", "oid,nspname"],
        ["oid", "eq.11"]
      ],
      range: undefined,
      preferences: noPreferences,
      searchPath: "pg_catalog",
      form,
      context
    })
  const all = Array.from({ length: readers }, () => actors).flat()
  yield* Effect.forEach(all, read, { concurrency: "unbounded", discard: true })
}).pipe(
  Effect.timeoutOption(patience),
  Effect.catchCause((cause) => Effect.logDebug("The warm-up failed", cause))
)
