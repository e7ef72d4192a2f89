import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { type ClientError, InvalidRequest } from "../../../domain/errors.ts"
import { IdentitySettings } from "../../../services/identity/Settings.ts"
import { type Actor } from "../../../services/ports/Db.ts"
import { keyActorOf, remember } from "../../access/Admitted.ts"
import { noGate } from "../../access/Caller.ts"
import { clientAddress } from "../../access/ClientAddress.ts"
import { headersOf } from "../../wire/Headers.ts"
import { type Quota } from "../../access/KeyLimits.ts"
import { ManagementAudit } from "../../access/ManagementAudit.ts"
import { branchHeader } from "../../wire/BranchHeader.ts"
import { SupabaseGate } from "../Gate.ts"

const noBranches = new InvalidRequest({ error: "Branches have no files: omit X-Svc-Branch", code: "InvalidRequest" })

export type Request = HttpServerRequest.HttpServerRequest

/** Admits the callers of `/storage/v1`: by a key, or by a user's JWT alone. */
export const makeAccess = Effect.gen(function* () {
  const gate = yield* SupabaseGate
  const settings = yield* IdentitySettings
  const audit = yield* ManagementAudit

  const addressOf = (request: Request) => clientAddress(request, settings)

  /** The caller of a request, whose path must be written as the front has read it. */
  const enter = Effect.fnUntraced(function* (request: Request): Effect.fn.Return<Actor, ClientError> {
    // The files are of the main database: a branch has its rows, but not their bytes.
    if (headersOf(request)[branchHeader] !== undefined) return yield* noBranches
    const quota: Quota = { limit: -1, remaining: -1, reset: 0, key: undefined }
    const { actor } = yield* gate.enter(headersOf(request), addressOf(request), quota, true)
    if (quota.key !== undefined) remember(request, { _tag: "Key", key: quota.key })
    return actor
  })

  /** The request, if its path is not percent-encoded where the router would not see it. */
  const request = Effect.flatMap(HttpServerRequest.HttpServerRequest, (given) =>
    given.url.startsWith("/storage/v1/") ? Effect.succeed(given) : Effect.fail(noGate)
  )

  /** Runs a change of a bucket, which the audit records if it is by a service_role key: users' are under policies. */
  const recorded = <A, E, R>(request: Request, actor: Actor, action: string, change: Effect.Effect<A, E, R>) => {
    const place = {
      endpoint: { identifier: action, method: "POST" },
      group: { identifier: "supabaseBuckets" }
    } as const
    return actor.role === "service_role" ? audit.around(change, place, request, keyActorOf(request)) : change
  }

  return { addressOf, enter, recorded, request }
})
