import { type Effect } from "effect"
import { type Unavailable } from "../../../domain/errors.ts"

/** Runs a statement on the primary, and gives its first row: a session for a whole cluster runs none. */
export type AskCluster = (text: string) => Effect.Effect<Readonly<Record<string, unknown>>, Unavailable>
