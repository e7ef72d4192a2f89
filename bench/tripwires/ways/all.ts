import { bodies } from "./bodies.ts"
import { calls } from "./calls.ts"
import { columns } from "./columns.ts"
import { objects } from "./objects.ts"
import { blocks } from "./plpgsql.ts"
import { queries } from "./queries.ts"
import { relations } from "./relations.ts"
import { wraps } from "./syntax.ts"
import { wild } from "./wild.ts"

/** Every way to call a function of one argument. */
export const allCalls = { ...calls, ...objects }
/** Every place of a relation. */
export const allRelations = { ...relations, ...columns }

/** The names of all ways that the generator chooses from. */
export const allWays: ReadonlyArray<string> = [allCalls, allRelations, wraps, wild, bodies, blocks, queries].flatMap(
  (ways) => Object.keys(ways)
)
