import { Effect } from "effect"
import { isUtf8 } from "node:buffer"
import { InvalidRequest } from "../../domain/errors.ts"
import { type FunctionTrial, type FunctionTrialResult } from "../../domain/functions/Function.ts"
import { type Actor } from "../../services/ports/Db.ts"
import { type FunctionInvoker } from "../../services/ports/functions/FunctionInvoker.ts"
import { type ServedRequest } from "../access/ServedRequest.ts"
import { leaves, passedHeaders } from "./Passing.ts"

/** The caller as a key and a JWT would make it. */
const actorOf = ({ as = { role: "service_role" } }: FunctionTrial): Actor => {
  const { claims, role, sub = "" } = as
  if (role !== "authenticated") return { role, sub: "", claims: "" }
  return { role, sub, claims: JSON.stringify({ ...claims, ...(sub === "" ? {} : { sub }), role }) }
}

/** Calls a function for the page that tries it. */
export const tried = Effect.fnUntraced(function* (
  { invoke }: FunctionInvoker["Service"],
  { address, id }: ServedRequest,
  name: string,
  trial: FunctionTrial
) {
  const { body, headers = {}, method = "POST", path = "" } = trial
  if ((path.split("?", 1)[0] ?? "").split("/").slice(1).some(leaves)) {
    return yield* new InvalidRequest({ error: "The path leads out of the function: it has . or .. segments" })
  }
  const begun = performance.now()
  const reply = yield* invoke(name, {
    method,
    path,
    headers: { ...passedHeaders(headers), "x-forwarded-for": address, "x-request-id": id },
    ...(body === undefined || method === "GET" || method === "HEAD" ? {} : { body }),
    actor: actorOf(trial)
  })
  const bytes = Buffer.from(reply.body)
  const result: typeof FunctionTrialResult.Type = {
    status: reply.status,
    headers: reply.headers,
    body: isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString("base64") },
    millis: performance.now() - begun,
    request_id: id
  }
  return result
})
