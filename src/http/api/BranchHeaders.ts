import { Schema } from "effect"

/** Every route on the database accepts the id of a branch. */
export const branchHeaders = { "x-svc-branch": Schema.optionalKey(Schema.String) }
