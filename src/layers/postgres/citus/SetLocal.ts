import { type Actor, claimsSetting } from "../../../services/ports/Db.ts"

/** Settings of sessions of any SQL in a Citus cluster. */
export const citusSettings: Readonly<Record<string, string>> = { "citus.propagate_set_commands": "local" }

/**
 * Settings of sessions for rows. Each uses one connection to a worker: under load Citus would open up to 16 for a statement of
 * all shards, which takes longer than the statement.
 */
export const citusRowSettings = { ...citusSettings, "citus.max_adaptive_executor_pool_size": "1" }

/** Settings of those that may run user code: what it leaves in a session of a worker must not meet another request. */
export const citusUserCodeSettings = { ...citusRowSettings, "citus.max_cached_conns_per_worker": "0" }

/** A literal that means the same whatever `standard_conforming_strings` of a node is. */
const escaped = (value: string) => `E'${value.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`

/**
 * A setting of one transaction, on all nodes that take part in it. Citus repeats the text of SET LOCAL on its workers, but
 * no call of set_config. Only within an explicit transaction.
 */
export const setLocal = (name: string, value: string) => `set local ${name} = ${escaped(value)}`

/** The claims of a caller on all nodes. Sent also without a JWT: sessions of workers start without any. */
export const setLocalClaims = (actor: Actor): ReadonlyArray<string> => [
  setLocal("request.jwt.claims", claimsSetting(actor)),
  setLocal("request.jwt.sub", actor.sub)
]
