import { Context } from "effect"
import { type KeyType } from "../domain/ApiKey.ts"
import { type Actor } from "../services/Db.ts"

/** Who a `/v1` request comes from, put there by middleware/ClientGate.ts before any handler runs. */
export interface Caller {
  readonly keyType: KeyType
  readonly actor: Actor
}

/** Undefined outside `/v1`. */
export const CurrentCaller = Context.Reference<Caller | undefined>("svc/http/CurrentCaller", {
  defaultValue: () => undefined
})
