import { Effect } from "effect"
import { type ClientError } from "../../src/domain/errors.ts"

/** `"404 FLOW_NOT_FOUND"`, or `"ok"` if it did not fail. */
export const refusal = <A, R>(effect: Effect.Effect<A, ClientError, R>) =>
  Effect.match(effect, { onSuccess: () => "ok", onFailure: ({ code, status }) => `${status} ${code}` })
