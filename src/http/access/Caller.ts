import { Context } from "effect"
import { type KeyType } from "../../domain/access/ApiKey.ts"
import { NotFound } from "../../domain/errors.ts"
import { type Actor } from "../../services/ports/Db.ts"

/** Who a `/v1` or `/ofrep` request comes from, put there by middleware/ClientGate.ts before any handler runs. */
export interface Caller {
  readonly keyType: KeyType
  readonly actor: Actor
}

/** Undefined outside `/v1` and `/ofrep`. */
export const CurrentCaller = Context.Reference<Caller | undefined>("svc/http/CurrentCaller", {
  defaultValue: () => undefined
})

/**
 * The router reads percent signs before it looks for a route, the gate does not: `/%761/db/notes` is no path of `/v1`,
 * and who comes that way has not been asked for a key.
 */
export const noGate = new NotFound({ error: "There is no such route: write /v1 or /ofrep as it is" })
