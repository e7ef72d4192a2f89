import { type PromisedFunction, promisedFix, promisedMessage } from "../catalogue/Catalogue.ts"
import { type Finding } from "./Insight.ts"

export const promisedFinding = (fn: PromisedFunction): Finding => ({
  kind: "immutable_function_unproven",
  severity: "warning",
  object: { type: "function", schema: fn.schema, name: fn.name, table: null },
  explanation: `${promisedMessage(fn)}.`,
  fix: promisedFix(fn),
  details: { signature: fn.signature }
})
