import { bodyWays } from "./bodies.ts"
import { calls } from "./calls.ts"
import { relations } from "./relations.ts"
import { wraps } from "./syntax.ts"
import { wild } from "./wild.ts"

/** The names of all ways that the generator chooses from. */
export const allWays: ReadonlyArray<string> = [
  ...[calls, wraps, relations, wild].flatMap((ways) => Object.keys(ways)),
  ...bodyWays
]
